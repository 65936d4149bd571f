package sharding

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

func chunkHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"split":                 splitChunk,
		"splitVector":           SplitVector,
		"mergeChunks":           MergeChunks,
		"mergeAllChunksOnShard": mergeAllChunksOnShard,
		"clearJumboFlag":        clearJumboFlag,
	}
}

// splitArgs are the three alternative arguments for the split point. An empty one counts as absent
// (rules/03-commands §1.3).
type splitArgs struct {
	find, middle bson.Raw
	bounds       []bson.RawValue
}

func readSplitArgs(body bson.Raw) (splitArgs, error) {
	var a splitArgs
	for _, f := range []struct {
		name string
		into *bson.Raw
	}{{"find", &a.find}, {"middle", &a.middle}} {
		v := body.Lookup(f.name)
		if v.IsZero() {
			continue
		}
		doc, isDoc := v.DocumentOK()
		if !isDoc {
			return a, fieldTypeError(f.name, "object", v)
		}
		if !document.IsEmpty(doc) {
			*f.into = doc
		}
	}
	if v := body.Lookup("bounds"); !v.IsZero() {
		array, isArray := v.ArrayOK()
		if !isArray {
			return a, fieldTypeError("bounds", "array", v)
		}
		var err error
		if a.bounds, err = array.Values(); err != nil {
			return a, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		if len(a.bounds) == 1 {
			return a, mongoerr.NewNoCode("bounds lacks its second element")
		}
	}
	return a, a.checkExactlyOne()
}

// fieldTypeError returns the type error of a field that old-style commands parse by hand.
func fieldTypeError(name, expected string, v bson.RawValue) error {
	return mongoerr.NewNoCode("wrong type for '%s' field, expected %s, found %s: %s", name, expected, name, v)
}

func (a splitArgs) checkExactlyOne() error {
	switch {
	case a.find != nil && len(a.bounds) > 0:
		return mongoerr.NewNoCode("cannot specify bounds and find")
	case a.find == nil && len(a.bounds) == 0 && a.middle == nil:
		return mongoerr.NewNoCode("need to specify find/bounds or middle")
	case a.find != nil && a.middle != nil:
		return mongoerr.NewNoCode("cannot specify find and middle")
	case len(a.bounds) > 0 && a.middle != nil:
		return mongoerr.NewNoCode("cannot specify bounds and middle")
	}
	return nil
}

func splitChunk(c *call.Call) (bson.D, error) {
	coll, err := c.Cluster.ConfigDB().RequireSharded(c.Args.Text("split"))
	if err != nil {
		return nil, err
	}
	a, err := readSplitArgs(c.Body.Raw)
	if err != nil {
		return nil, err
	}
	chunk, point, err := findSplitPoint(c.Cluster, coll, a)
	if err != nil {
		return nil, err
	}
	if c.Cluster.Migrations().IsDonating(coll.Namespace, chunk.Shard) {
		if err := c.Cluster.Migrations().AwaitDonationEnd(c.Ctx, c.Deadline, coll.Namespace, chunk.Shard); err != nil {
			return nil, err
		}
		return splitChunk(c) // the state may have changed
	}
	return bson.D{}, c.Cluster.Chunks().Split(coll, chunk, []catalog.Key{point})
}

// findSplitPoint finds the chunk to split and the split point.
func findSplitPoint(
	cluster *mock.Cluster,
	coll catalog.Collection,
	a splitArgs,
) (chunk catalog.Chunk, point catalog.Key,
	err error) {
	table := cluster.ConfigDB().Table(coll.Namespace)
	switch {
	case a.middle != nil:
		if point, err = coll.Pattern.ParseKey(a.middle); err != nil {
			return chunk, point, mongoerr.NewNoCode("new split key %s is not valid for shard key pattern %s", a.middle,
				coll.Pattern.Doc())
		}
		chunk = table.Find(point)
		if chunk.Min.Equal(point) || chunk.Max.Equal(point) {
			return chunk, point, mongoerr.NewNoCode("new split key %s is a boundary key of existing chunk [%s,%s)", a.middle,
				coll.Pattern.Bound(chunk.Min), coll.Pattern.Bound(chunk.Max))
		}
		return chunk, point, nil
	case a.find != nil:
		key, found := coll.Pattern.QueryKey(a.find)
		if !found {
			return chunk, point, mongoerr.NewNoCode("no shard key found in chunk query %s", a.find)
		}
		chunk = table.Find(key)
	default:
		bounds, err := firstTwoBounds(a.bounds)
		if err != nil {
			return chunk, point, err
		}
		if chunk, err = exactChunk(cluster, coll, bounds); err != nil {
			return chunk, point, oldStyleError(err)
		}
	}
	point, err = cluster.Chunks().Median(coll, chunk)
	return chunk, point, err
}

// firstTwoBounds returns the first two elements of split's bounds.
func firstTwoBounds(values []bson.RawValue) ([]bson.Raw, error) {
	var bounds []bson.Raw
	for _, v := range values[:2] {
		doc, isDoc := v.DocumentOK()
		if !isDoc {
			return nil, mongoerr.New(mongoerr.WrongFieldType, "an element of bounds is not an object")
		}
		bounds = append(bounds, doc)
	}
	return bounds, nil
}

// parseBounds returns the keys of bounds, or the old-style error for invalid ones.
func parseBounds(p catalog.KeyPattern, bounds []bson.Raw) (lower, upper catalog.Key, err error) {
	if lower, err = p.ParseKey(bounds[0]); err == nil {
		upper, err = p.ParseKey(bounds[1])
	}
	if err != nil {
		err = mongoerr.NewNoCode("shard key bounds [%s,%s) are not valid for shard key pattern %s", bounds[0], bounds[1],
			p.Doc())
	}
	return lower, upper, err
}

// exactChunk returns the chunk with exactly these bounds.
func exactChunk(cluster *mock.Cluster, coll catalog.Collection, bounds []bson.Raw) (catalog.Chunk, error) {
	lower, upper, err := parseBounds(coll.Pattern, bounds)
	if err != nil {
		return catalog.Chunk{}, err
	}
	chunk := cluster.ConfigDB().Table(coll.Namespace).Find(lower)
	if !chunk.Min.Equal(lower) || !chunk.Max.Equal(upper) {
		return catalog.Chunk{}, mongoerr.New(mongoerr.ClearJumboNoSuchChunk,
			"no chunk found with the shard key bounds [%s, %s)", bounds[0], bounds[1])
	}
	return chunk, nil
}

// MergeChunks merges adjacent chunks.
func MergeChunks(c *call.Call) (bson.D, error) {
	bounds, err := mergeBounds(c.Body.Lookup("bounds"))
	if err != nil {
		return nil, err
	}
	coll, err := c.Cluster.ConfigDB().RequireSharded(c.Args.Text("mergeChunks"))
	if err != nil {
		return nil, err
	}
	lower, upper, err := parseBounds(coll.Pattern, bounds)
	if err != nil {
		return nil, err
	}
	owner := c.Cluster.ConfigDB().Table(coll.Namespace).Find(lower).Shard
	if lower.Less(upper) && c.Cluster.Migrations().IsDonating(coll.Namespace, owner) {
		if err := c.Cluster.Migrations().AwaitDonationEnd(c.Ctx, c.Deadline, coll.Namespace, owner); err != nil {
			return nil, err
		}
		return MergeChunks(c) // the state may have changed
	}
	return bson.D{}, c.Cluster.Chunks().MergeRange(coll, lower, upper)
}

func mergeBounds(v bson.RawValue) ([]bson.Raw, error) {
	array, isArray := v.ArrayOK()
	switch {
	case v.IsZero() || isArray && args.ElementCount(array) == 0:
		return nil, mongoerr.NewNoCode("no bounds were specified")
	case !isArray:
		return nil, fieldTypeError("bounds", "vector array", v)
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	var docs []bson.Raw
	for i, v := range values {
		doc, isDoc := v.DocumentOK()
		if !isDoc {
			err := fieldTypeError(strconv.Itoa(i), "object", v)
			return nil, mongoerr.NewNoCode("error parsing element %d of field bounds :: caused by :: %v", i, err)
		}
		docs = append(docs, doc)
	}
	switch {
	case len(docs) != 2:
		return nil, mongoerr.NewNoCode("only a min and max bound may be specified")
	case document.IsEmpty(docs[0]):
		return nil, mongoerr.NewNoCode("no min key specified")
	case document.IsEmpty(docs[1]):
		return nil, mongoerr.NewNoCode("no max key specified")
	}
	return docs, nil
}

func mergeAllChunksOnShard(c *call.Call) (bson.D, error) {
	shard, err := c.Cluster.ConfigDB().ShardByID(c.Args.Text("shard"))
	if err != nil {
		return nil, err
	}
	ns := c.Args.Text("mergeAllChunksOnShard")
	coll, tracked, err := c.Cluster.ConfigDB().TrackedEntry(ns)
	if err != nil {
		return nil, err
	}
	if !tracked {
		return nil, mongoerr.New(mongoerr.ConflictingOperationInProgress, "Collection %s is not in the catalog", ns)
	}
	if coll.Unsplittable {
		return nil, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	}
	limits := policy.MergeLimits{Chunks: math.MaxInt32, Time: math.MaxInt32 * time.Millisecond}
	if c.Args.Has("maxNumberOfChunksToMerge") {
		limits.Chunks = int(c.Args.Int("maxNumberOfChunksToMerge"))
	}
	if c.Args.Has("maxTimeProcessingChunksMS") {
		limits.Time = time.Duration(c.Args.Int("maxTimeProcessingChunksMS")) * time.Millisecond
	}
	_, err = c.Cluster.Chunks().MergeAll(coll, shard.ID, limits)
	return bson.D{}, err
}

func clearJumboFlag(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("clearJumboFlag")
	if !strings.Contains(ns, ".") {
		return nil, mongoerr.New(mongoerr.NamespaceNotSharded, "Expected collection %s to be sharded", ns)
	}
	coll, err := c.Cluster.ConfigDB().RequireSharded(ns)
	if err != nil {
		return nil, err
	}
	bounds, err := readFindOrBounds(c.Args, "find")
	if err != nil {
		return nil, err
	}
	var chunk catalog.Chunk
	if bounds == nil {
		key, found := coll.Pattern.QueryKey(c.Args.Object("find"))
		if !found {
			return nil, mongoerr.New(mongoerr.ClearJumboFindWithoutKey, "no shard key found in chunk query %s",
				c.Args.Object("find"))
		}
		chunk = c.Cluster.ConfigDB().Table(coll.Namespace).Find(key)
	} else if chunk, err = exactChunk(c.Cluster, coll, bounds); err != nil {
		return nil, mongoerr.New(mongoerr.ClearJumboNoSuchChunk, "%s", err)
	}
	return bson.D{}, c.Cluster.ConfigDB().ClearJumbo(coll, chunk.Min, chunk.Max)
}
