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

func (c *Cluster) insertConfig(ns string, doc bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		return errChunksByHand()
	case "config." + configCollections:
		return errByHand(ns, "shardCollection")
	case "config." + configDatabases:
		err = c.checkPrimary(ns, doc)
	case "config." + configSettings:
		err = c.config.CheckSettings(doc)
	}
	if err != nil {
		return err
	}
	if ns == "config."+configShards {
		shard, err := catalog.ParseShard(doc)
		if err != nil {
			return err
		}
		if c.shards[shard.ID] == nil {
			c.shards[shard.ID] = newShard(shard.ID)
		}
	}
	_, err = c.config.data(ns).Insert(doc)
	c.Tick()
	return err
}

func (c *Cluster) replaceConfig(ns string, p place, after bson.Raw) error {
	var err error
	switch ns {
	case chunksNamespace:
		defer c.Tick()
		return c.replaceChunk(p.doc, after)
	case "config." + configCollections:
		for _, field := range []string{"key", "uuid", "lastmodEpoch", "timestamp", "unique"} {
			if !p.doc.Lookup(field).Equal(after.Lookup(field)) {
				return errByHand(ns, "shardCollection")
			}
		}
	case "config." + configDatabases:
		err = c.checkPrimary(ns, after)
	case "config." + configSettings:
		err = c.config.CheckSettings(after)
	}
	if err != nil {
		return err
	}
	c.Tick()
	return p.docs.Update(p.record, after)
}

// checkPrimary demands that a database's entry names a shard there is.
func (c *Cluster) checkPrimary(ns string, doc bson.Raw) error {
	primary, _ := doc.Lookup("primary").StringValueOK()
	if c.shards[catalog.ShardID(primary)] == nil {
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
