package mock

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// AddConfigShard makes the config server a shard of the cluster
// (transitionFromDedicatedConfigServer). That it is one already is no error.
func (mb *Membership) AddConfigShard() error {
	if mb.c.shards[configShard] != nil {
		return nil
	}
	err := mb.c.config.insert(configShards, bson.D{
		{Key: "_id", Value: string(configShard)}, {Key: "host", Value: mb.c.ConfigServer()}, {Key: "state", Value: int32(1)},
		{Key: "topologyTime", Value: mb.c.Tick()}, {Key: "replSetConfigVersion", Value: int64(-1)},
	})
	if err != nil {
		return err
	}
	mb.c.shards[configShard] = newShard(configShard)
	mb.noteCount()
	mb.c.log.change(configShard, "addShard", "", bson.D{{Key: "name", Value: string(configShard)}, {Key: "host", Value: mb.c.ConfigServer()}})
	return nil
}

// RemoveConfigShard begins, or goes on with, making the config server a
// dedicated one again (transitionToDedicatedConfigServer). Call it again until
// it is completed.
func (mb *Membership) RemoveConfigShard() (Removal, error) {
	shard, err := mb.ConfigShardToDrain()
	if err != nil {
		return Removal{}, err
	}
	return mb.removeStep(shard)
}

// cleanConfigShard waits until a drained config server holds nothing of the
// users any more: it stays a member of the cluster, so what it holds must go.
func (mb *Membership) cleanConfigShard(r *Removal) {
	s := mb.c.shards[configShard]
	r.PendingDeletions = int64(len(s.deletions))
	for _, ns := range slices.Sorted(maps.Keys(s.colls)) {
		if docs, _ := s.colls[ns].counts(); docs > 0 && r.FirstNonEmpty == "" {
			r.FirstNonEmpty = ns
		}
	}
	r.Cleaning = r.PendingDeletions > 0 || r.FirstNonEmpty != ""
}

// The compatibility version of the cluster. There is no other here.
const compatibilityVersion = "8.0"

// SetCompatibilityVersion takes the version the cluster has, and refuses
// others: 2 for what is no version, and those that the mock can't be.
func (c *Cluster) SetCompatibilityVersion(version string) error {
	switch version {
	case compatibilityVersion:
		c.Tick()
		return nil
	case "7.0", "7.3":
		return mongoerr.New(mongoerr.NotImplemented, "the mock has no compatibility version but %s", compatibilityVersion)
	}
	return mongoerr.New(mongoerr.BadValue, "Invalid feature compatibility version value '%s'; expected '7.0' or '7.3' or '8.0'.", version)
}
