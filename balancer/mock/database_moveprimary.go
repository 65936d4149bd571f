package mock

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// MovePrimary gives a database another primary and moves its untracked
// collections there (spec 03 §1.4).
func (ds Databases) MovePrimary(db, to string) error {
	switch {
	case onConfigServer(db) || db == "local":
		return mongoerr.New(mongoerr.InvalidOptions, "Can't move primary for %s database", db)
	case !catalog.ValidDatabaseName(db):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: %s", db)
	}
	from, known := ds.c.config.Primary(db)
	if !known {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	if !ds.c.membership.hadTwo {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move the primary in a cluster that has never had two shards")
	}
	shard, err := ds.c.config.FindShard(to)
	if err != nil {
		return err
	}
	if shard.ID == from {
		return nil
	}
	if shard.Draining {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s is currently draining", shard.ID)
	}
	for _, id := range []catalog.ShardID{from, shard.ID} {
		if err := ds.c.faults.reach(configShard, id); err != nil {
			return err
		}
	}
	return ds.move(db, ds.c.shards[from], ds.c.shards[shard.ID])
}

func (ds Databases) move(db string, from, to *shard) error {
	var moving []string
	for ns := range from.colls {
		if strings.HasPrefix(ns, db+".") && !ds.c.config.isTracked(ns) {
			moving = append(moving, ns)
		}
	}
	slices.Sort(moving)
	details := bson.D{{Key: "from", Value: string(from.id)}, {Key: "to", Value: string(to.id)}}
	ds.c.log.change(from.id, "movePrimary.start", db, details)
	for _, ns := range moving {
		if to.colls[ns] != nil {
			err := mongoerr.New(mongoerr.NamespaceExists, "shard %s holds an orphaned collection %s", to.id, ns)
			ds.c.log.change(from.id, "movePrimary.error", db, append(details, bson.E{Key: "error", Value: err.Error()}))
			return err
		}
	}
	for _, ns := range moving {
		to.colls[ns] = from.colls[ns]
		delete(from.colls, ns)
	}
	at := ds.c.Tick()
	_, err := ds.c.config.modify(configDatabases, db, func(doc *bson.D) {
		set(doc, "primary", string(to.id))
		for i, e := range *doc {
			if version, ok := e.Value.(bson.D); ok && e.Key == "version" {
				bumpDatabaseVersion(version, at)
				(*doc)[i].Value = version
			}
		}
	})
	if err != nil {
		return err
	}
	ds.c.log.change(from.id, "movePrimary.commit", db, details)
	ds.c.log.placement(db, nil, at, []catalog.ShardID{to.id})
	ds.c.log.change(from.id, "movePrimary.end", db, details)
	return nil
}

func bumpDatabaseVersion(version bson.D, at bson.Timestamp) {
	for i, e := range version {
		switch e.Key {
		case "timestamp":
			version[i].Value = at
		case "lastMod":
			if n, ok := e.Value.(int32); ok {
				version[i].Value = n + 1
			}
		}
	}
}
