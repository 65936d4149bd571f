package catalog

import "slices"

// SampledIn returns the sampled keys from a lower bound on, and before an upper bound.
func (c *CollectionState) SampledIn(lower, upper Key) []Key {
	from, _ := slices.BinarySearchFunc(c.Sampled, lower, Key.Compare)
	until, _ := slices.BinarySearchFunc(c.Sampled, upper, Key.Compare)
	return c.Sampled[from:max(from, until)]
}

// KnowsContents reports whether it is known where inside its chunks a collection's documents
// lie: by a sample, or since hashes lie evenly.
func (c *CollectionState) KnowsContents() bool {
	return len(c.Sampled) > 0 || c.Pattern.HashedField() == 0
}
