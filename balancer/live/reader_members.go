package live

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
)

const (
	// membersTimeout is the maximum total wait for members.
	membersTimeout = time.Second
	// parallelMembers is the maximum number of members that are asked concurrently.
	parallelMembers = 32
)

// memberCacheTTL is the time for which incremental reads reuse the answers of members, since each
// answer needs a connection.
const memberCacheTTL = time.Minute

// cachedMembers contains the cached answers of members.
type cachedMembers struct {
	list   []catalog.Member
	readAt time.Time
}

// startReadingVersions starts to read the versions of the members of shards and config servers,
// concurrently with the rest of the read. A member that does not answer is not a gap: firewalls often
// block such connections.
func (r *reading) startReadingVersions(ctx context.Context) error {
	if r.options.MemberClientOptions == nil {
		return nil
	}
	if k := r.memberCache.Load(); k != nil && r.old != nil && r.parts.Time.Sub(k.readAt) < memberCacheTTL {
		r.awaitMembers = func() []catalog.Member { return slices.Clone(k.list) }
		return nil
	}
	var list []catalog.Member
	for _, s := range r.parts.Shards {
		list = append(list, catalog.MembersOf(s.ID, s.Host)...)
	}
	if !r.hasConfigShard() {
		if hosts, err := readConfigHosts(ctx, r.source.run); err == nil { // otherwise only the router knows the hosts
			list = append(list, catalog.MembersOf(catalog.ConfigServerID, hosts)...)
		}
	}
	var all sync.WaitGroup
	r.awaitMembers = func() []catalog.Member {
		all.Wait()
		return list
	}
	at := r.parts.Time
	all.Go(func() {
		readMemberVersions(ctx, r.options.MemberClientOptions, list)
		if ctx.Err() == nil { // else members were not asked, or have not answered, only because the read ended
			r.memberCache.Store(&cachedMembers{slices.Clone(list), at})
		}
	})
	return nil
}

func (r *reading) hasConfigShard() bool {
	return slices.ContainsFunc(r.parts.Shards, func(s catalog.ShardState) bool { return s.ID == catalog.ConfigServerID })
}

// collectVersions waits for the answers of members. The release of the config servers determines the
// rounds.
func (r *reading) collectVersions(context.Context) error {
	if r.awaitMembers == nil {
		return nil
	}
	r.parts.Members = r.awaitMembers()
	for i := range r.parts.Shards {
		if v := catalog.VersionOf(r.parts.Members, r.parts.Shards[i].ID); v != "" {
			r.parts.Shards[i].Version = v
		}
	}
	if v := catalog.VersionOf(r.parts.Members, catalog.ConfigServerID); v != "" {
		r.parts.ConfigVersion = v
	}
	if release, known := catalog.ReleaseOf(r.parts.ConfigVersion); known {
		r.parts.Release = r.parts.Compatibility.Release(release)
		r.parts.Settings.Release = r.parts.Release
	}
	return nil
}

// errIsRouter is the error for an address in config.shards at which a mongos answers.
var errIsRouter = errors.New("a mongos answers there")

// readMemberVersions asks all members in parallel, within a time limit.
func readMemberVersions(ctx context.Context, settings *options.ClientOptions, list []catalog.Member) {
	ctx, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	at := make([]*catalog.Member, len(list))
	for i := range list {
		list[i].Problem = "there was no time to ask it"
		at[i] = &list[i]
	}
	_ = inParallel(ctx, parallelMembers, at, func(ctx context.Context, m *catalog.Member) error {
		m.Problem = ""
		if err := readMemberVersion(ctx, settings, m); err != nil {
			m.Problem = err.Error()
		}
		return nil // an unreachable member does not affect the others
	})
}

// checkReachable fails immediately if a host can't be reached, while a driver would retry until its
// timeout.
func checkReachable(ctx context.Context, dialer options.ContextDialer, host string) error {
	if dialer == nil {
		dialer = &net.Dialer{}
	}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	return conn.Close()
}

// helloMember is SendHello to a member of a shard. The error is errIsRouter if a mongos answers.
func helloMember(ctx context.Context, a CommandRunner) (bson.Raw, error) {
	hello, err := SendHello(ctx, a.RunCommand)
	if err == nil && text(hello, "msg") == "isdbgrid" {
		err = errIsRouter
	}
	return hello, err
}

// readMemberVersion reads the version of a member. Without a login, only its wire version is known.
func readMemberVersion(ctx context.Context, settings *options.ClientOptions, m *catalog.Member) error {
	o := memberSettings(settings, m.Host).SetServerSelectionTimeout(membersTimeout).SetMaxPoolSize(1).
		SetServerMonitoringMode(options.ServerMonitoringModePoll).SetRetryReads(false)
	o.Auth = nil // shards have their own users
	if err := checkReachable(ctx, o.Dialer, m.Host); err != nil {
		return err
	}
	client, err := Connect(o)
	if err != nil {
		return err
	}
	defer func() { _ = Disconnect(context.WithoutCancel(ctx), client) }() // nothing was written
	a := NewCommandRunner(client)
	hello, err := helloMember(ctx, a)
	if err != nil {
		return err
	}
	m.Primary = catalog.IsTruthyInJS(hello.Lookup("isWritablePrimary")) || catalog.IsTruthyInJS(hello.Lookup("ismaster"))
	m.Version = catalog.LineOfWireVersion(integer(hello, "maxWireVersion"))
	if info, err := a.RunCommand(ctx, "admin", bson.D{{Key: "buildInfo", Value: int32(1)}}); err == nil {
		m.Version = text(info, "version")
	}
	const fcv = "featureCompatibilityVersion"
	reply, err := a.RunCommand(ctx, "admin", bson.D{{Key: "getParameter", Value: int32(1)}, {Key: fcv, Value: int32(1)}})
	if err == nil { // otherwise the member requires a login
		m.FCV = text(reply, fcv, "version")
	}
	return nil
}
