package catalog

import "slices"

// SampledKeysIn returns the sampled keys from a lower bound on, and before an upper bound.
func (c *CollectionState) SampledKeysIn(lower, upper Key) []Key {
	from, _ := slices.BinarySearchFunc(c.Sampled, lower, Key.Compare)
	until, _ := slices.BinarySearchFunc(c.Sampled, upper, Key.Compare)
	return c.Sampled[from:max(from, until)]
}

// KnowsKeyDistribution reports whether the distribution of a collection's documents inside its chunks
// is known: from a sample, or because hashes are evenly distributed.
func (c *CollectionState) KnowsKeyDistribution() bool {
	return len(c.Sampled) > 0 || c.Pattern.HashedField() == 0
}
