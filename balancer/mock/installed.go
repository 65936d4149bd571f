package mock

import (
	"slices"
	"strings"
	"sync/atomic"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// InstalledReleases holds the installed releases of members and routers, to simulate an upgrade step by step.
// The format of stored data and the mock's own commands do not depend on it.
type InstalledReleases struct {
	defaults   *clusterSettings
	addresses  *Addresses
	routers    *Routers
	parameters *ClusterParameters
	balancer   *Balancer
	// byHost holds the installed releases that differ from the cluster's, by host:port. The map is
	// immutable, because it is read without the lock.
	byHost atomic.Pointer[map[string]catalog.Release]
}

// InstalledReleases returns the installed releases of the cluster.
func (c *Cluster) InstalledReleases() *InstalledReleases { return c.installed }

// ReleaseAt returns the release installed at a host:port.
func (i *InstalledReleases) ReleaseAt(host string) catalog.Release {
	if by := i.byHost.Load(); by != nil {
		if r, ok := (*by)[host]; ok {
			return r
		}
	}
	return i.defaults.release
}

// configRelease returns the release of the config server's primary, which determines how rounds work.
func (i *InstalledReleases) configRelease() catalog.Release {
	if i.byHost.Load() == nil {
		return i.defaults.release
	}
	return i.ReleaseAt(firstMember(i.addresses.ConfigServer()))
}

// shardRelease returns the release of a shard's first member, which determines how its migrations work.
func (i *InstalledReleases) shardRelease(id catalog.ShardID) catalog.Release {
	if i.byHost.Load() == nil {
		return i.defaults.release
	}
	return i.ReleaseAt(i.addresses.FirstMember(id))
}

// toStored returns the installed releases for storage on disk.
func (i *InstalledReleases) toStored() map[string]string {
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

func (i *InstalledReleases) restore(list map[string]string) error {
	i.clear()
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

func (i *InstalledReleases) clear() { i.byHost.Store(nil) }

// FullVersion returns the version that a release reports, such as "8.0.10".
func FullVersion(r catalog.Release) string { return fullVersion(r) }

// ServerSelector selects servers of a cluster by at most one field. The zero value selects all.
type ServerSelector struct {
	Shard         string // all members of the shard
	ConfigServers bool
	Member        string // host:port
	Router        string // host:port
	Routers       bool
}

// Install installs a release on servers. If one of them is the config server's primary, another member
// becomes primary. The caller holds the lock.
func (i *InstalledReleases) Install(on ServerSelector, r catalog.Release) error {
	hosts, err := i.hostsOf(on)
	if err != nil {
		return err
	}
	if err := i.checkInstallable(r); err != nil {
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
	if err := i.routers.recordVersions(by); err != nil || !slices.Contains(hosts, primary) {
		return err
	}
	return i.balancer.StepDown(nil)
}

// checkInstallable rejects releases whose servers would refuse to start with the cluster's data.
func (i *InstalledReleases) checkInstallable(r catalog.Release) error {
	own := i.defaults.release.Line()
	if r.Line() != own && !(r.Line().FCVAtLeast(catalog.Release80) && own.FCVAtLeast(catalog.Release80)) {
		return mongoerr.New(mongoerr.IllegalOperation, "a mock of release %s can't have servers of release %s", own, r.Line())
	}
	fcv, line := i.parameters.fcv(), r.Line().String()
	if fcv != "" && fcv != line && !slices.Contains(olderFCVs[line], fcv) {
		return mongoerr.New(mongoerr.IllegalOperation,
			"servers of release %s do not start with the feature compatibility version %s: it must be %s", line, fcv,
			strings.Join(append(slices.Clone(olderFCVs[line]), line), " or "))
	}
	return nil
}

func (i *InstalledReleases) hostsOf(on ServerSelector) ([]string, error) {
	var all []string
	for _, r := range i.routers.List() {
		if on == (ServerSelector{}) || on.Routers || on.Router == r.Name {
			all = append(all, r.Name)
		}
	}
	for _, m := range i.addresses.Members() {
		if on == (ServerSelector{}) || on.ConfigServers && m.Shard == configShard || on.Shard != "" &&
			on.Shard == string(m.Shard) ||
			on.Member == m.Host {
			all = append(all, m.Host)
		}
	}
	if len(all) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "the cluster has no such server")
	}
	return all, nil
}

// MemberAddress is the address of a member of a shard or of the config server.
type MemberAddress struct {
	Shard       catalog.ShardID
	Set         string
	Host        string   // of the member
	MemberHosts []string // of all members of its set; the first is the primary
}

// Members returns the members of the shards and of the config server. The caller holds the lock.
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
