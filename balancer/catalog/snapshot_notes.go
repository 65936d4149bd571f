package catalog

import "fmt"

// ConsistencyNotes returns the reasons why the chunks that were read may differ from those that the shards have.
// From the feature compatibility version 9.0 on, each shard stores the metadata of its chunks, and
// config.chunks is written in the same commit, but not at the same time.
func (s *Snapshot) ConsistencyNotes() []string {
	switch p := s.parts; {
	case p.Compatibility.MovesMetadataToShards():
		return []string{"the metadata of chunks are being copied to the shards: config.chunks, which was read, may differ " +
			"from what a shard has until setFeatureCompatibilityVersion has ended"}
	case p.Release.ShardsOwnMetadata() && len(p.Migrations) > 0:
		under := "a migration is"
		if n := len(p.Migrations); n > 1 {
			under = fmt.Sprintf("%d migrations are", n)
		}
		return []string{under + " under way, and shards keep the metadata of their chunks: config.chunks, which was read, " +
			"may be ahead of a shard until its commit has ended"}
	}
	return nil
}
