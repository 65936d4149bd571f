package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func balancerHandlers() map[string]handler {
	return map[string]handler{
		"balancerStart":                balancerStart,
		"balancerStop":                 balancerStop,
		"balancerStatus":               balancerStatus,
		"balancerCollectionStatus":     balancerCollectionStatus,
		"configureCollectionBalancing": configureCollectionBalancing,
		"setAllowMigrations":           setAllowMigrations,
	}
}

func balancerStart(c *call) (bson.D, error) {
	return bson.D{}, c.cluster.Balancer().Start()
}

func balancerStop(c *call) (bson.D, error) {
	return bson.D{}, c.cluster.Balancer().Stop(c.ctx, c.deadline)
}

// balancerStatus shows the last good settings when they can't be read.
func balancerStatus(c *call) (bson.D, error) {
	settings, _ := c.cluster.Balancer().RefreshSettings()
	status := c.cluster.Balancer().Status()
	reply := bson.D{
		{Key: "mode", Value: string(settings.Mode)},
		{Key: "inBalancerRound", Value: status.InRound},
		{Key: "numBalancerRounds", Value: status.Rounds},
	}
	if c.cluster.Release().AtLeast(catalog.Release60) {
		reply = append(reply, bson.E{Key: "term", Value: c.cluster.Term()})
	}
	return reply, nil
}

func balancerCollectionStatus(c *call) (bson.D, error) {
	status, err := c.cluster.Balancer().Compliance(c.args.Text("balancerCollectionStatus"))
	if err != nil {
		return nil, err
	}
	return status.Doc(), nil
}

// Bounds of chunkSize in MiB.
const (
	leastChunkMB = 1
	mostChunkMB  = 1024
)

func configureCollectionBalancing(c *call) (bson.D, error) {
	ns := c.args.Text("configureCollectionBalancing")
	if !c.args.Has("chunkSize") && !c.args.Has("defragmentCollection") && !c.args.Has("enableAutoMerger") &&
		!c.args.Has("enableBalancing") {
		return bson.D{}, nil
	}
	var change mock.BalancingChange
	if c.args.Has("chunkSize") {
		size := c.args.Number("chunkSize")
		if size != 0 && (size < leastChunkMB || size > mostChunkMB) {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "Chunk size '%d' out of range [1MB, 1GB]", size)
		}
		change.ChunkSizeMB = &size
	}
	change.Defragment = c.args.Flag("defragmentCollection")
	change.AutoMerge = c.args.Flag("enableAutoMerger")
	change.Balance = c.args.Flag("enableBalancing")
	return bson.D{}, c.cluster.Balancer().Configure(ns, change)
}

func setAllowMigrations(c *call) (bson.D, error) {
	ns := c.args.Text("setAllowMigrations")
	if err := knownDatabase(c.cluster, ns); err != nil {
		return nil, err
	}
	return bson.D{}, c.cluster.Balancer().PermitMigrations(ns, c.args.Truth("allowMigrations"))
}

// knownDatabase returns the first routing error: 26 for an unknown database.
func knownDatabase(cluster *mock.Cluster, ns string) error {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	if _, known := cluster.ConfigDB().Primary(db); !known && db != "config" && db != "admin" {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	return nil
}
