package runner

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"shardsh/balancer/catalog"
)

// disks is what a run with a disk limit has read about volumes and files.
type disks struct {
	volumes *catalog.Volumes                    // of the current round
	files   map[string]*catalog.CollectionState // nil before the first read
	changed map[string]bool                     // collections of which chunks have moved since their files were read
}

// maxFileCollections is the number of collections whose files are read at the beginning. The data of other
// collections count with their uncompressed size, and their files have no reusable space.
const maxFileCollections = 100

// readDisks reads the free space of shards. It reads the volumes in each round, and the files only of
// collections of which chunks have moved.
func (r *run) readDisks(ctx context.Context) error {
	if r.o.DiskLimit == 0 {
		return nil
	}
	r.mu.Lock()
	names := slices.Sorted(maps.Keys(r.disks.changed))
	if r.disks.files == nil {
		names = r.namespaces[:min(len(r.namespaces), maxFileCollections)]
	}
	r.disks.changed = nil // what moves from now on is read in the next round
	r.mu.Unlock()
	s, err := r.o.ReadVolumes(ctx, names)
	if err != nil {
		for _, ns := range names {
			r.markFilesStale(ns)
		}
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.disks.files == nil {
		r.disks.files = map[string]*catalog.CollectionState{}
	}
	for _, c := range s.Collections() {
		r.disks.files[c.Namespace] = c
	}
	parts := s.Parts()
	parts.Collections = nil
	for _, ns := range r.namespaces {
		c := r.disks.files[ns]
		if c == nil {
			c = &catalog.CollectionState{Collection: catalog.Collection{Namespace: ns}}
		}
		parts.Collections = append(parts.Collections, c)
	}
	r.disks.volumes = catalog.NewVolumes(catalog.NewSnapshot(parts), r.o.DiskLimit)
	return nil
}

// markFilesStale records that chunks of a collection have moved, so that the sizes of its files are read again.
func (r *run) markFilesStale(ns string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.disks.changed == nil {
		r.disks.changed = map[string]bool{}
	}
	r.disks.changed[ns] = true
}

// roomCheck returns the function with which the engine checks whether a chunk fits on a shard; nil
// without a disk limit.
func (r *run) roomCheck() func(ns string, to catalog.ShardID, c catalog.Chunk) bool {
	if r.o.DiskLimit == 0 {
		return nil
	}
	return func(ns string, to catalog.ShardID, c catalog.Chunk) bool {
		size := r.settings.MaxChunkSizeBytes
		r.mu.Lock()
		volumes, read := r.disks.volumes, r.round.catalog
		r.mu.Unlock()
		if read != nil {
			size = read.Routings[ns].Collection.ChunkSize(r.settings)
		}
		return volumes != nil && volumes.MissingBytes(ns, to, r.maxChunkMove(ns, c.Shard, size)) == 0
	}
}

// maxChunkMove returns the maximum number of bytes that the migration of a chunk brings to the
// recipient. A migration refuses more than two chunk sizes, and the donor cannot send more than it has
// of the collection.
func (r *run) maxChunkMove(ns string, from catalog.ShardID, chunkSize int64) int64 {
	if r.o.DiskLimit == 0 {
		return 0
	}
	most := 2 * cmp.Or(chunkSize, catalog.DefaultMaxChunkSizeBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if has, known := r.round.sizes[ns][from]; known && r.o.Goal != GoalOps {
		return min(most, has)
	}
	return most
}
