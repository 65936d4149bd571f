package mock

import (
	"slices"
	"strings"
	"sync/atomic"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Installed are the versions that run on members and routers, so that an upgrade can be played
// step by step. What a mock stores, and the commands that it has, stay those of its own release.
type Installed struct {
	own        *setup
	addresses  *Addresses
	routers    *Routers
	parameters *ClusterParameters
	balancer   *Balancer
	// by are what was installed since, by host:port. A map in it never changes: servers are
	// greeted without the lock.
	byHost atomic.Pointer[map[string]catalog.Release]
}

// Installed returns the versions of members and routers.
func (c *Cluster) Installed() *Installed { return c.installed }

// ReleaseAt returns what runs on a host:port.
func (i *Installed) ReleaseAt(host string) catalog.Release {
	if by := i.byHost.Load(); by != nil {
		if r, ok := (*by)[host]; ok {
			return r
		}
	}
	return i.own.release
}

// onConfigServers returns the release of the config servers' primary, which decides how rounds work.
func (i *Installed) onConfigServers() catalog.Release {
	if i.byHost.Load() == nil {
		return i.own.release
	}
	return i.ReleaseAt(firstMember(i.addresses.ConfigServer()))
}

// onShard returns what its migrations go by.
func (i *Installed) onShard(id catalog.ShardID) catalog.Release {
	if i.byHost.Load() == nil {
		return i.own.release
	}
	return i.ReleaseAt(i.addresses.FirstMember(id))
}

// stored is what a state on disk has of it.
func (i *Installed) stored() map[string]string {
	by := i.byHost.Load()
	if by == nil {
		return nil
	}
	list := map[string]string{}
	for host, r := range *by {
		list[host] = r.String()
	}
	return list
}

func (i *Installed) restore(list map[string]string) error {
	i.forget()
	by := map[string]catalog.Release{}
	for host, version := range list {
		r, err := catalog.ParseRelease(version)
		if err != nil {
			return err
		}
		by[host] = r
	}
	if len(by) > 0 {
		i.byHost.Store(&by)
	}
	return nil
}

func (i *Installed) forget() { i.byHost.Store(nil) }

// VersionOf returns what a release shows of itself, such as "8.0.10".
func VersionOf(r catalog.Release) string { return versionOf(r) }

// Servers are some servers of a cluster: one of the fields, or none for all.
type Servers struct {
	Shard         string // its members
	ConfigServers bool
	Member        string // host:port
	Router        string // host:port
	Routers       bool
}

// Install has another version run on servers. When it is the config servers' primary that gets
// it, another one is elected. The caller holds the lock.
func (i *Installed) Install(on Servers, r catalog.Release) error {
	hosts, err := i.hostsOf(on)
	if err != nil {
		return err
	}
	if err := i.installable(r); err != nil {
		return err
	}
	by := map[string]catalog.Release{}
	if old := i.byHost.Load(); old != nil {
		for host, is := range *old {
			by[host] = is
		}
	}
	for _, host := range hosts {
		by[host] = r
	}
	i.byHost.Store(&by)
	primary := firstMember(i.addresses.ConfigServer())
	if err := i.routers.shows(by); err != nil || !slices.Contains(hosts, primary) {
		return err
	}
	return i.balancer.StepDown(nil)
}

// installable refuses what a server of such a version would not start with.
func (i *Installed) installable(r catalog.Release) error {
	own := i.own.release.Line()
	if r.Line() != own && !(r.Line().AtLeast(catalog.Release80) && own.AtLeast(catalog.Release80)) {
		return mongoerr.New(mongoerr.IllegalOperation, "a mock of %s can't have servers of %s", own, r.Line())
	}
	fcv, line := i.parameters.compatibility(), r.Line().String()
	if fcv != "" && fcv != line && !slices.Contains(olderCompatibility[line], fcv) {
		return mongoerr.New(mongoerr.IllegalOperation,
			"servers of %s do not start with the feature compatibility version %s: it has to be %s", line, fcv,
			strings.Join(append(slices.Clone(olderCompatibility[line]), line), " or "))
	}
	return nil
}

func (i *Installed) hostsOf(on Servers) ([]string, error) {
	var all []string
	for _, r := range i.routers.List() {
		if on == (Servers{}) || on.Routers || on.Router == r.Name {
			all = append(all, r.Name)
		}
	}
	for _, m := range i.addresses.Members() {
		if on == (Servers{}) || on.ConfigServers && m.ID == configShard || on.Shard != "" && on.Shard == string(m.ID) ||
			on.Member == m.Host {
			all = append(all, m.Host)
		}
	}
	if len(all) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "the cluster has no such server")
	}
	return all, nil
}

// MemberAddress is where a member of a shard or of the config servers is.
type MemberAddress struct {
	ID   catalog.ShardID
	Set  string
	Host string   // its own
	All  []string // those of its set; the first is the primary
}

// Members returns the members of the shards and of the config servers. The caller holds the
// lock.
func (a *Addresses) Members() (list []MemberAddress) {
	ids := []catalog.ShardID{configShard}
	for id := range a.shards {
		if id != configShard {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		set, hosts, _ := strings.Cut(a.HostOf(id), "/")
		all := strings.Split(hosts, ",")
		for _, host := range all {
			list = append(list, MemberAddress{id, set, host, all})
		}
	}
	return list
}
