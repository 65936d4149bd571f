package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/advisory"
	"shardsh/balancer/live"
)

// Cluster is a connected cluster.
type Cluster struct {
	Commands live.CommandRunner
	// ClientOptions are the options of the client, which are also used for members.
	ClientOptions *options.ClientOptions
	// Mock says that the cluster is the mock inside the program. Its clock and access control are not
	// checked.
	Mock   bool
	Kind   string // from hello: mongos, primary, …
	Member string // the part of a sharded cluster, if this is not a router
	Now    func() time.Time
	// Advisories are the known bugs to check for.
	Advisories advisory.List
}

// Check checks the cluster with commands that change nothing.
func (c Cluster) Check(ctx context.Context) []Line {
	s := &section{name: "Cluster"}
	version := c.checkVersion(ctx, s)
	c.checkKind(s)
	c.checkTimes(ctx, s)
	if version != "" {
		checkFeatures(s, version)
		if c.Kind == "mongos" && c.Member == "" && !c.Mock {
			c.checkAdvisories(ctx, s)
		}
	}
	r := &section{name: "Rights"}
	c.checkUser(ctx, r, version)
	return append(s.lines, r.lines...)
}

func (c Cluster) runCommand(ctx context.Context, command string, into any, more ...bson.E) error {
	raw, err := c.Commands.RunCommand(ctx, "admin", append(bson.D{{Key: command, Value: 1}}, more...))
	if err != nil {
		return err
	}
	return bson.Unmarshal(raw, into)
}

func (c Cluster) checkVersion(ctx context.Context, s *section) string {
	var info struct {
		Version string   `bson:"version"`
		Modules []string `bson:"modules"`
	}
	if err := c.runCommand(ctx, "buildInfo", &info); err != nil {
		s.add(Warn, "version", "", "not available: %s", live.ShortenUnauthorized(err.Error()))
		return ""
	}
	edition := ""
	if slices.Contains(info.Modules, "enterprise") {
		edition = ", Enterprise"
	}
	s.addOK("version", "%s%s", info.Version, edition)
	return info.Version
}

const routerRemedy = "connect to a mongos; config.mongos lists them"

func (c Cluster) checkKind(s *section) {
	switch {
	case c.Member != "":
		s.add(Fail, "mongos", routerRemedy, "no: this is %s. It has only its own part of the data, with orphans, and "+
			"the helpers of sh need a mongos", c.Member)
	case c.Kind == "mongos":
		s.addOK("mongos", "yes")
	case c.Kind == "":
		s.add(Fail, "mongos", routerRemedy, "no: this is a standalone server, not a sharded cluster")
	default:
		s.add(Fail, "mongos", routerRemedy, "no: this is a %s of a replica set, not a mongos of a sharded cluster", c.Kind)
	}
}

const (
	helloSamples = 5
	// slowRoundTrip is the round trip time from which a warning is printed.
	slowRoundTrip = 200 * time.Millisecond
	// maxClockSkew is the clock difference from which comparisons of times, such as those of leases and
	// windows, can be wrong.
	maxClockSkew = 2 * time.Second
)

// checkTimes measures the round trip time to the server and compares the clocks. It assumes that the
// server read its clock in the middle of the fastest round trip.
func (c Cluster) checkTimes(ctx context.Context, s *section) {
	var best, difference time.Duration
	for i := range helloSamples {
		var hello struct {
			Local time.Time `bson:"localTime"`
		}
		sent := c.Now()
		if err := c.runCommand(ctx, "hello", &hello); err != nil {
			s.add(Warn, "latency", "", "%s", live.ShortenUnauthorized(err.Error()))
			return
		}
		if took := c.Now().Sub(sent); i == 0 || took < best {
			best, difference = took, hello.Local.Sub(sent.Add(took/2))
		}
	}
	if best > slowRoundTrip {
		s.add(Warn, "latency", "run shardsh closer to the cluster", "%s", best.Round(time.Millisecond))
	} else {
		s.addOK("latency", "%s", best.Round(10*time.Microsecond))
	}
	switch {
	case c.Mock:
		s.addOK("clock", "the mock has its own")
	case difference.Abs() > maxClockSkew:
		s.add(Warn, "clock", "synchronize both clocks with NTP: windows and leases use the cluster's",
			"the server's is %s %s", difference.Abs().Round(time.Millisecond), aheadOrBehind(difference))
	default:
		s.addOK("clock", "within %s of the server's", max(difference.Abs(), best).Round(time.Millisecond)+time.Millisecond)
	}
}

func aheadOrBehind(d time.Duration) string {
	if d < 0 {
		return "behind this machine's"
	}
	return "ahead of this machine's"
}

// checkUser checks the authenticated user and its privileges.
func (c Cluster) checkUser(ctx context.Context, s *section, version string) {
	var status struct {
		Info struct {
			Users []struct {
				User string `bson:"user"`
				DB   string `bson:"db"`
			} `bson:"authenticatedUsers"`
			Privileges []Privilege `bson:"authenticatedUserPrivileges"`
		} `bson:"authInfo"`
	}
	err := c.runCommand(ctx, "connectionStatus", &status, bson.E{Key: "showPrivileges", Value: true})
	if err != nil {
		s.add(Warn, "user", "", "not available: %s", live.ShortenUnauthorized(err.Error()))
		return
	}
	if len(status.Info.Users) == 0 {
		c.checkAnonymous(ctx, s)
		return
	}
	user := status.Info.Users[0]
	s.addOK("user", "%s of %s", user.User, user.DB)
	roles, err := Roles(version)
	if err != nil {
		s.add(Warn, "roles", "", "%v", err)
		return
	}
	checkRoles(s, roles, status.Info.Privileges, user.User)
}

// unauthorized is the server's error code.
const unauthorized = 13

// checkAnonymous distinguishes a server without access control from one that requires authentication.
func (c Cluster) checkAnonymous(ctx context.Context, s *section) {
	err := c.runCommand(ctx, "listShards", &bson.Raw{})
	if refused, ok := errors.AsType[mongo.ServerError](err); ok && refused.HasErrorCode(unauthorized) {
		s.add(Fail, "user", "log in: --username NAME, with the password in "+
			"SHARDSH_PASSWORD, --passwordFile or at the prompt", "none, but the server requires a login")
		return
	}
	if c.Mock {
		s.addOK("user", "none: the mock allows everything")
		return
	}
	s.add(Warn, "user", "enable authorization before others can reach it",
		"none: authorization is off, everything is allowed")
}
