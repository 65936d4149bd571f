package sampling

import (
	"slices"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
)

// keyRanges is the number of ranges into which analyzeShardKey divides the keys.
const keyRanges = 100

// keyDistribution counts sampled queries by the number of shards that they would target with a shard
// key.
type keyDistribution struct {
	byCommand                           map[string]int64
	total                               int64
	oneShard, severalShards, everyShard int64
	byRange                             []int64
	keyUpdates                          int64
	singleWithoutKey                    int64
	multiWithoutKey                     int64
}

// Distribution returns the read and the write distribution of sampled queries.
func (all Analyzers) Distribution(cluster *mock.Cluster, ns string, key bson.Raw) (bson.D, error) {
	pattern, err := catalog.ParseKeyPattern(key)
	if err != nil {
		return nil, err
	}
	var samples []Query
	if a := all[ns]; a != nil {
		samples = a.Samples
	}
	reads, writes := &keyDistribution{byCommand: map[string]int64{}}, &keyDistribution{byCommand: map[string]int64{}}
	if len(samples) > 0 {
		bounds, err := cluster.Statistics().KeyRangeBounds(ns, key, keyRanges)
		if err != nil {
			return nil, err
		}
		reads.byRange, writes.byRange = make([]int64, len(bounds)+1), make([]int64, len(bounds)+1)
		for _, s := range samples {
			into := reads
			if s.IsWrite() {
				into = writes
			}
			into.add(s, pattern, bounds)
		}
	}
	write := writes.doc("Writes", "update", "delete", "findAndModify")
	if writes.total > 0 {
		write = append(write,
			bson.E{Key: "percentageOfShardKeyUpdates", Value: writes.percent(writes.keyUpdates)},
			bson.E{Key: "percentageOfSingleWritesWithoutShardKey", Value: writes.percent(writes.singleWithoutKey)},
			bson.E{Key: "percentageOfMultiWritesWithoutShardKey", Value: writes.percent(writes.multiWithoutKey)})
	}
	return bson.D{
		{Key: "readDistribution", Value: reads.doc("Reads", "find", "aggregate", "count", "distinct")},
		{Key: "writeDistribution", Value: write},
	}, nil
}

func (k *keyDistribution) add(q Query, p catalog.KeyPattern, bounds []catalog.Key) {
	k.total++
	k.byCommand[q.command]++
	ranges, bounded := store.ShardKeyRanges(q.filter, p.Doc())
	whole := q.filter.FixesWholeKey(p.Fields())
	switch {
	case whole:
		k.oneShard++
	case bounded:
		k.severalShards++
	default:
		k.everyShard++
		ranges = []store.ShardKeyRange{{}}
	}
	hit := make([]bool, len(k.byRange))
	for _, r := range ranges {
		first := sort.Search(len(bounds), func(i int) bool { return catalog.KeyFromBytes(r.From).Less(bounds[i]) })
		for i := first; i < len(hit) && (i == first || r.To == nil || bounds[i-1].Less(catalog.KeyFromBytes(r.To))); i++ {
			hit[i] = true
		}
	}
	for i, is := range hit {
		if is {
			k.byRange[i]++
		}
	}
	if slices.ContainsFunc(q.changed, func(name string) bool { return slices.Contains(p.Fields(), name) }) {
		k.keyUpdates++
	}
	if !whole && q.multi {
		k.multiWithoutKey++
	} else if !whole {
		k.singleWithoutKey++
	}
}

func (k *keyDistribution) percent(n int64) float64 { return float64(n) * 100 / float64(k.total) }

// doc returns the number of sampled queries and, if there are any, their distribution.
func (k *keyDistribution) doc(kind string, commands ...string) bson.D {
	size := bson.D{{Key: "total", Value: k.total}}
	for _, name := range commands {
		size = append(size, bson.E{Key: name, Value: k.byCommand[name]})
	}
	doc := bson.D{{Key: "sampleSize", Value: size}}
	if k.total == 0 {
		return doc
	}
	return append(doc,
		bson.E{Key: "percentageOfSingleShard" + kind, Value: k.percent(k.oneShard)},
		bson.E{Key: "percentageOfMultiShard" + kind, Value: k.percent(k.severalShards)},
		bson.E{Key: "percentageOfScatterGather" + kind, Value: k.percent(k.everyShard)},
		bson.E{Key: "num" + kind + "ByRange", Value: k.byRange})
}
