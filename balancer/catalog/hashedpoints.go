package catalog

import (
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// HashedPoints returns the hashes that divide the range of hashes into n equal parts, in ascending
// order, as servers do for a new collection.
func HashedPoints(n int) []int64 {
	if n < 2 {
		return nil
	}
	step := 2 * (math.MaxInt64 / int64(n))
	var points []int64
	if n%2 == 0 {
		points = append(points, 0)
		for at := step; len(points) < n-1; at += step {
			points = append(points, at, -at)
		}
	} else {
		for at := step / 2; len(points) < n-1; at += step {
			points = append(points, at, -at)
		}
	}
	slices.Sort(points)
	return points
}

// HashedBound returns the bound with a hash in the hashed field and the values of a lower bound in the
// fields before it.
func (p KeyPattern) HashedBound(lower Key, point int64) (Key, error) {
	bound := bson.D{}
	values := lower.Values()
	for i, name := range p.Fields()[:p.HashedField()] {
		bound = append(bound, bson.E{Key: name, Value: values[i]})
	}
	raw, err := bson.Marshal(append(bound, bson.E{Key: p.Fields()[p.HashedField()], Value: point}))
	if err != nil {
		return Key{}, err
	}
	return p.ExtendBound(raw)
}
