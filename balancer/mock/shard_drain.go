package mock

import (
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Removal is the state of a shard removal (rules/03-commands §1.5).
type Removal struct {
	Shard catalog.ShardID
	// JustStarted reports whether this call has started the removal, Completed whether the shard is removed.
	JustStarted, Completed bool
	Chunks, JumboChunks    int64
	// Databases have the shard as their primary. Collections are the tracked unsharded collections on
	// the shard.
	Databases, Collections []string
	// NotClean reports whether a drained config server still has pending range deletions or a collection
	// with documents.
	NotClean                bool
	PendingDeletions        int64
	FirstNonEmptyCollection string
}

// IsEmpty reports whether no chunks and databases are left to move.
func (r Removal) IsEmpty() bool { return r.Chunks == 0 && len(r.Databases) == 0 }

// Remove starts or continues the removal of a shard, given by id, connection string or host. The call
// must be repeated until Completed.
func (m *ShardMembership) Remove(name string) (Removal, error) {
	shard, err := m.ShardToDrain(name)
	if err != nil {
		return Removal{}, err
	}
	return m.removeStep(shard)
}

// removeStep starts or continues a removal.
func (m *ShardMembership) removeStep(shard catalog.Shard) (Removal, error) {
	if err := m.checkRemoval(shard); err != nil {
		return Removal{}, err
	}
	r := m.DrainingStatus(shard)
	switch {
	case !shard.Draining:
		r.JustStarted = true
		return r, m.markDraining(shard)
	case !r.IsEmpty() || r.NotClean:
		return r, nil
	}
	r.Completed = true
	return r, m.finishRemoval(shard)
}

// checkRemoval makes the checks that every call repeats.
func (m *ShardMembership) checkRemoval(shard catalog.Shard) error {
	shards, err := m.config.Shards()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(shards, func(s catalog.Shard) bool { return s.ID != shard.ID && !s.Draining }) {
		return mongoerr.New(mongoerr.IllegalOperation, "Operation not allowed because it would remove the last shard")
	}
	for _, zone := range shard.Zones {
		if m.zones.shardCount(zone) == 1 && m.zones.hasRanges(zone) {
			return mongoerr.New(mongoerr.ZoneStillInUse, "Cannot remove shard %s because it is the only shard of zone %s, "+
				"which has ranges", shard.ID, zone)
		}
	}
	return nil
}

func (c *ConfigDB) databasesOn(id catalog.ShardID) []string {
	names := []string{}
	for _, raw := range c.Collection(configDatabases).Scan() {
		primary, _ := raw.Lookup("primary").StringValueOK()
		if name, _ := raw.Lookup("_id").StringValueOK(); catalog.ShardID(primary) == id {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// finishRemoval removes an empty shard from the cluster. The shard keeps its data.
func (m *ShardMembership) finishRemoval(shard catalog.Shard) error {
	m.config.remove(configShards, string(shard.ID))
	if shard.ID != configShard {
		m.removed[shard.Host] = m.shards[shard.ID]
	}
	delete(m.shards, shard.ID)
	at := m.ids.Tick()
	rest, err := m.config.Shards()
	if err != nil {
		return err
	}
	if _, err := m.config.modify(configShards, string(rest[0].ID),
		func(doc *bson.D) { setDocField(doc, "topologyTime", at) }); err != nil {
		return err
	}
	found, err := m.config.modify(configRemovals, lastRemoval, func(doc *bson.D) { setDocField(doc, "timestamp", at) })
	if err == nil && !found {
		err = m.config.insert(configRemovals, bson.D{{Key: "_id", Value: lastRemoval}, {Key: "timestamp", Value: at}})
	}
	m.updateShardCountParameters()
	m.log.writeChange(configShard, "removeShard", "", bson.D{{Key: "shard", Value: string(shard.ID)}})
	return err
}

// The document with the time of the last removal (rules/03-catalog-and-keys §3.13).
const (
	configRemovals = "shardRemovalLog"
	lastRemoval    = "latestShardRemovalLog"
)

// RemoveConfigShard starts or continues the transition to a dedicated config server
// (transitionToDedicatedConfigServer). The call must be repeated until Completed.
func (m *ShardMembership) RemoveConfigShard() (Removal, error) {
	shard, err := m.ConfigShardToDrain()
	if err != nil {
		return Removal{}, err
	}
	return m.removeStep(shard)
}

// checkConfigShardClean checks whether a drained config server has user data left. It stays in the cluster,
// so its user data must be deleted. Newer releases drop the data once there are no unready range
// deletions.
func (m *ShardMembership) checkConfigShardClean(r *Removal) {
	s := m.shards[configShard]
	if m.release.DropsOrphansOfConfig() {
		r.PendingDeletions = int64(s.countUnready())
		r.NotClean = r.PendingDeletions > 0 && !m.bugs.DropsUnreadyDeletions
		return
	}
	r.PendingDeletions = int64(len(s.deletions))
	for _, ns := range slices.Sorted(maps.Keys(s.colls)) {
		if docs, _ := s.colls[ns].counts(); docs > 0 && r.FirstNonEmptyCollection == "" {
			r.FirstNonEmptyCollection = ns
		}
	}
	r.NotClean = r.PendingDeletions > 0 || r.FirstNonEmptyCollection != ""
}

// Since 8.3 each step of a removal has its own command (rules/03-commands §1.5). The methods below
// implement the steps. Their shard comes from ShardToDrain or ConfigShardToDrain.

// ShardToDrain returns a shard by id, connection string or host. It fails for the config server, which
// has its own commands.
func (m *ShardMembership) ShardToDrain(name string) (catalog.Shard, error) {
	shard, err := m.config.FindShard(name)
	if err == nil && shard.ID == configShard {
		err = mongoerr.New(mongoerr.IllegalOperation, "Cannot remove a config shard with removeShard: use "+
			"transitionToDedicatedConfigServer")
	}
	return shard, err
}

// ConfigShardToDrain returns the config server as a shard. It fails with error 70 if the config server
// is not a shard.
func (m *ShardMembership) ConfigShardToDrain() (catalog.Shard, error) {
	return m.config.ShardByID(string(configShard))
}

// StartShardDraining implements the separate command to start draining (since 8.3).
func (m *ShardMembership) StartShardDraining(shard catalog.Shard) error {
	shards, err := m.config.Shards()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(shards, func(s catalog.Shard) bool { return s.ID != shard.ID && !s.Draining }) {
		return mongoerr.New(mongoerr.IllegalOperation, "Operation not allowed because it would drain the last shard")
	}
	for _, zone := range shard.Zones {
		if m.zones.shardCount(zone) == 1 && m.zones.hasRanges(zone) {
			return mongoerr.New(mongoerr.ZoneStillInUse,
				"Operation not allowed because there is no other shard in zone %s to drain to.", zone)
		}
	}
	return m.markDraining(shard)
}

// markDraining marks a shard as draining, so that the balancer empties it. It does nothing if the shard
// is draining.
func (m *ShardMembership) markDraining(shard catalog.Shard) error {
	if shard.Draining {
		return nil
	}
	if _, err := m.config.modify(configShards, string(shard.ID),
		func(doc *bson.D) { setDocField(doc, "draining", true) }); err != nil {
		return err
	}
	m.log.writeChange(configShard, "removeShard.start", "", bson.D{{Key: "shard", Value: string(shard.ID)}})
	return nil
}

// StopDraining cancels the draining of a shard. It does nothing if the shard is not draining.
func (m *ShardMembership) StopDraining(shard catalog.Shard) error {
	if !shard.Draining {
		return nil
	}
	_, err := m.config.modify(configShards, string(shard.ID), func(doc *bson.D) { unsetDocField(doc, "draining") })
	if err == nil {
		m.log.writeChange(configShard, "removeShard.stopShardDraining", "", bson.D{{Key: "shard", Value: string(shard.ID)}})
	}
	return err
}

// DrainingStatus returns the data that a shard still has, including what reshardings in progress will
// move to it.
func (m *ShardMembership) DrainingStatus(shard catalog.Shard) Removal {
	r := Removal{Shard: shard.ID, Databases: m.config.databasesOn(shard.ID),
		Collections: m.config.trackedUnshardedOn(shard.ID)}
	r.Chunks = m.reshardings.incomingChunks(shard.ID)
	for _, table := range m.config.allTables() {
		r.Chunks += int64(table.CountOn(shard.ID))
		r.JumboChunks += int64(table.JumboCount(shard.ID))
	}
	if r.IsEmpty() && shard.ID == configShard {
		m.checkConfigShardClean(&r)
	}
	return r
}

// CommitRemoval removes a drained shard from the cluster. It fails with IllegalOperation if the shard is
// not drained.
func (m *ShardMembership) CommitRemoval(shard catalog.Shard) error {
	version, _ := m.clusterParameters.FCVDocument().Lookup("version").StringValueOK()
	if fcv, _ := catalog.ReleaseOf(version); !fcv.AllowsCommitShardRemoval() {
		return mongoerr.New(mongoerr.IllegalOperation, "commitShardRemoval is not supported with the current FCV. Upgrade "+
			"to the highest FCV to perform this operation.")
	}
	status := m.DrainingStatus(shard)
	if !shard.Draining || !status.IsEmpty() || status.NotClean || len(m.CollectionsToMove(shard.ID)) > 0 {
		command := "shardDrainingStatus"
		if shard.ID == configShard {
			command = "getTransitionToDedicatedConfigServerStatus"
		}
		return mongoerr.New(mongoerr.IllegalOperation, "The shard %s isn't completely drained. Please use the %s command to "+
			"check the draining status.", shard.ID, command)
	}
	return m.finishRemoval(shard)
}

// CollectionsToMove returns the unsharded collections on a shard, tracked or not.
func (m *ShardMembership) CollectionsToMove(id catalog.ShardID) []string {
	list := m.config.trackedUnshardedOn(id)
	for ns := range m.shards[id].colls {
		db, name, _ := strings.Cut(ns, ".")
		primary, _ := m.config.Primary(db)
		_, tracked, err := m.config.TrackedEntry(ns)
		if err != nil || tracked || primary != id || onConfigServer(db) || strings.HasPrefix(name, "system.") {
			continue
		}
		list = append(list, ns)
	}
	slices.Sort(list)
	return list
}

// BytesOn returns the size of the user data on a shard, including orphans.
func (m *ShardMembership) BytesOn(id catalog.ShardID) (sum int64) {
	for ns, local := range m.shards[id].colls {
		if !onConfigServer(catalog.DatabaseOf(ns)) {
			_, bytes := local.counts()
			sum += bytes
		}
	}
	return sum
}

// trackedUnshardedOn returns the tracked unsharded collections on a shard, which the balancer does not move.
func (c *ConfigDB) trackedUnshardedOn(id catalog.ShardID) []string {
	list := []string{}
	for ns, table := range c.allTables() {
		coll, _, err := c.TrackedEntry(ns)
		if err == nil && coll.Unsplittable && table.CountOn(id) > 0 {
			list = append(list, ns)
		}
	}
	slices.Sort(list)
	return list
}
