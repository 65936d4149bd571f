package enginetest

import (
	"encoding/json"
	"math/rand/v2"

	"shardsh/balancer/catalog"
)

// object is a JSON object of a topology file.
type object map[string]any

// RandomTopology returns the topology of an unbalanced cluster: one to three collections, with zones
// whose bounds may lie inside chunks, draining shards, jumbo chunks, and collections with disabled
// balancing. All chunks of a collection on one shard have the same size, below or above the chunk size.
// In half of the collections, the sizes differ slightly by shard; in the others there are many ties,
// which are decided at random.
func RandomTopology(r *rand.Rand, release catalog.Release) string {
	shards := 3 + r.IntN(4)
	zones := []string{"A", "B"}[:r.IntN(3)]
	top := object{
		"settings":  object{"balancer": object{"stopped": true}},
		"databases": []object{{"name": "db", "primary": "s1"}},
	}
	var list []object
	for i := range shards {
		o := object{"id": "s" + string(rune('0'+i))}
		if len(zones) > 0 && (i < len(zones) || r.IntN(2) == 0) {
			o["zones"] = []string{zones[i%len(zones)]}
		}
		if i == shards-1 && r.IntN(3) == 0 {
			o["draining"] = true
		}
		list = append(list, o)
	}
	top["shards"] = list
	var colls []object
	for _, ns := range []string{"db.a", "db.b", "db.c"}[:1+r.IntN(3)] {
		colls = append(colls, randomCollection(r, ns, shards, zones, release))
	}
	top["collections"] = colls
	text, err := json.Marshal(top)
	if err != nil {
		panic(err) // all values can be marshaled
	}
	return string(text)
}

func randomCollection(r *rand.Rand, ns string, shards int, zones []string, release catalog.Release) object {
	n := 10 + r.IntN(50)
	documents := []int{20_000, 100_000, 160_000, 500_000}[r.IntN(4)] // of 1 KiB: up to 4 chunk sizes
	spread := 7_919 * r.IntN(2)
	jumbo := r.IntN(3) == 0
	var chunks []object
	for i := range n {
		shard := max(0, r.IntN(2*shards)-shards) // the first shard gets half of the chunks
		holds := documents + spread*shard
		o := object{"shard": "s" + string(rune('0'+shard)), "bytes": 1024 * holds, "docs": holds}
		if i < n-1 {
			o["max"] = object{"x": 1000 * (i + 1)}
		}
		if jumbo && r.IntN(8) == 0 {
			o["jumbo"] = true
		}
		chunks = append(chunks, o)
	}
	coll := object{"ns": ns, "key": object{"x": 1}, "chunks": chunks, "noBalance": r.IntN(8) == 0}
	if release.BalancesBySize() && r.IntN(2) == 0 {
		coll["chunkSizeMB"] = []int{64, 100, 256}[r.IntN(3)]
	}
	var ranges []object
	at := 0
	for _, zone := range zones {
		at += 1000 * r.IntN(5)
		if r.IntN(2) == 0 {
			at += 300
		}
		upper := at + 500*(1+r.IntN(20))
		ranges = append(ranges, object{"zone": zone, "min": object{"x": at}, "max": object{"x": upper}})
		at = upper
	}
	if r.IntN(2) == 0 && len(ranges) > 0 {
		coll["zones"] = ranges
	}
	return coll
}

// Releases returns the releases for tests of the balancer: each supported line, and the patches that
// differ. Tests with few random cases take the releases in this order, the most widely used first.
func Releases() []catalog.Release {
	return []catalog.Release{
		catalog.Release80.WithPatch(10), catalog.Release90, catalog.Release44, catalog.Release82.WithPatch(6),
		catalog.Release83, catalog.Release50, catalog.Release82.WithPatch(5), catalog.Release70,
		catalog.Release80.WithPatch(20), catalog.Release60,
	}
}
