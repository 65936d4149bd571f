package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// SizeRequest asks how much a collection has, or a range of it.
type SizeRequest struct {
	Namespace string
	// KeyPattern says in what order the range is; nil is the shard key, or the
	// order of Min's fields.
	KeyPattern bson.Raw
	Min, Max   bson.Raw // nil for the whole collection
	// Estimate takes the average document for each one of a range.
	Estimate bool
}

// RangeSize counts documents and bytes on the shards that own chunks; orphans
// count too (spec 03 §1.8).
func (st Statistics) RangeSize(req SizeRequest) (docs, bytes int64, err error) {
	pattern, err := st.sizePattern(req)
	if err != nil {
		return 0, 0, err
	}
	parts := st.Collection(req.Namespace)
	if req.Min == nil {
		for _, part := range parts {
			docs, bytes = docs+part.Docs, bytes+part.Bytes
		}
		return docs, bytes, nil
	}
	lower, errMin := pattern.Key(req.Min)
	upper, errMax := pattern.Key(req.Max)
	if errMin != nil || errMax != nil {
		return 0, 0, mongoerr.New(mongoerr.BadValue, "min and max must be full shard keys")
	}
	for _, part := range parts {
		n, size, err := st.rangeOn(part, req.Namespace, pattern, lower, upper)
		if err != nil {
			return 0, 0, err
		}
		if req.Estimate && part.Docs > 0 {
			size = part.Bytes / part.Docs * n
		}
		docs, bytes = docs+n, bytes+size
	}
	return docs, bytes, nil
}

// sizePattern is the order that the range is in.
func (st Statistics) sizePattern(req SizeRequest) (catalog.KeyPattern, error) {
	coll, sharded, err := st.c.config.shardedEntry(req.Namespace)
	if err != nil {
		return catalog.KeyPattern{}, err
	}
	switch {
	case req.KeyPattern != nil:
		asked, err := catalog.ParseKeyPattern(req.KeyPattern)
		if err == nil && sharded && !asked.Equal(coll.Pattern) {
			err = mongoerr.New(mongoerr.BadValue, "keyPattern must be the shard key %s", coll.Pattern.Doc())
		}
		return asked, err
	case sharded || req.Min == nil:
		return coll.Pattern, nil
	}
	return looseKey(req.Min, req.Max)
}

// rangeOn counts what one shard, or the config server, has of a range. Without
// an index that begins with the key it can't.
func (st Statistics) rangeOn(part LocalStats, ns string, pattern catalog.KeyPattern, lower, upper catalog.Key) (docs, bytes int64, err error) {
	l := st.c.member(part.Shard, ns)
	if held := st.c.config.collections[ns]; l == nil && held != nil {
		l = &localCollection{docs: held}
	}
	noIndex := mongoerr.New(mongoerr.OperationFailed, "couldn't find valid index containing key pattern: %s", pattern.Doc())
	if l == nil {
		return 0, 0, noIndex
	}
	if _, found := l.keyIndex(pattern); !found {
		return 0, 0, noIndex
	}
	for record := range l.inRange(pattern, lower, upper) {
		doc, _ := l.docs.Get(record)
		docs++
		bytes += int64(len(doc))
	}
	virtualDocs, virtualBytes := l.virtual.within(pattern, lower, upper)
	return docs + virtualDocs, bytes + virtualBytes, nil
}
