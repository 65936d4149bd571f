package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func balancerHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"balancerStart":                balancerStart,
		"balancerStop":                 balancerStop,
		"balancerStatus":               balancerStatus,
		"balancerCollectionStatus":     balancerCollectionStatus,
		"configureCollectionBalancing": configureCollectionBalancing,
		"setAllowMigrations":           setAllowMigrations,
	}
}

func balancerStart(c *call.Call) (bson.D, error) {
	return bson.D{}, c.Cluster.Balancer().Start()
}

func balancerStop(c *call.Call) (bson.D, error) {
	return bson.D{}, c.Cluster.Balancer().Stop(c.Ctx, c.Deadline)
}

// balancerStatus returns the status of the balancer. It uses the last valid settings if the current ones
// are invalid.
func balancerStatus(c *call.Call) (bson.D, error) {
	settings, _ := c.Cluster.Balancer().RefreshSettings()
	status := c.Cluster.Balancer().Status()
	reply := bson.D{
		{Key: "mode", Value: string(settings.Mode)},
		{Key: "inBalancerRound", Value: status.InRound},
		{Key: "numBalancerRounds", Value: status.Rounds},
	}
	if c.Cluster.Release().FCVAtLeast(catalog.Release60) {
		reply = append(reply, bson.E{Key: "term", Value: c.Cluster.Term()})
	}
	return reply, nil
}

func balancerCollectionStatus(c *call.Call) (bson.D, error) {
	status, err := c.Cluster.Balancer().Compliance(c.Request, c.Args.Text("balancerCollectionStatus"))
	if err != nil {
		return nil, err
	}
	return status.Doc(), nil
}

// Limits of chunkSize in MiB.
const (
	minChunkMB = 1
	maxChunkMB = 1024
)

func configureCollectionBalancing(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("configureCollectionBalancing")
	if !c.Args.Has("chunkSize") && !c.Args.Has("defragmentCollection") && !c.Args.Has("enableAutoMerger") &&
		!c.Args.Has("enableBalancing") {
		return bson.D{}, nil
	}
	var change mock.BalancingChange
	if c.Args.Has("chunkSize") {
		size := c.Args.Int("chunkSize")
		if size != 0 && (size < minChunkMB || size > maxChunkMB) {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "Chunk size '%d' out of range [1MB, 1GB]", size)
		}
		change.ChunkSizeMB = &size
	}
	change.Defragment = c.Args.OptionalBool("defragmentCollection")
	change.AutoMerge = c.Args.OptionalBool("enableAutoMerger")
	change.Balance = c.Args.OptionalBool("enableBalancing")
	return bson.D{}, c.Cluster.Balancer().Configure(ns, change)
}

func setAllowMigrations(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("setAllowMigrations")
	if err := call.CheckDatabaseExists(c.Cluster, ns); err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Balancer().PermitMigrations(ns, c.Args.Bool("allowMigrations"))
}
