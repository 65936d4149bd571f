package sim

import (
	"slices"

	"shardsh/balancer/catalog"
)

// computedBounds are the bounds that were computed from assumed chunk contents. The value holds the nearest
// known bounds on both sides.
type computedBounds map[catalog.Key][2]catalog.Key

// add records a computed point inside a chunk.
func (g computedBounds) add(point catalog.Key, chunk catalog.Chunk) {
	if _, known := g[point]; !known {
		g[point] = [2]catalog.Key{g.knownBound(chunk.Min, 0), g.knownBound(chunk.Max, 1)}
	}
}

func (g computedBounds) knownBound(k catalog.Key, side int) catalog.Key {
	if sides, guessed := g[k]; guessed {
		return sides[side]
	}
	return k
}

// knownBoundsAround returns the nearest known bounds around a range with computed bounds or points. It
// returns zero keys if none of them was computed.
func (coll *collection) knownBoundsAround(
	lower, upper catalog.Key,
	points []catalog.Key,
) (lowest, highest catalog.Key) {
	g := coll.computedBounds
	keys := append([]catalog.Key{lower, upper}, points...)
	if len(g) == 0 || !slices.ContainsFunc(keys, func(k catalog.Key) bool { _, ok := g[k]; return ok }) {
		return lowest, highest
	}
	lowest, highest = lower, upper
	for _, k := range keys {
		if sides, ok := g[k]; ok {
			lowest = slices.MinFunc([]catalog.Key{lowest, sides[0]}, catalog.Key.Compare)
			highest = slices.MaxFunc([]catalog.Key{highest, sides[1]}, catalog.Key.Compare)
		}
	}
	return lowest, highest
}
