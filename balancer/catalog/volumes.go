package catalog

import (
	"math"
	"slices"
)

// Volumes track the free space of shards' volumes below a limit while data move. The files
// of a collection grow with what arrives, and never become smaller: what is deleted leaves
// room in them for data of the same collection on the same shard, and for nothing else.
type Volumes struct {
	shards    map[ShardID]int
	colls     map[string]int
	ratios    []float64 // by collection
	known     []bool    // by shard
	freeBytes []int64   // bytes below the limit beside all files; negative above it
	// usedBytes is what files hold, orphans included, file how large they are: by collection,
	// and in it by shard.
	usedBytes, fileBytes []int64
}

// emptyFileBytes is what a collection with its indexes takes on a shard that has none of it.
const emptyFileBytes = 32 << 10

// NewVolumes returns the volumes of a Snapshot with a limit, which is a share of each of them.
func NewVolumes(s *Snapshot, limit float64) *Volumes {
	v := &Volumes{shards: map[ShardID]int{}, colls: map[string]int{}}
	for i, shard := range s.Shards() {
		v.shards[shard.ID] = i
		v.known = append(v.known, shard.Disk.Known())
		v.freeBytes = append(v.freeBytes, shard.Disk.FreeBelow(limit))
	}
	for _, c := range s.Collections() {
		v.colls[c.Namespace] = len(v.ratios)
		v.ratios = append(v.ratios, c.DiskRatio())
		live, file := make([]int64, len(v.known)), make([]int64, len(v.known))
		for id, data := range c.Sizes {
			if i, there := v.shards[id]; there {
				live[i], file[i] = data.onDisk(c.DiskRatio())
			}
		}
		v.usedBytes, v.fileBytes = append(v.usedBytes, live...), append(v.fileBytes, file...)
	}
	return v
}

// DiskRatio is how many bytes on disk, indexes included, the shards have for a byte of the
// collection's data; 1 where they were not asked.
func (c *CollectionState) DiskRatio() float64 {
	var onDisk, data int64
	for _, d := range c.Sizes {
		if d.Stored > 0 {
			onDisk += max(0, d.Stored-d.Reusable) + d.IndexBytes
			data += d.Bytes + d.OrphanBytes
		}
	}
	if data <= 0 || onDisk <= 0 {
		return 1
	}
	return float64(onDisk) / float64(data)
}

// onDisk returns what the files of a collection hold, and how large they are.
func (d ShardData) onDisk(ratio float64) (live, file int64) {
	if d.Stored > 0 {
		file = d.Stored + d.IndexBytes
		return file - min(d.Reusable, file), file
	}
	live = scaleBytes(d.Bytes+d.OrphanBytes, ratio)
	return live, live
}

func scaleBytes(bytes int64, ratio float64) int64 { return int64(math.Ceil(ratio * float64(bytes))) }

// locate returns the places of a shard and of a collection's file there.
func (v *Volumes) locate(ns string, id ShardID) (shard, file int, ok bool) {
	shard, there := v.shards[id]
	coll, known := v.colls[ns]
	return shard, coll*len(v.known) + shard, there && known
}

// IsKnown reports whether the size of a shard's volume is known.
func (v *Volumes) IsKnown(id ShardID) bool {
	i, there := v.shards[id]
	return there && v.known[i]
}

// OnDisk returns what data of a collection take on disk.
func (v *Volumes) OnDisk(ns string, bytes int64) int64 {
	coll, known := v.colls[ns]
	if !known {
		return bytes
	}
	return scaleBytes(bytes, v.ratios[coll])
}

// fileGrowth returns by how many bytes a collection's files on a shard grow when it receives data.
func (v *Volumes) fileGrowth(ns string, file int, bytes int64) int64 {
	need := v.usedBytes[file] + v.OnDisk(ns, bytes)
	if v.fileBytes[file] == 0 {
		need += emptyFileBytes
	}
	return max(0, need-v.fileBytes[file])
}

// WouldGrow reports whether data of a collection that arrive on a shard need more than its files
// have free.
func (v *Volumes) WouldGrow(ns string, to ShardID, bytes int64) bool {
	_, file, ok := v.locate(ns, to)
	return ok && v.fileGrowth(ns, file, bytes) > 0
}

// MissingBytes returns how many bytes on disk a shard lacks for data of a collection: none where it
// has room for them, MaxInt64 where its volume is not known.
func (v *Volumes) MissingBytes(ns string, to ShardID, bytes int64) int64 {
	shard, file, ok := v.locate(ns, to)
	if !ok || !v.known[shard] {
		return math.MaxInt64
	}
	grows := v.fileGrowth(ns, file, bytes)
	if grows == 0 {
		return 0
	}
	return max(0, grows-v.freeBytes[shard])
}

// AddData accounts for data of a collection that a shard receives.
func (v *Volumes) AddData(ns string, to ShardID, bytes int64) {
	shard, file, ok := v.locate(ns, to)
	if !ok {
		return
	}
	grows := v.fileGrowth(ns, file, bytes)
	if v.fileBytes[file] == 0 {
		v.usedBytes[file] += emptyFileBytes
	}
	v.usedBytes[file] += v.OnDisk(ns, bytes)
	v.fileBytes[file] += grows
	v.freeBytes[shard] -= grows
}

// RemoveData has a shard delete data of a collection. Its files stay as large as they are.
func (v *Volumes) RemoveData(ns string, of ShardID, bytes int64) {
	if _, file, ok := v.locate(ns, of); ok {
		v.usedBytes[file] = max(0, v.usedBytes[file]-v.OnDisk(ns, bytes))
	}
}

// FreeBytes returns how many bytes the volume of a shard has below the limit; negative above it.
func (v *Volumes) FreeBytes(id ShardID) int64 {
	i, there := v.shards[id]
	if !there {
		return 0
	}
	return v.freeBytes[i]
}

// NotLargerThan reports whether no file is larger than it is in other Volumes of the same cluster
// and limit.
func (v *Volumes) NotLargerThan(w *Volumes) bool {
	for i, size := range v.fileBytes {
		if size > w.fileBytes[i] {
			return false
		}
	}
	return true
}

// Clone returns a copy that changes by itself.
func (v *Volumes) Clone() *Volumes {
	w := *v
	w.freeBytes, w.usedBytes, w.fileBytes = slices.Clone(v.freeBytes), slices.Clone(v.usedBytes), slices.Clone(v.fileBytes)
	return &w
}
