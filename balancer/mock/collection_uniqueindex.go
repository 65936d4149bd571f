package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// PrepareUnique makes an index of a collection refuse new duplicates on every
// shard, or admit them again, and tells whether it refused them.
func (ix Indexes) PrepareUnique(ns string, spec store.IndexSpec, on bool) (was bool, err error) {
	if err := ix.checkUniqueAgainstShardKey(ns, []store.IndexSpec{{Name: spec.Name, Key: spec.Key, Unique: on}}); err != nil {
		return false, err
	}
	for _, id := range ix.c.Statistics().holders(ns) {
		if was, err = ix.c.shards[id].colls[ns].docs.PrepareUnique(spec.Name, on); err != nil {
			return was, err
		}
	}
	ix.c.Tick()
	return was, nil
}

// MakeUnique makes a prepared index a unique one on every shard; a trial only
// looks. It is CannotConvertIndexToUnique while there are duplicates, with their
// _ids.
func (ix Indexes) MakeUnique(ns, name string, trial bool) error {
	violations := bson.A{}
	for _, id := range ix.c.Statistics().holders(ns) {
		groups, err := ix.c.shards[id].colls[ns].docs.Duplicates(name)
		if err != nil {
			return err
		}
		for _, ids := range groups {
			violations = append(violations, bson.D{{Key: "ids", Value: ids}})
		}
	}
	if len(violations) > 0 {
		refused := mongoerr.New(mongoerr.CannotConvertIndexToUnique, "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.")
		refused.Extra = bson.D{{Key: "violations", Value: violations}}
		return refused
	}
	if trial {
		return nil
	}
	for _, id := range ix.c.Statistics().holders(ns) {
		if err := ix.c.shards[id].colls[ns].docs.MakeUnique(name); err != nil {
			return err
		}
	}
	ix.c.Tick()
	return nil
}
