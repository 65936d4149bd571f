package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

// checkMetadataConsistency compares the catalog with the data on the shards: for the cluster if it runs
// on admin, else for a database or for one collection (rules/03-commands §1.7).
func checkMetadataConsistency(c *call.Call) (bson.D, error) {
	db, ns, coll := c.DB, c.DB+".$cmd.aggregate", ""
	v := c.Args["checkMetadataConsistency"]
	name, isText := v.StringValueOK()
	switch {
	case c.DB == "admin" && isText || isText && name == "":
		return nil, mongoerr.New(mongoerr.InvalidNamespace,
			"Collection level mode command cannot be run on the admin database or without a name")
	case c.DB == "admin":
		db = ""
	case isText:
		coll, ns = name, c.DB+"."+name
	}
	if db != "" && db != "config" {
		if err := call.CheckDatabaseExists(c.Cluster, db+".x"); err != nil {
			return nil, err
		}
	}
	size, err := c.CursorBatchSize(c.Args.Object("cursor"))
	if err != nil {
		return nil, err
	}
	if err := awaitReshardings(c, db, coll); err != nil {
		return nil, err
	}
	found, err := c.Cluster.Inconsistencies(db, coll, c.Args.Bool("checkIndexes"))
	if err != nil {
		return nil, err
	}
	var docs []bson.D
	for _, one := range found {
		docs = append(docs, bson.D{{Key: "type", Value: one.Type}, {Key: "description", Value: one.Description},
			{Key: "details", Value: one.Details}})
	}
	list, err := call.MarshalAll(docs)
	if err != nil {
		return nil, err
	}
	return call.FirstBatchReply(c, ns, list, size)
}

// awaitReshardings waits for the lock of collections that are being resharded or moved (recordings
// 20-live, 03-resharding and 04-moving-collection).
func awaitReshardings(c *call.Call, db, coll string) error {
	return c.Cluster.ClockUnderLock().
		Await(c.Ctx, c.Deadline, func() bool { return !c.Cluster.Reshardings().HoldsLock(db, coll) })
}
