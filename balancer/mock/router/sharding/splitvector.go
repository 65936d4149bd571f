package sharding

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// SplitVector returns the split points that the owner of a range computes; on a member, those of the
// member's own data (rules/03-commands §1.8).
func SplitVector(c *call.Call) (bson.D, error) {
	req, err := splitVectorRequest(c)
	if err != nil {
		return nil, err
	}
	points, err := c.Cluster.Chunks().SplitVector(req)
	if err != nil {
		return nil, err
	}
	if points == nil {
		points = []bson.Raw{}
	}
	return bson.D{{Key: "splitKeys", Value: points}}, nil
}

func splitVectorRequest(c *call.Call) (req mock.SplitVectorRequest, err error) {
	if req.Namespace, err = c.RequiredText("splitVector"); err != nil {
		return req, err
	}
	if _, _, err := catalog.SplitNamespace(req.Namespace); err != nil {
		return req, err
	}
	if m := c.Node.Member; m != nil {
		req.Shard = m.Shard
	} else if err := checkRoutedSplitVector(c, req.Namespace); err != nil {
		return req, err
	}
	for name, into := range map[string]*bson.Raw{"keyPattern": &req.Key, "min": &req.Min, "max": &req.Max} {
		if doc, isDoc := c.Body.Lookup(name).DocumentOK(); isDoc && !document.IsEmpty(doc) {
			*into = doc
		}
	}
	switch {
	case req.Key == nil:
		return req, mongoerr.New(mongoerr.UnknownError, "no key pattern found in splitVector")
	case (req.Min == nil) != (req.Max == nil):
		return req, mongoerr.New(mongoerr.UnknownError, "either provide both min and max or leave both empty")
	}
	return req, readSplitVectorLimits(c, &req)
}

// checkRoutedSplitVector fails if a router rejects the splitVector.
func checkRoutedSplitVector(c *call.Call, ns string) error {
	if catalog.DatabaseOf(ns) != c.DB {
		return mongoerr.New(mongoerr.IllegalOperation, "Performing splitVector across dbs isn't supported via mongos")
	}
	if _, err := c.Cluster.ConfigDB().RequireSharded(ns); err == nil && !c.Cluster.Release().ShowsSplitPoints() {
		return mongoerr.New(mongoerr.IllegalOperation, "can't do command: splitVector on sharded collection")
	}
	return nil
}

func readSplitVectorLimits(c *call.Call, req *mock.SplitVectorRequest) error {
	req.Force = args.IsTrueOrNonzero(c.Body.Lookup("force"))
	req.MaxPoints = args.ClampedInt(c.Body.Lookup("maxSplitPoints"))
	if v := c.Body.Lookup("maxChunkObjects"); !v.IsZero() {
		n, isNumber := args.Number(v)
		if !isNumber || !(n > 0) { // also NaN
			return mongoerr.New(mongoerr.InvalidOptions, "maxChunkObjects must be greater than 0")
		}
		req.MaxKeysPerPiece = int64(n)
	}
	megabytes, hasMB := args.Number(c.Body.Lookup("maxChunkSize"))
	size, hasBytes := args.Number(c.Body.Lookup("maxChunkSizeBytes"))
	if hasMB {
		size = megabytes * (1 << 20)
	}
	switch {
	case !hasMB && !hasBytes && !req.Force:
		return mongoerr.New(mongoerr.InvalidOptions,
			"need to specify the desired max chunk size (maxChunkSize or maxChunkSizeBytes)")
	case !hasMB && !hasBytes:
		return nil
	case !(size >= minChunkMB<<20 && size <= maxChunkMB<<20): // also NaN
		return mongoerr.New(mongoerr.InvalidOptions, "the max chunk size must be between %d and %d MB", minChunkMB,
			maxChunkMB)
	}
	req.ChunkBytes = int64(size)
	return nil
}
