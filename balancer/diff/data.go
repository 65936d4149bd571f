package diff

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// ShardData is the data of a shard in both snapshots, for the collections whose sizes are in both.
type ShardData struct {
	Shard catalog.ShardID `json:"shard"`
	Old   Amount          `json:"old"`
	New   Amount          `json:"new"`
}

// CollectionData is the data of a sharded collection on all shards.
type CollectionData struct {
	Namespace string `json:"ns"`
	Old       Amount `json:"old"`
	New       Amount `json:"new"`
}

// Amount is an amount of data: owned data, and orphaned documents.
type Amount struct {
	Bytes     int64 `json:"bytes"`
	Documents int64 `json:"documents"`
	Orphans   int64 `json:"orphans"`
}

func (a *Amount) add(d catalog.ShardData) {
	a.Bytes += d.Bytes
	a.Documents += d.Documents
	a.Orphans += d.Orphans
}

// compareData compares the amounts of data. Sizes of a collection that are missing in one snapshot are
// left out in both.
func (d *differ) compareData() {
	if !d.checkBothHave("sizes", "") {
		return
	}
	was, is := d.withKnownSizes(d.old.Collections), d.withKnownSizes(d.new.Collections)
	shards := map[catalog.ShardID]*ShardData{}
	of := func(id catalog.ShardID) *ShardData {
		if shards[id] == nil {
			shards[id] = &ShardData{Shard: id}
		}
		return shards[id]
	}
	pairs, names := pairByName(was, is, func(c **catalog.CollectionState) string { return (*c).Namespace })
	for i, p := range pairs {
		total := CollectionData{Namespace: names[i]}
		for id, data := range sizesOf(p.old) {
			of(id).Old.add(data)
			total.Old.add(data)
		}
		for id, data := range sizesOf(p.new) {
			of(id).New.add(data)
			total.New.add(data)
		}
		if total.Old != total.New {
			d.result.MostChanged = append(d.result.MostChanged, total)
		}
	}
	d.addUnsharded(func(u catalog.UnshardedData) { of(u.Shard).Old.Bytes += u.Bytes },
		func(u catalog.UnshardedData) { of(u.Shard).New.Bytes += u.Bytes })
	for _, s := range shards {
		if s.Old != s.New {
			d.result.Data = append(d.result.Data, *s)
		}
	}
	slices.SortFunc(d.result.Data, func(a, b ShardData) int { return cmp.Compare(a.Shard, b.Shard) })
	slices.SortFunc(d.result.MostChanged, func(a, b CollectionData) int {
		return cmp.Or(cmp.Compare(byteChange(b), byteChange(a)), cmp.Compare(a.Namespace, b.Namespace))
	})
}

func byteChange(c CollectionData) int64 { return max(c.New.Bytes-c.Old.Bytes, c.Old.Bytes-c.New.Bytes) }

func sizesOf(c **catalog.CollectionState) map[catalog.ShardID]catalog.ShardData {
	if c == nil {
		return nil
	}
	return (*c).Sizes
}

// withKnownSizes returns the collections whose sizes are in both snapshots, and those that only one
// snapshot has.
func (d *differ) withKnownSizes(list []*catalog.CollectionState) (known []*catalog.CollectionState) {
	for _, c := range list {
		was, is := d.collectionNamed(d.oldSnapshot, c.Namespace), d.collectionNamed(d.newSnapshot, c.Namespace)
		if d.checkBothHave("sizes", c.Namespace) && (was == nil || is == nil || was.Sizes == nil == (is.Sizes == nil)) {
			known = append(known, c)
		}
	}
	return known
}

// addUnsharded adds the unsharded data, where both snapshots have it.
func (d *differ) addUnsharded(older, newer func(catalog.UnshardedData)) {
	if d.old.Unsharded == nil || d.new.Unsharded == nil || !d.checkBothHave("unsharded data", "") {
		return
	}
	for _, u := range d.old.Unsharded {
		older(u)
	}
	for _, u := range d.new.Unsharded {
		newer(u)
	}
}
