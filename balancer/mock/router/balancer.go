package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func balancerCommands() []command {
	return []command{
		{name: "balancerStart", adminOnly: true, run: balancerStart},
		{name: "balancerStop", adminOnly: true, run: balancerStop},
		{name: "balancerStatus", adminOnly: true, run: balancerStatus},
		{name: "balancerCollectionStatus", adminOnly: true, strict: true,
			declared: []field{{"balancerCollectionStatus", namespaceValue, true}},
			run:      balancerCollectionStatus},
		{name: "configureCollectionBalancing", adminOnly: true,
			declared: []field{{"configureCollectionBalancing", namespaceValue, true}, {"chunkSize", safeInt, false},
				{"defragmentCollection", boolValue, false}, {"enableAutoMerger", boolValue, false}, {"enableBalancing", boolValue, false}},
			run: configureCollectionBalancing},
		{name: "setAllowMigrations", adminOnly: true, takesWriteConcern: true,
			declared: []field{{"setAllowMigrations", namespaceValue, true}, {"allowMigrations", boolValue, true}},
			run:      setAllowMigrations},
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
	status, err := c.cluster.Balancer().Compliance(c.args.text("balancerCollectionStatus"))
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
	ns := c.args.text("configureCollectionBalancing")
	if !c.args.has("chunkSize") && !c.args.has("defragmentCollection") && !c.args.has("enableAutoMerger") && !c.args.has("enableBalancing") {
		return bson.D{}, nil
	}
	var change mock.BalancingChange
	if c.args.has("chunkSize") {
		size := c.args.number("chunkSize")
		if size != 0 && (size < leastChunkMB || size > mostChunkMB) {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "Chunk size '%d' out of range [1MB, 1GB]", size)
		}
		change.ChunkSizeMB = &size
	}
	change.Defragment = c.args.flag("defragmentCollection")
	change.AutoMerge = c.args.flag("enableAutoMerger")
	change.Balance = c.args.flag("enableBalancing")
	return bson.D{}, c.cluster.Balancer().Configure(ns, change)
}

// flag reads an optional bool; nil when it is absent.
func (a args) flag(name string) *bool {
	if !a.has(name) {
		return nil
	}
	on := a.truth(name)
	return &on
}

func setAllowMigrations(c *call) (bson.D, error) {
	ns := c.args.text("setAllowMigrations")
	if err := knownDatabase(c.cluster, ns); err != nil {
		return nil, err
	}
	return bson.D{}, c.cluster.Balancer().PermitMigrations(ns, c.args.truth("allowMigrations"))
}

// knownDatabase is the first routing error: 26 for an unknown database.
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
