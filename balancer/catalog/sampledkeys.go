package catalog

import "slices"

// SampledKeysIn returns the sampled keys from a lower bound on, and before an upper bound.
func (c *CollectionState) SampledKeysIn(lower, upper Key) []Key {
	from, _ := slices.BinarySearchFunc(c.Sampled, lower, Key.Compare)
	until, _ := slices.BinarySearchFunc(c.Sampled, upper, Key.Compare)
	return c.Sampled[from:max(from, until)]
}

// KnowsKeyDistribution reports whether it is known where inside its chunks a collection's documents
// lie: by a sample, or since hashes lie evenly.
func (c *CollectionState) KnowsKeyDistribution() bool {
	return len(c.Sampled) > 0 || c.Pattern.HashedField() == 0
}
