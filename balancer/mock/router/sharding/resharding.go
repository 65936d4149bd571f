package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// reshardingHandlers returns the commands that reshard, move or unshard collections (rules/03-commands
// §1.4). They reply when the operation is complete.
func reshardingHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"reshardCollection":      reshardCollection,
		"abortReshardCollection": abortHandler("abortReshardCollection", mock.ProvenanceReshard),
		"commitReshardCollection": func(c *call.Call) (bson.D, error) {
			return bson.D{}, c.Cluster.Reshardings().Commit(c.Args.Text("commitReshardCollection"))
		},
		"cleanupReshardCollection": cleanupReshardCollection,
		"moveCollection": func(c *call.Call) (bson.D, error) {
			return bson.D{}, c.Cluster.Reshardings().Move(c.Ctx, c.Deadline, c.Args.Text("moveCollection"),
				c.Args.Text("toShard"))
		},
		"abortMoveCollection": abortHandler("abortMoveCollection", mock.ProvenanceMove),
		"unshardCollection": func(c *call.Call) (bson.D, error) {
			return bson.D{}, c.Cluster.Reshardings().Unshard(c.Ctx, c.Deadline, c.Args.Text("unshardCollection"),
				c.Args.Text("toShard"))
		},
		"abortUnshardCollection":   abortHandler("abortUnshardCollection", mock.ProvenanceUnshard),
		"refineCollectionShardKey": refineKey,
	}
}

func refineKey(c *call.Call) (bson.D, error) {
	unique := c.Args["enforceUniquenessCheck"]
	return bson.D{}, c.Cluster.Collections().RefineKey(mock.RefineRequest{
		Namespace: c.Args.Text("refineCollectionShardKey"), Key: c.Args.Object("key"), UUID: c.Args.Binary("collectionUUID"),
		AcceptNonUnique: !unique.IsZero() && !args.IsTrueOrNonzero(unique),
	})
}

func abortHandler(name string, by mock.Provenance) call.Handler {
	return func(c *call.Call) (bson.D, error) {
		return bson.D{}, c.Cluster.Reshardings().Abort(c.Ctx, c.Deadline, c.Args.Text(name), by)
	}
}

// cleanupReshardCollection has nothing to do: a failed operation of the mock leaves nothing behind.
func cleanupReshardCollection(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("cleanupReshardCollection")
	_, tracked, err := c.Cluster.ConfigDB().TrackedEntry(ns)
	if err == nil && !tracked {
		err = mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
	}
	return bson.D{}, err
}

func reshardCollection(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("reshardCollection")
	switch {
	case c.Args.Bool("unique"):
		return nil, mongoerr.New(mongoerr.BadValue, "Resharding doesn't support unique: true")
	case c.Args.Has("_presetReshardedChunks") && !call.HasTestCommands(c.Cluster):
		return nil, mongoerr.New(mongoerr.BadValue,
			"Test commands must be enabled when a value is provided for field: _presetReshardedChunks")
	case c.Args.Has("_presetReshardedChunks") && c.Args.Has("numInitialChunks"):
		return nil, mongoerr.New(mongoerr.BadValue,
			"Must specify only one of _presetReshardedChunks or numInitialChunks")
	}
	if err := checkSimpleCollation(c, "reshardCollection"); err != nil {
		return nil, err
	}
	if err := c.Cluster.Collections().CheckUUID(ns, c.Args.Binary("collectionUUID")); err != nil {
		return nil, err
	}
	req := mock.ReshardRequest{
		Namespace: ns, Key: c.Args.Object("key"), InitialChunks: c.Args.Int("numInitialChunks"),
		Force: c.Args.Bool("forceRedistribution"),
		UUID:  c.Args.Binary("reshardingUUID"),
	}
	if c.Args.Has("numInitialChunks") && req.InitialChunks <= 0 {
		return nil, errTooFewChunks(req.InitialChunks)
	}
	var err error
	if c.Args.Has("zones") {
		if req.Zones, err = readZoneRequests(c.Args["zones"]); err != nil {
			return nil, err
		}
	}
	if req.Distribution, err = readShardRanges(c.Args["shardDistribution"]); err != nil {
		return nil, err
	}
	if req.Chunks, err = readShardRanges(c.Args["_presetReshardedChunks"]); err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Reshardings().Reshard(c.Ctx, c.Deadline, req)
}

// errTooFewChunks returns the error for sampling 0 chunks or fewer.
func errTooFewChunks(n int64) error {
	if n < 0 {
		return mongoerr.New(28747, "size argument to $sample must not be negative")
	}
	return mongoerr.New(4952602, "numInitialChunks should be > 0")
}

func checkSimpleCollation(c *call.Call, command string) error {
	if !c.Args.Has("collation") {
		return nil
	}
	collation, err := args.RequireCollation("collation", c.Args.Object("collation"))
	if err == nil && collation != nil {
		err = mongoerr.New(mongoerr.BadValue, "the collation for %s must be {locale: 'simple'}", command)
	}
	return err
}

func readZoneRequests(list bson.RawValue) ([]mock.ZoneRequest, error) {
	docs, err := args.Documents(list)
	if err != nil {
		return nil, err
	}
	zones := []mock.ZoneRequest{}
	for _, doc := range docs {
		min, max := doc.Lookup("min").Document(), doc.Lookup("max").Document()
		switch empty := "%s field is empty"; {
		case document.IsEmpty(min):
			return nil, mongoerr.New(mongoerr.BadValue, empty, "min")
		case document.IsEmpty(max):
			return nil, mongoerr.New(mongoerr.BadValue, empty, "max")
		}
		zones = append(zones, mock.ZoneRequest{Zone: args.Text(doc.Lookup("zone")), Min: min, Max: max})
	}
	return zones, nil
}

// readShardRanges reads the requested ranges of shards; nil if there are none.
func readShardRanges(list bson.RawValue) ([]mock.ShardRange, error) {
	if list.IsZero() {
		return nil, nil
	}
	docs, err := args.Documents(list)
	if err != nil {
		return nil, err
	}
	ranges := []mock.ShardRange{}
	for _, doc := range docs {
		r := mock.ShardRange{Shard: args.Text(doc.Lookup("shard")) + args.Text(doc.Lookup("recipientShardId"))}
		r.Min, _ = doc.Lookup("min").DocumentOK()
		r.Max, _ = doc.Lookup("max").DocumentOK()
		ranges = append(ranges, r)
	}
	return ranges, nil
}
