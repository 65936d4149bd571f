package diff

import (
	"cmp"
	"slices"
	"strconv"

	"shardsh/balancer/catalog"
)

// cluster compares which cluster it is, and its versions.
func (d *differ) cluster() {
	if d.was.ClusterID != d.is.ClusterID && !d.was.ClusterID.IsZero() && !d.is.ClusterID.IsZero() {
		d.add(Change{Kind: OtherCluster, Old: d.was.ClusterID.Hex(), New: d.is.ClusterID.Hex()},
			"these are different clusters, or one of the files is redacted: %s and %s",
			d.was.ClusterID.Hex(), d.is.ClusterID.Hex())
	}
	if d.known("version", "") && d.was.Version != d.is.Version && d.was.Version != "" && d.is.Version != "" {
		d.add(Change{Kind: Version, Old: d.was.Version, New: d.is.Version}, "version %s, was %s", d.is.Version, d.was.Version)
	}
	was, is := d.was.Compatibility, d.is.Compatibility
	if d.known("compatibility", "") && was != is && was.Version != "" && is.Version != "" {
		d.add(Change{Kind: FCV, Old: was.String(), New: is.String()}, "feature compatibility version %s, was %s", is, was)
	}
}

// members compares those of the shards and of the config servers. A shard that is new or
// gone has its own along.
func (d *differ) members() {
	if len(d.was.Members) == 0 || len(d.is.Members) == 0 {
		if len(d.was.Members) != len(d.is.Members) {
			d.skip("members: only one of the snapshots has them")
		}
		return
	}
	id := func(m *catalog.Member) string { return string(m.Shard) + " " + m.Host }
	pairs, _ := match(d.was.Members, d.is.Members, id)
	for _, p := range pairs {
		d.member(p.was, p.is)
	}
	d.primaries()
}

func (d *differ) member(was, is *catalog.Member) {
	one := cmp.Or(is, was)
	c := Change{Shard: one.Shard, Host: one.Host}
	switch {
	case !d.stays(one.Shard):
	case was == nil:
		c.Kind = MemberAdded
		d.add(c, "%s has a new member, %s", one.Shard, one.Host)
	case is == nil:
		c.Kind = MemberRemoved
		d.add(c, "%s has lost the member %s", one.Shard, one.Host)
	case was.Problem == "" && is.Problem != "":
		c.Kind, c.New = MemberDown, is.Problem
		d.add(c, "member %s of %s does not answer: %s", one.Host, one.Shard, is.Problem)
	case was.Problem != "" && is.Problem == "":
		c.Kind, c.Old = MemberUp, was.Problem
		d.add(c, "member %s of %s answers again", one.Host, one.Shard)
	case was.Version != is.Version && was.Version != "" && is.Version != "":
		c.Kind, c.Old, c.New = MemberVersion, was.Version, is.Version
		d.add(c, "member %s of %s has version %s, was %s", one.Host, one.Shard, is.Version, was.Version)
	}
}

// stays reports whether a shard is in both snapshots; the config servers always are.
func (d *differ) stays(id catalog.ShardID) bool {
	_, was := d.from.Shard(id)
	_, is := d.to.Shard(id)
	return was && is || id == catalog.ConfigServers && was == is
}

func (d *differ) primaries() {
	primaries := func(list []catalog.Member) map[catalog.ShardID]string {
		found := map[catalog.ShardID]string{}
		for _, m := range list {
			if m.Primary {
				found[m.Shard] = m.Host
			}
		}
		return found
	}
	was, is := primaries(d.was.Members), primaries(d.is.Members)
	for id, host := range was {
		if now := is[id]; now != "" && now != host && d.stays(id) {
			d.add(Change{Kind: Primary, Shard: id, Old: host, New: now}, "the primary of %s is %s, was %s", id, now, host)
		}
	}
}

func (d *differ) routers() {
	if !d.known("mongos", "") {
		return
	}
	pairs, ids := match(d.was.Routers, d.is.Routers, func(r *catalog.Router) string { return r.ID })
	for i, p := range pairs {
		c := Change{Host: ids[i]}
		switch {
		case p.was == nil:
			c.Kind = RouterAdded
			d.add(c, "mongos %s is new", c.Host)
		case p.is == nil:
			c.Kind = RouterRemoved
			d.add(c, "mongos %s is gone", c.Host)
		case p.was.Version != p.is.Version && p.was.Version != "" && p.is.Version != "":
			c.Kind, c.Old, c.New = RouterVersion, p.was.Version, p.is.Version
			d.add(c, "mongos %s has version %s, was %s", c.Host, c.New, c.Old)
		}
	}
}

func (d *differ) shards() {
	if !d.known("shards", "") {
		return
	}
	pairs, ids := match(d.was.Shards, d.is.Shards, func(s *catalog.ShardState) string { return string(s.ID) })
	for i, p := range pairs {
		c := Change{Shard: catalog.ShardID(ids[i])}
		switch {
		case p.was == nil:
			c.Kind, c.New = ShardAdded, p.is.Host
			d.add(c, "%s was added: %s%s", c.Shard, p.is.Host, inZones(p.is.Zones))
		case p.is == nil:
			c.Kind, c.Old = ShardRemoved, p.was.Host
			d.add(c, "%s was removed: %s", c.Shard, p.was.Host)
		default:
			d.shard(p.was, p.is)
		}
	}
}

func inZones(zones []string) string {
	if len(zones) == 0 {
		return ""
	}
	text := ", in zone"
	for i, z := range zones {
		if i > 0 {
			text += ","
		}
		text += " " + z
	}
	return text
}

// shard compares a shard that is in both snapshots.
func (d *differ) shard(was, is *catalog.ShardState) {
	c := Change{Shard: is.ID}
	switch {
	case !was.Draining && is.Draining:
		c.Kind = DrainingStarted
		d.add(c, "%s is draining", is.ID)
	case was.Draining && !is.Draining:
		c.Kind = DrainingStopped
		d.add(c, "%s is not draining any more", is.ID)
	}
	d.hosts(was, is)
	if was.MaxSizeMB != is.MaxSizeMB {
		d.add(Change{Kind: ShardLimit, Shard: is.ID, Old: limitOf(was), New: limitOf(is)}, "%s may have %s, was %s", is.ID,
			limitOf(is), limitOf(was))
	}
	switch {
	case was.Unreachable == "" && is.Unreachable != "":
		d.add(Change{Kind: ShardDown, Shard: is.ID, New: is.Unreachable}, "%s can't be reached: %s", is.ID, is.Unreachable)
	case was.Unreachable != "" && is.Unreachable == "":
		d.add(Change{Kind: ShardUp, Shard: is.ID, Old: was.Unreachable}, "%s can be reached again", is.ID)
	}
	for _, zone := range is.Zones {
		if !was.HasZone(zone) {
			d.add(Change{Kind: ZoneShardAdded, Shard: is.ID, Zone: zone}, "%s is in the zone %s", is.ID, zone)
		}
	}
	for _, zone := range was.Zones {
		if !is.HasZone(zone) {
			d.add(Change{Kind: ZoneShardRemoved, Shard: is.ID, Zone: zone}, "%s is not in the zone %s any more", is.ID, zone)
		}
	}
}

// hosts compares the connection strings of a shard, where its members don't tell the same.
func (d *differ) hosts(was, is *catalog.ShardState) {
	if was.Host == is.Host {
		return
	}
	list := func(s *catalog.ShardState) (hosts []string) {
		for _, m := range catalog.MembersOf(s.ID, s.Host) {
			hosts = append(hosts, m.Host)
		}
		slices.Sort(hosts)
		return hosts
	}
	if len(d.was.Members) > 0 && len(d.is.Members) > 0 && !slices.Equal(list(was), list(is)) {
		return // members that are new or gone
	}
	d.add(Change{Kind: ShardHost, Shard: is.ID, Old: was.Host, New: is.Host}, "%s is %s, was %s", is.ID, is.Host, was.Host)
}

func limitOf(s *catalog.ShardState) string {
	if s.MaxSizeMB == 0 {
		return "no limit"
	}
	return strconv.FormatInt(s.MaxSizeMB, 10) + " MiB"
}
