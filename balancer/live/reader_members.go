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
	// membersWait limits how long a read waits for members, in all.
	membersWait = time.Second
	// membersAtOnce is how many are asked at the same time.
	membersAtOnce = 32
)

// membersLast is how long reads of what has changed do with what members have said: to ask them
// takes a connection each.
const membersLast = time.Minute

// knownMembers are what members have said at a time.
type knownMembers struct {
	list []catalog.Member
	at   time.Time
}

// members begins to ask the members of shards and config servers for their versions, which
// goes on beside the rest of the read. What does not answer is not a gap: firewalls often keep
// such connections out.
func (r *reading) members(ctx context.Context) error {
	if r.options.Direct == nil {
		return nil
	}
	if k := r.known.Load(); k != nil && r.old != nil && r.parts.Time.Sub(k.at) < membersLast {
		r.asked = func() []catalog.Member { return slices.Clone(k.list) }
		return nil
	}
	var list []catalog.Member
	for _, s := range r.parts.Shards {
		list = append(list, catalog.MembersOf(s.ID, s.Host)...)
	}
	if !r.hasConfigShard() {
		if hosts, err := configHosts(ctx, r.source.run); err == nil { // else nobody but the router says where they are
			list = append(list, catalog.MembersOf(catalog.ConfigServers, hosts)...)
		}
	}
	var all sync.WaitGroup
	r.asked = func() []catalog.Member {
		all.Wait()
		return list
	}
	at := r.parts.Time
	all.Go(func() {
		askMembers(ctx, r.options.Direct, list)
		r.known.Store(&knownMembers{slices.Clone(list), at})
	})
	return nil
}

func (r *reading) hasConfigShard() bool {
	return slices.ContainsFunc(r.parts.Shards, func(s catalog.ShardState) bool { return s.ID == catalog.ConfigServers })
}

// versions takes what the members have said. Rounds go by the config servers' release.
func (r *reading) versions(context.Context) error {
	if r.asked == nil {
		return nil
	}
	r.parts.Members = r.asked()
	for i := range r.parts.Shards {
		if v := catalog.VersionOf(r.parts.Members, r.parts.Shards[i].ID); v != "" {
			r.parts.Shards[i].Version = v
		}
	}
	if v := catalog.VersionOf(r.parts.Members, catalog.ConfigServers); v != "" {
		r.parts.ConfigVersion = v
	}
	r.byConfigServers()
	return nil
}

// errNotMember is for an address of config.shards behind which there is something else.
var errNotMember = errors.New("a mongos answers there")

// askMembers asks all at once, as far as time allows.
func askMembers(ctx context.Context, settings *options.ClientOptions, list []catalog.Member) {
	ctx, cancel := context.WithTimeout(ctx, membersWait)
	defer cancel()
	at := make([]*catalog.Member, len(list))
	for i := range list {
		list[i].Problem = "there was no time to ask it"
		at[i] = &list[i]
	}
	_ = inParallel(ctx, membersAtOnce, at, func(ctx context.Context, m *catalog.Member) error {
		m.Problem = ""
		if err := askMember(ctx, settings, m); err != nil {
			m.Problem = err.Error()
		}
		return nil // of one that does not answer the others know nothing
	})
}

// reachable tells at once why there is no way to a host: a driver would try again until its
// time is up.
func reachable(ctx context.Context, dialer options.ContextDialer, host string) error {
	if dialer == nil {
		dialer = &net.Dialer{}
	}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	return conn.Close()
}

// askMember asks a member what runs there. Before login it tells its wire version at least.
func askMember(ctx context.Context, settings *options.ClientOptions, m *catalog.Member) error {
	o := memberSettings(settings, m.Host).SetServerSelectionTimeout(membersWait).SetMaxPoolSize(1).
		SetServerMonitoringMode(options.ServerMonitoringModePoll).SetRetryReads(false)
	o.Auth = nil // shards have users of their own
	if err := reachable(ctx, o.Dialer, m.Host); err != nil {
		return err
	}
	client, err := Connect(o)
	if err != nil {
		return err
	}
	defer func() { _ = Disconnect(context.WithoutCancel(ctx), client) }() // it was only read
	a := NewCommandRunner(client)
	hello, err := a.RunCommand(ctx, "admin", bson.D{{Key: "hello", Value: int32(1)}})
	if err != nil {
		return err
	}
	if text(hello, "msg") == "isdbgrid" {
		return errNotMember
	}
	m.Primary = isSet(hello.Lookup("isWritablePrimary"))
	m.Version = catalog.LineOfWireVersion(integer(hello, "maxWireVersion"))
	if info, err := a.RunCommand(ctx, "admin", bson.D{{Key: "buildInfo", Value: int32(1)}}); err == nil {
		m.Version = text(info, "version")
	}
	const fcv = "featureCompatibilityVersion"
	reply, err := a.RunCommand(ctx, "admin", bson.D{{Key: "getParameter", Value: int32(1)}, {Key: fcv, Value: int32(1)}})
	if err == nil { // else it wants a login
		m.FCV = text(reply, fcv, "version")
	}
	return nil
}
