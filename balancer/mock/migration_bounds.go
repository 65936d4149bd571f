package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// requestedBounds are the bounds of a move request, one of which may be missing.
type requestedBounds struct {
	req     *MoveRequest
	parsed  boundKeys
	pattern catalog.KeyPattern
	table   *catalog.Draft
	local   *localCollection // the donor's collection
}

// boundError is the error for a bound that is not a shard key.
type boundError struct{ error }

// resolve returns the full keys of both bounds. It computes a missing bound and sets it in the request
// (rules/02-migration-and-metadata §5.8).
func (b requestedBounds) resolve() (min, max catalog.Key, err error) {
	if min, err = b.key(b.req.Min, b.parsed.min); err != nil {
		return min, max, b.refusalError(b.req.Min, err)
	}
	if max, err = b.key(b.req.Max, b.parsed.max); err != nil {
		return min, max, b.refusalError(b.req.Max, err)
	}
	switch {
	case b.req.Max == nil:
		max = b.table.FindWithoutHistory(min).Max
		if point, ok := b.local.splitPoint(b.pattern, min, max, b.req.MaxChunkSizeBytes, forward); ok {
			max = point
		}
		b.req.Max = b.pattern.Bound(max)
	case b.req.Min == nil:
		min = ChunkEndingAt(b.table.Table(), max).Min
		if point, ok := b.local.splitPoint(b.pattern, min, max, b.req.MaxChunkSizeBytes, backward); ok {
			min = point
		}
		b.req.Min = b.pattern.Bound(min)
	}
	return min, max, nil
}

// key returns a bound of the request as a key, zero if the bound is missing.
func (b requestedBounds) key(bound bson.Raw, known catalog.Key) (catalog.Key, error) {
	switch {
	case bound == nil:
		return catalog.Key{}, nil
	case !known.IsZero() && b.pattern.Equal(b.parsed.pattern):
		return known, nil
	default:
		return b.pattern.ParseKey(bound)
	}
}

// refusalError returns the error for a bound that is not a shard key. If the other bound is missing, the
// server finds the error during the index scan (rules/03-commands §1.3).
func (b requestedBounds) refusalError(bound bson.Raw, err error) error {
	names, fields := catalog.FieldNames(bound), b.pattern.Fields()
	switch {
	case b.req.Min != nil && b.req.Max != nil:
	case len(names) > len(fields):
		return mongoerr.New(mongoerr.KeyPatternShorterThanBound, "bound %s has more fields than the shard key %s", bound,
			b.pattern.Doc())
	case !slices.Equal(names, fields[:len(names)]):
		return mongoerr.New(mongoerr.BoundFieldMismatch, "bound %s is not a prefix of the shard key %s", bound,
			b.pattern.Doc())
	}
	return boundError{err}
}
