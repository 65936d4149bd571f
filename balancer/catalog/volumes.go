package catalog

import (
	"math"
	"slices"
)

// Volumes tracks the free space of shards' volumes below a limit while data move. The files of a
// collection grow when data arrive, and never shrink: deleted data leave free space in them, which only
// data of the same collection on the same shard can use.
type Volumes struct {
	shards    map[ShardID]int
	colls     map[string]int
	ratios    []float64 // by collection
	known     []bool    // by shard
	freeBytes []int64   // bytes below the limit, not counting files; negative above the limit
	// usedBytes is the amount of data in the files, including orphans, and fileBytes is the size of the
	// files: by collection, and within a collection by shard.
	usedBytes, fileBytes []int64
}

// emptyFileBytes is the size on disk of an empty collection with its indexes on a shard.
const emptyFileBytes = 32 << 10

// NewVolumes returns the volumes of a Snapshot with a limit, which is a fraction of each volume.
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
			if i, ok := v.shards[id]; ok {
				live[i], file[i] = data.dataAndFileBytes(c.DiskRatio())
			}
		}
		v.usedBytes, v.fileBytes = append(v.usedBytes, live...), append(v.fileBytes, file...)
	}
	return v
}

// DiskRatio returns the number of bytes on disk, including indexes, per byte of the collection's data;
// 1 if it was not read.
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

// dataAndFileBytes returns the amount of data in the files of a collection, and the size of the files.
func (d ShardData) dataAndFileBytes(ratio float64) (dataBytes, fileBytes int64) {
	if d.Stored > 0 {
		fileBytes = d.Stored + d.IndexBytes
		return fileBytes - min(d.Reusable, fileBytes), fileBytes
	}
	dataBytes = scaleBytes(d.Bytes+d.OrphanBytes, ratio)
	return dataBytes, dataBytes
}

func scaleBytes(bytes int64, ratio float64) int64 { return int64(math.Ceil(ratio * float64(bytes))) }

// locate returns the indexes of a shard and of a collection's file on the shard.
func (v *Volumes) locate(ns string, id ShardID) (shard, file int, ok bool) {
	shard, there := v.shards[id]
	coll, known := v.colls[ns]
	return shard, coll*len(v.known) + shard, there && known
}

// IsKnown reports whether the size of a shard's volume is known.
func (v *Volumes) IsKnown(id ShardID) bool {
	i, ok := v.shards[id]
	return ok && v.known[i]
}

// BytesOnDisk returns the number of bytes that data of a collection need on disk.
func (v *Volumes) BytesOnDisk(ns string, bytes int64) int64 {
	coll, known := v.colls[ns]
	if !known {
		return bytes
	}
	return scaleBytes(bytes, v.ratios[coll])
}

// fileGrowth returns the number of bytes by which a collection's files on a shard grow when the shard
// receives data.
func (v *Volumes) fileGrowth(ns string, file int, bytes int64) int64 {
	need := v.usedBytes[file] + v.BytesOnDisk(ns, bytes)
	if v.fileBytes[file] == 0 {
		need += emptyFileBytes
	}
	return max(0, need-v.fileBytes[file])
}

// WouldGrow reports whether data of a collection that a shard receives need more space than is free in
// the collection's files.
func (v *Volumes) WouldGrow(ns string, to ShardID, bytes int64) bool {
	_, file, ok := v.locate(ns, to)
	return ok && v.fileGrowth(ns, file, bytes) > 0
}

// MissingBytes returns the number of bytes that are missing on a shard's volume for data of a
// collection: 0 if there is room, MaxInt64 if the volume is not known.
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

// AddData adds data of a collection that a shard receives.
func (v *Volumes) AddData(ns string, to ShardID, bytes int64) {
	shard, file, ok := v.locate(ns, to)
	if !ok {
		return
	}
	grows := v.fileGrowth(ns, file, bytes)
	if v.fileBytes[file] == 0 {
		v.usedBytes[file] += emptyFileBytes
	}
	v.usedBytes[file] += v.BytesOnDisk(ns, bytes)
	v.fileBytes[file] += grows
	v.freeBytes[shard] -= grows
}

// RemoveData removes data of a collection from a shard. The files keep their size.
func (v *Volumes) RemoveData(ns string, of ShardID, bytes int64) {
	if _, file, ok := v.locate(ns, of); ok {
		v.usedBytes[file] = max(0, v.usedBytes[file]-v.BytesOnDisk(ns, bytes))
	}
}

// FreeBytes returns the number of bytes on the volume of a shard below the limit; negative above the
// limit.
func (v *Volumes) FreeBytes(id ShardID) int64 {
	i, ok := v.shards[id]
	if !ok {
		return 0
	}
	return v.freeBytes[i]
}

// FilesNotLargerThan reports whether every file is at most as large as in other Volumes of the same cluster
// and limit.
func (v *Volumes) FilesNotLargerThan(w *Volumes) bool {
	for i, size := range v.fileBytes {
		if size > w.fileBytes[i] {
			return false
		}
	}
	return true
}

// Clone returns an independent copy.
func (v *Volumes) Clone() *Volumes {
	w := *v
	w.freeBytes, w.usedBytes, w.fileBytes = slices.Clone(v.freeBytes), slices.Clone(v.usedBytes), slices.Clone(v.fileBytes)
	return &w
}
