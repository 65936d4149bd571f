package catalog

import (
	"math"
	"slices"
)

// Volumes say what room the volumes of shards have below a limit while data move. The files
// of a collection grow with what arrives, and never become smaller: what is deleted leaves
// room in them for data of the same collection on the same shard, and for nothing else.
type Volumes struct {
	shards map[ShardID]int
	colls  map[string]int
	ratios []float64 // by collection
	known  []bool    // by shard
	room   []int64   // bytes below the limit beside all files; negative above it
	// live is what files hold, orphans included, file how large they are: by collection,
	// and in it by shard.
	live, file []int64
}

// emptyFiles is what a collection with its indexes takes on a shard that has none of it.
const emptyFiles = 32 << 10

// NewVolumes returns the volumes of a Snapshot with a limit, which is a share of each of them.
func NewVolumes(s *Snapshot, limit float64) *Volumes {
	v := &Volumes{shards: map[ShardID]int{}, colls: map[string]int{}}
	for i, shard := range s.Shards() {
		v.shards[shard.ID] = i
		v.known = append(v.known, shard.Disk.Known())
		v.room = append(v.room, shard.Disk.Room(limit))
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
		v.live, v.file = append(v.live, live...), append(v.file, file...)
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
	live = scaled(d.Bytes+d.OrphanBytes, ratio)
	return live, live
}

func scaled(bytes int64, ratio float64) int64 { return int64(math.Ceil(ratio * float64(bytes))) }

// at returns the places of a shard and of a collection's file there.
func (v *Volumes) at(ns string, id ShardID) (shard, file int, ok bool) {
	shard, there := v.shards[id]
	coll, known := v.colls[ns]
	return shard, coll*len(v.known) + shard, there && known
}

// Known reports whether the size of a shard's volume is known.
func (v *Volumes) Known(id ShardID) bool {
	i, there := v.shards[id]
	return there && v.known[i]
}

// OnDisk returns what data of a collection take on disk.
func (v *Volumes) OnDisk(ns string, bytes int64) int64 {
	coll, known := v.colls[ns]
	if !known {
		return bytes
	}
	return scaled(bytes, v.ratios[coll])
}

// grows returns by how much the volume of a shard fills when data of a collection arrive.
func (v *Volumes) grows(ns string, file int, bytes int64) int64 {
	need := v.live[file] + v.OnDisk(ns, bytes)
	if v.file[file] == 0 {
		need += emptyFiles
	}
	return max(0, need-v.file[file])
}

// Grows reports whether data of a collection that arrive on a shard need more than its files
// have free.
func (v *Volumes) Grows(ns string, to ShardID, bytes int64) bool {
	_, file, ok := v.at(ns, to)
	return ok && v.grows(ns, file, bytes) > 0
}

// Lacks returns how many bytes on disk a shard lacks for data of a collection: none where it
// has room for them, MaxInt64 where its volume is not known.
func (v *Volumes) Lacks(ns string, to ShardID, bytes int64) int64 {
	shard, file, ok := v.at(ns, to)
	if !ok || !v.known[shard] {
		return math.MaxInt64
	}
	grows := v.grows(ns, file, bytes)
	if grows == 0 {
		return 0
	}
	return max(0, grows-v.room[shard])
}

// Arrive has data of a collection come to a shard.
func (v *Volumes) Arrive(ns string, to ShardID, bytes int64) {
	shard, file, ok := v.at(ns, to)
	if !ok {
		return
	}
	grows := v.grows(ns, file, bytes)
	if v.file[file] == 0 {
		v.live[file] += emptyFiles
	}
	v.live[file] += v.OnDisk(ns, bytes)
	v.file[file] += grows
	v.room[shard] -= grows
}

// Delete has a shard delete data of a collection. Its files stay as large as they are.
func (v *Volumes) Delete(ns string, of ShardID, bytes int64) {
	if _, file, ok := v.at(ns, of); ok {
		v.live[file] = max(0, v.live[file]-v.OnDisk(ns, bytes))
	}
}

// Room returns how many bytes the volume of a shard has below the limit; negative above it.
func (v *Volumes) Room(id ShardID) int64 {
	i, there := v.shards[id]
	if !there {
		return 0
	}
	return v.room[i]
}

// NoLarger reports whether no file is larger than it is in other Volumes of the same cluster
// and limit.
func (v *Volumes) NoLarger(w *Volumes) bool {
	for i, size := range v.file {
		if size > w.file[i] {
			return false
		}
	}
	return true
}

// Clone returns a copy that changes by itself.
func (v *Volumes) Clone() *Volumes {
	w := *v
	w.room, w.live, w.file = slices.Clone(v.room), slices.Clone(v.live), slices.Clone(v.file)
	return &w
}
