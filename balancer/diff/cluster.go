package diff

import (
	"cmp"
	"slices"
	"strconv"

	"shardsh/balancer/catalog"
)

// compareCluster compares the identity of the cluster, and its versions.
func (d *differ) compareCluster() {
	if d.old.ClusterID != d.new.ClusterID && !d.old.ClusterID.IsZero() && !d.new.ClusterID.IsZero() {
		d.add(Change{Kind: OtherCluster, Old: d.old.ClusterID.Hex(), New: d.new.ClusterID.Hex()},
			"these are different clusters, or one of the files is redacted: %s and %s",
			d.old.ClusterID.Hex(), d.new.ClusterID.Hex())
	}
	if d.checkBothHave("version", "") && d.old.Version != d.new.Version && d.old.Version != "" && d.new.Version != "" {
		d.add(Change{Kind: Version, Old: d.old.Version, New: d.new.Version}, "version %s, was %s", d.new.Version,
			d.old.Version)
	}
	was, is := d.old.Compatibility, d.new.Compatibility
	if d.checkBothHave("compatibility", "") && was != is && was.Version != "" && is.Version != "" {
		d.add(Change{Kind: FCV, Old: was.String(), New: is.String()}, "feature compatibility version %s, was %s", is, was)
	}
}

// compareMembers compares the members of shards and config servers. It skips the members of shards that
// only one snapshot has.
func (d *differ) compareMembers() {
	if len(d.old.Members) == 0 || len(d.new.Members) == 0 {
		if len(d.old.Members) != len(d.new.Members) {
			d.skip("members: only one of the snapshots has them")
		}
		return
	}
	id := func(m *catalog.Member) string { return string(m.Shard) + " " + m.Host }
	pairs, _ := pairByName(d.old.Members, d.new.Members, id)
	for _, p := range pairs {
		d.compareMember(p.old, p.new)
	}
	d.comparePrimaries()
}

func (d *differ) compareMember(older, newer *catalog.Member) {
	one := cmp.Or(newer, older)
	c := Change{Shard: one.Shard, Host: one.Host}
	switch {
	case !d.inBoth(one.Shard):
	case older == nil:
		c.Kind = MemberAdded
		d.add(c, "%s has a new member, %s", one.Shard, one.Host)
	case newer == nil:
		c.Kind = MemberRemoved
		d.add(c, "%s has lost the member %s", one.Shard, one.Host)
	case older.Problem == "" && newer.Problem != "":
		c.Kind, c.New = MemberDown, newer.Problem
		d.add(c, "member %s of %s does not answer: %s", one.Host, one.Shard, newer.Problem)
	case older.Problem != "" && newer.Problem == "":
		c.Kind, c.Old = MemberUp, older.Problem
		d.add(c, "member %s of %s answers again", one.Host, one.Shard)
	case older.Version != newer.Version && older.Version != "" && newer.Version != "":
		c.Kind, c.Old, c.New = MemberVersion, older.Version, newer.Version
		d.add(c, "member %s of %s has version %s, was %s", one.Host, one.Shard, newer.Version, older.Version)
	}
}

// inBoth reports whether a shard is in both snapshots; the config servers always are.
func (d *differ) inBoth(id catalog.ShardID) bool {
	_, was := d.oldSnapshot.Shard(id)
	_, ok := d.newSnapshot.Shard(id)
	return was && ok || id == catalog.ConfigServerID && was == ok
}

func (d *differ) comparePrimaries() {
	primaries := func(list []catalog.Member) map[catalog.ShardID]string {
		found := map[catalog.ShardID]string{}
		for _, m := range list {
			if m.Primary {
				found[m.Shard] = m.Host
			}
		}
		return found
	}
	was, is := primaries(d.old.Members), primaries(d.new.Members)
	for id, host := range was {
		if now := is[id]; now != "" && now != host && d.inBoth(id) {
			d.add(Change{Kind: ReplicaSetPrimary, Shard: id, Old: host, New: now}, "the primary of %s is %s, was %s", id,
				now, host)
		}
	}
}

func (d *differ) compareRouters() {
	if !d.checkBothHave("mongos", "") {
		return
	}
	pairs, ids := pairByName(d.old.Routers, d.new.Routers, func(r *catalog.Router) string { return r.ID })
	for i, p := range pairs {
		c := Change{Host: ids[i]}
		switch {
		case p.old == nil:
			c.Kind = RouterAdded
			d.add(c, "mongos %s is new", c.Host)
		case p.new == nil:
			c.Kind = RouterRemoved
			d.add(c, "mongos %s is gone", c.Host)
		case p.old.Version != p.new.Version && p.old.Version != "" && p.new.Version != "":
			c.Kind, c.Old, c.New = RouterVersion, p.old.Version, p.new.Version
			d.add(c, "mongos %s has version %s, was %s", c.Host, c.New, c.Old)
		}
	}
}

func (d *differ) compareShards() {
	if !d.checkBothHave("shards", "") {
		return
	}
	pairs, ids := pairByName(d.old.Shards, d.new.Shards, func(s *catalog.ShardState) string { return string(s.ID) })
	for i, p := range pairs {
		c := Change{Shard: catalog.ShardID(ids[i])}
		switch {
		case p.old == nil:
			c.Kind, c.New = ShardAdded, p.new.Host
			d.add(c, "%s was added: %s%s", c.Shard, p.new.Host, zonesText(p.new.Zones))
		case p.new == nil:
			c.Kind, c.Old = ShardRemoved, p.old.Host
			d.add(c, "%s was removed: %s", c.Shard, p.old.Host)
		default:
			d.compareShard(p.old, p.new)
		}
	}
}

func zonesText(zones []string) string {
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

// compareShard compares a shard that is in both snapshots.
func (d *differ) compareShard(older, newer *catalog.ShardState) {
	c := Change{Shard: newer.ID}
	switch {
	case !older.Draining && newer.Draining:
		c.Kind = DrainingStarted
		d.add(c, "%s is draining", newer.ID)
	case older.Draining && !newer.Draining:
		c.Kind = DrainingStopped
		d.add(c, "%s is not draining any more", newer.ID)
	}
	d.compareHosts(older, newer)
	if older.MaxSizeMB != newer.MaxSizeMB {
		d.add(Change{Kind: ShardLimit, Shard: newer.ID, Old: limitText(older), New: limitText(newer)},
			"%s may have %s, was %s", newer.ID, limitText(newer), limitText(older))
	}
	switch {
	case older.Unreachable == "" && newer.Unreachable != "":
		d.add(Change{Kind: ShardDown, Shard: newer.ID, New: newer.Unreachable}, "%s can't be reached: %s", newer.ID,
			newer.Unreachable)
	case older.Unreachable != "" && newer.Unreachable == "":
		d.add(Change{Kind: ShardUp, Shard: newer.ID, Old: older.Unreachable}, "%s can be reached again", newer.ID)
	}
	for _, zone := range newer.Zones {
		if !older.HasZone(zone) {
			d.add(Change{Kind: ZoneShardAdded, Shard: newer.ID, Zone: zone}, "%s is in the zone %s", newer.ID, zone)
		}
	}
	for _, zone := range older.Zones {
		if !newer.HasZone(zone) {
			d.add(Change{Kind: ZoneShardRemoved, Shard: newer.ID, Zone: zone}, "%s is not in the zone %s any more", newer.ID,
				zone)
		}
	}
}

// compareHosts compares the connection strings of a shard, unless changes of its members already show
// the difference.
func (d *differ) compareHosts(older, newer *catalog.ShardState) {
	if older.Host == newer.Host {
		return
	}
	list := func(s *catalog.ShardState) (hosts []string) {
		for _, m := range catalog.MembersOf(s.ID, s.Host) {
			hosts = append(hosts, m.Host)
		}
		slices.Sort(hosts)
		return hosts
	}
	if len(d.old.Members) > 0 && len(d.new.Members) > 0 && !slices.Equal(list(older), list(newer)) {
		return // the changes of members show this
	}
	d.add(Change{Kind: ShardHost, Shard: newer.ID, Old: older.Host, New: newer.Host}, "%s is %s, was %s", newer.ID,
		newer.Host, older.Host)
}

func limitText(s *catalog.ShardState) string {
	if s.MaxSizeMB == 0 {
		return "no limit"
	}
	return strconv.FormatInt(s.MaxSizeMB, 10) + " MiB"
}
