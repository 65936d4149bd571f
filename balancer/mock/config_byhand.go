package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// The config database may be written through a mongos. What would break the
// mock when written by hand, and has a command, is refused.

func errByHand(ns, instead string) error {
	return mongoerr.New(mongoerr.IllegalOperation, "%s can't be written by hand in the mock: use %s", ns, instead)
}

func errChunksByHand() error {
	return errByHand(chunksNamespace, "split, mergeChunks and moveRange")
}

func (rq *Request) insertConfig(ns string, doc bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		return errChunksByHand()
	case "config." + configCollections:
		return errByHand(ns, "shardCollection")
	case "config." + configDatabases:
		err = rq.checkPrimary(ns, doc)
	case "config." + configSettings:
		err = rq.c.config.CheckSettings(doc)
	}
	if err != nil {
		return err
	}
	if ns == "config."+configShards {
		shard, err := catalog.ParseShard(doc)
		if err != nil {
			return err
		}
		if rq.c.shards[shard.ID] == nil {
			rq.c.shards[shard.ID] = newShard(shard.ID)
		}
	}
	_, err = rq.c.config.data(ns).Insert(doc)
	rq.c.Tick()
	return err
}

func (rq *Request) replaceConfig(ns string, p place, after bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		defer rq.c.Tick()
		return rq.c.Chunks().replace(p.doc, after)
	case "config." + configCollections:
		for _, field := range []string{"key", "uuid", "lastmodEpoch", "timestamp", "unique"} {
			if !p.doc.Lookup(field).Equal(after.Lookup(field)) {
				return errByHand(ns, "shardCollection")
			}
		}
	case "config." + configDatabases:
		err = rq.checkPrimary(ns, after)
	case "config." + configSettings:
		err = rq.c.config.CheckSettings(after)
	}
	if err != nil {
		return err
	}
	rq.c.Tick()
	return p.docs.Update(p.record, after)
}

// checkPrimary demands that a database's entry names a shard there is.
func (rq *Request) checkPrimary(ns string, doc bson.Raw) error {
	primary, _ := doc.Lookup("primary").StringValueOK()
	if rq.c.shards[catalog.ShardID(primary)] == nil {
		return errByHand(ns, "enableSharding with a shard there is")
	}
	return nil
}

func checkConfigDelete(ns string) error {
	switch ns {
	case chunksNamespace:
		return errChunksByHand()
	case "config." + configCollections:
		return errByHand(ns, "drop")
	}
	return nil
}
