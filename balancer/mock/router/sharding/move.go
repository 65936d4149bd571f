package sharding

import (
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// staleAttempts is how often mongos sends a command that a shard rejects because of a stale routing
// table (rules/03-commands §0.7).
const staleAttempts = 10

func moveHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"moveChunk": moveChunk,
		"moveRange": moveRange,
	}
}

// moveChunk moves one whole chunk, selected by a key in the chunk or by its bounds.
func moveChunk(c *call.Call) (bson.D, error) {
	started := c.Cluster.Now()
	if err := move(c, moveChunkRequest); err != nil {
		return nil, err
	}
	return bson.D{{Key: "millis", Value: int32(c.Cluster.Now().Sub(started) / time.Millisecond)}}, nil
}

// moveChunkRequest returns the request to the donor for a moveChunk.
func moveChunkRequest(c *call.Call) (req mock.MoveRequest, err error) {
	ns := c.Args.Text("moveChunk")
	coll, err := c.Cluster.ConfigDB().RequireSharded(ns)
	if err != nil {
		return req, err
	}
	bounds, err := readFindOrBounds(c.Args, "query")
	if err != nil {
		return req, err
	}
	to, err := c.Cluster.ConfigDB().FindShard(c.Args.Text("to"))
	if mongoerr.Is(err, mongoerr.ShardNotFound) {
		err = mongoerr.New(mongoerr.ShardNotFound, "moveChunk destination shard does not exist")
	}
	if err != nil {
		return req, err
	}
	chunk, err := chooseChunk(c.Cluster, coll, c.Args.Object("find"), bounds)
	if err != nil {
		return req, err
	}
	throttle := c.Args["secondaryThrottle"]
	if throttle.IsZero() {
		throttle = c.Args["_secondaryThrottle"]
	}
	concern := c.Body.Lookup("writeConcern")
	if args.IsTrueOrNonzero(throttle) && concern.IsZero() {
		return req, mongoerr.New(mongoerr.FailedToParse, "secondaryThrottle needs a writeConcern")
	}
	if args.IsTrueOrNonzero(throttle) { // a write concern has no effect without throttling
		req.SecondaryThrottle = true
		req.WriteConcern, _ = concern.DocumentOK()
	}
	return mock.MoveRequest{
		SecondaryThrottle: req.SecondaryThrottle, WriteConcern: req.WriteConcern,
		Namespace: ns, From: chunk.Shard, To: to.ID,
		Min: coll.Pattern.Bound(chunk.Min), Max: coll.Pattern.Bound(chunk.Max),
		WaitForDelete:     c.Args.Bool("waitForDelete") || c.Args.Bool("_waitForDelete"),
		Force:             manualForce(c.Args),
		MaxChunkSizeBytes: c.Cluster.Balancer().MaxChunkSizeBytes(coll),
	}, nil
}

func manualForce(a args.Values) policy.ForceJumbo {
	if a.Bool("forceJumbo") {
		return policy.ForceManual
	}
	return policy.ForceNone
}

// readFindOrBounds checks that exactly one of find and bounds is given. find is the name that error messages
// use for the field find.
func readFindOrBounds(a args.Values, find string) ([]bson.Raw, error) {
	var bounds []bson.Raw
	if a.Has("bounds") {
		var err error
		if bounds, err = args.Documents(a["bounds"]); err != nil {
			return nil, err
		}
		if len(bounds) != 2 {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "bounds must have two elements")
		}
	}
	if a.Has("find") == a.Has("bounds") {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "need to specify %s or bounds", find)
	}
	return bounds, nil
}

// chooseChunk finds the chunk that a moveChunk selects.
func chooseChunk(cluster *mock.Cluster, coll catalog.Collection, find bson.Raw, bounds []bson.Raw) (catalog.Chunk,
	error) {
	table := cluster.ConfigDB().Table(coll.Namespace)
	if bounds == nil {
		key, found := coll.Pattern.QueryKey(find)
		if !found {
			return catalog.Chunk{}, mongoerr.New(mongoerr.MoveChunkFindWithoutKey, "no shard key found in chunk query %s", find)
		}
		return table.Find(key), nil
	}
	lower, err := coll.Pattern.ParseKey(bounds[0])
	upper, upperErr := coll.Pattern.ParseKey(bounds[1])
	if err != nil || upperErr != nil {
		return catalog.Chunk{}, mongoerr.New(mongoerr.MoveChunkBadBound, "shard key bounds [%s,%s) are not valid "+
			"for shard key pattern %s", bounds[0], bounds[1], coll.Pattern.Doc())
	}
	chunk := table.Find(lower)
	if !chunk.Min.Equal(lower) || !chunk.Max.Equal(upper) {
		return catalog.Chunk{}, mongoerr.New(mongoerr.MoveChunkNoSuchChunk,
			"no chunk found with the shard key bounds [%s, %s)", bounds[0], bounds[1])
	}
	return chunk, nil
}

// moveRange moves a range within one chunk. The donor computes a missing bound.
func moveRange(c *call.Call) (bson.D, error) {
	return bson.D{}, move(c, moveRangeRequest)
}

// moveRangeRequest returns the request to the donor for a moveRange.
func moveRangeRequest(c *call.Call) (req mock.MoveRequest, err error) {
	ns := c.Args.Text("moveRange")
	lower, upper := c.Args.Object("min"), c.Args.Object("max")
	if lower == nil && upper == nil {
		return req, mongoerr.New(mongoerr.InvalidOptions, "Need to specify at least one of min and max")
	}
	to, err := c.Cluster.ConfigDB().ShardByID(c.Args.Text("toShard"))
	if err != nil {
		return req, mongoerr.Wrap(err, "Could not find destination shard")
	}
	coll, tracked, err := c.Cluster.ConfigDB().TrackedEntry(ns)
	if err != nil {
		return req, err
	}
	if !tracked {
		return req, mongoerr.New(mongoerr.NamespaceNotFound, "Collection %s is not sharded", ns)
	}
	if coll.Unsplittable {
		text := "Collection %s is not sharded"
		if c.Node.Release().ChecksMovedRanges() {
			text = "Can't execute moveRange on unsharded collection %s"
		}
		return req, mongoerr.New(mongoerr.NamespaceNotSharded, text, ns)
	}
	return mock.MoveRequest{
		Namespace: ns, From: donorOf(c.Cluster, coll, lower, upper), To: to.ID, Min: lower, Max: upper,
		WaitForDelete:     c.Args.Bool("waitForDelete"),
		Force:             manualForce(c.Args),
		MaxChunkSizeBytes: c.Cluster.Balancer().MaxChunkSizeBytes(coll),
	}, nil
}

// donorOf returns the owner of the chunk that contains a bound. It uses only the values of the bound. If
// the bound does not fit the key, the shard that receives the request rejects it.
func donorOf(cluster *mock.Cluster, coll catalog.Collection, lower, upper bson.Raw) catalog.ShardID {
	table := cluster.ConfigDB().Table(coll.Namespace)
	if lower != nil {
		return table.Find(keyOfValues(coll.Pattern, lower)).Shard
	}
	return mock.ChunkEndingAt(table, keyOfValues(coll.Pattern, upper)).Shard
}

// keyOfValues returns the key of a bound. If the bound does not fit the key, it takes the bound's values in
// order and ignores the field names. Missing values become MinKey.
func keyOfValues(p catalog.KeyPattern, bound bson.Raw) catalog.Key {
	if key, err := p.ParseKey(bound); err == nil {
		return key
	}
	elems, err := bound.Elements()
	if err != nil {
		return p.GlobalMin()
	}
	renamed := bson.D{}
	for i, name := range p.Fields() {
		if i < len(elems) {
			renamed = append(renamed, bson.E{Key: name, Value: elems[i].Value()})
		} else {
			renamed = append(renamed, bson.E{Key: name, Value: bson.MinKey{}})
		}
	}
	raw, err := bson.Marshal(renamed)
	if err != nil {
		return p.GlobalMin()
	}
	key, err := p.ParseKey(raw)
	if err != nil {
		return p.GlobalMin()
	}
	return key
}

// move sends a request to the donor. It repeats the request if the donor reports a stale routing table.
func move(c *call.Call, request func(*call.Call) (mock.MoveRequest, error)) error {
	for attempt := 1; ; attempt++ {
		req, err := request(c)
		if err != nil {
			return err
		}
		req.Comment = c.Body.Lookup("comment")
		err = c.Cluster.Migrations().Move(c.Ctx, req, c.Deadline)
		if !mongoerr.Is(err, mongoerr.StaleConfig) {
			return wrapDonorError(c, err)
		}
		if c.Node.Routes.RefreshStale(req.Namespace, c.Cluster.ConfigDB()); attempt == staleAttempts {
			return wrapDonorError(c, err)
		}
	}
}

// wrapDonorError marks an error as an error of the donor. Errors of the router or the network stay
// unchanged.
func wrapDonorError(c *call.Call, err error) error {
	if err == nil || c.Ctx.Err() != nil || mongoerr.Is(err, mongoerr.HostUnreachable) ||
		mongoerr.Is(err, mongoerr.MaxTimeMSExpired) || mongoerr.Is(err, mongoerr.ShardNotFound) {
		return err
	}
	ofBounds := mongoerr.Is(err, mongoerr.InvalidOptions) || mongoerr.Is(err, mongoerr.RangeNotInOneChunk)
	if ofBounds && c.Node.Release().ChecksMovedRanges() { // here the config server checks the bounds
		return err
	}
	return mongoerr.Wrap(err, "Command request failed on source shard.")
}

// oldStyleError converts an error to an old-style error without a code.
func oldStyleError(err error) error {
	if server, ok := errors.AsType[*mongoerr.ServerError](err); ok {
		return mongoerr.NewNoCode("%s", server.Message)
	}
	return mongoerr.NewNoCode("%s", err)
}
