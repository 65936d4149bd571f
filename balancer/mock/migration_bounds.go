package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// requestedBounds are the bounds that a move names, of which one may be left out.
type requestedBounds struct {
	req   *MoveRequest
	known boundKeys
	of    catalog.KeyPattern
	table *catalog.Draft
	local *localCollection // the donor's
}

// boundError is a bound that is not a shard key.
type boundError struct{ error }

// resolve returns full keys. It computes the bound that was left out, and puts it into the
// request (rules/02-migration-and-metadata §5.8).
func (b requestedBounds) resolve() (min, max catalog.Key, err error) {
	if min, err = b.key(b.req.Min, b.known.min); err != nil {
		return min, max, b.refuse(b.req.Min, err)
	}
	if max, err = b.key(b.req.Max, b.known.max); err != nil {
		return min, max, b.refuse(b.req.Max, err)
	}
	switch {
	case b.req.Max == nil:
		max = b.table.Place(min).Max
		if point, ok := b.local.splitPoint(b.of, min, max, b.req.MaxChunkSizeBytes, forward); ok {
			max = point
		}
		b.req.Max = b.of.Bound(max)
	case b.req.Min == nil:
		min = EndingAt(b.table.Table(), max).Min
		if point, ok := b.local.splitPoint(b.of, min, max, b.req.MaxChunkSizeBytes, backward); ok {
			min = point
		}
		b.req.Min = b.of.Bound(min)
	}
	return min, max, nil
}

// key returns a bound of the request as a key, zero for none.
func (b requestedBounds) key(bound bson.Raw, known catalog.Key) (catalog.Key, error) {
	switch {
	case bound == nil:
		return catalog.Key{}, nil
	case !known.IsZero() && b.of.Equal(b.known.of):
		return known, nil
	default:
		return b.of.Key(bound)
	}
}

// refuse returns the refusal of a bound that is not a shard key. Where the other one was to
// be computed, the walk along the index finds it first (rules/03-commands §1.3).
func (b requestedBounds) refuse(bound bson.Raw, err error) error {
	names, fields := fieldNames(bound), b.of.Fields()
	switch {
	case b.req.Min != nil && b.req.Max != nil:
	case len(names) > len(fields):
		return mongoerr.New(mongoerr.KeyPatternShorterThanBound, "bound %s has more fields than the shard key %s", bound,
			b.of.Doc())
	case !slices.Equal(names, fields[:len(names)]):
		return mongoerr.New(mongoerr.BoundFieldMismatch, "bound %s is not a prefix of the shard key %s", bound, b.of.Doc())
	}
	return boundError{err}
}
