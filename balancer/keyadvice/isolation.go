package keyadvice

import (
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Scores of a query by how many shards it reaches: 1 for one shard, 0 for all.
const (
	oneShardScore   = 1.0
	someShardsScore = 0.97 // values of the first fields of a key that fit in a chunk
	rangeScore      = 0.6  // a range of the first field
	scatterLoss     = 0.6  // of someShardsScore, if the values are on all shards
	rangeRecovery   = 0.8  // of the scatterLoss, if the query has a range of the next field
)

// guessQueries derives queries from the indexes if there is no better source. Half of them compare all
// fields with a value, half request a range of the last field. If the last field follows the insertion
// order, all of them request a range, because times are usually queried by range. An index that is used
// often has more weight. The _id index has less weight, because every collection has it.
func guessQueries(indexes []Index, t *sampleTable) []Query {
	var list []Query
	counting := slices.ContainsFunc(indexes, func(x Index) bool { return x.UseCount > 0 })
	for _, x := range indexes {
		names, weight := x.ShardKeyFields(), 1.0
		if counting {
			weight = float64(max(x.UseCount, 0))
		}
		isID := len(names) == 1 && names[0] == "_id"
		if isID && len(indexes) > 1 && !counting {
			weight = idIndexWeight
		}
		switch {
		case len(names) == 0 || weight == 0:
		case isID, isHashed(x.Key):
			list = append(list, Query{Equal: names, Weight: weight})
		default:
			last := len(names) - 1
			ranged := Query{Equal: names[:last], Range: names[last:], Weight: weight}
			if !(math.Abs(t.correlation(nil, names[last])) >= MinMonotonicCorrelation) {
				ranged.Weight /= 2
				list = append(list, Query{Equal: names, Weight: weight / 2})
			}
			list = append(list, ranged)
		}
	}
	return list
}

// idIndexWeight is the weight of the _id index relative to other indexes.
const idIndexWeight = 0.25

func isHashed(key bson.Raw) bool {
	elements, _ := key.Elements()
	return slices.ContainsFunc(elements, func(e bson.RawElement) bool {
		text, _ := e.Value().StringValueOK()
		return text == "hashed"
	})
}

// isolation returns the mean isolation of the queries with a key, and the shares of the queries that go
// to one shard, to several, and to all.
func (j *judge) isolation(k ShardKey) (mean, single, several, every float64) {
	if d := j.facts.Measurements[k.String()].QueryDistribution; d.Queries > 0 && j.facts.QueriesFrom != QueriesGiven {
		shards := float64(j.facts.shards())
		part := j.partialScore(max(1, min(shards*d.RangesPercent/100, shards)))
		return d.SingleShardShare*oneShardScore + d.MultiShardShare*part, d.SingleShardShare, d.MultiShardShare,
			d.ScatterGatherShare
	}
	var sum float64
	for _, q := range j.queries {
		to := j.queryScore(q, k)
		sum += q.Weight
		mean += to * q.Weight
		switch to {
		case oneShardScore:
			single += q.Weight
		case 0:
			every += q.Weight
		default:
			several += q.Weight
		}
	}
	if sum == 0 {
		return math.NaN(), 0, 0, 0
	}
	return mean / sum, single / sum, several / sum, every / sum
}

// partialScore returns the isolation of queries that reach so many shards on average.
func (j *judge) partialScore(reached float64) float64 {
	return someShardsScore - scatterLoss*(reached-1)/float64(j.facts.shards()-1)
}

// queryScore rates how few shards a query reaches with a key.
func (j *judge) queryScore(q Query, k ShardKey) float64 {
	n := 0
	for n < len(k) && slices.Contains(q.Equal, k[n].Name) {
		n++
	}
	ranged := n < len(k) && !k[n].Hashed && slices.Contains(q.Range, k[n].Name)
	switch {
	case n == len(k):
		return oneShardScore
	case n == 0 && ranged:
		return rangeScore
	case n == 0:
		return 0
	}
	chunks := j.table.counts(k[:n].Names()).expectedShare() * float64(j.facts.ratedBytes()) / float64(j.facts.ChunkBytes)
	to := j.partialScore(max(1, min(chunks, float64(j.facts.shards()))))
	if ranged {
		to += (someShardsScore - to) * rangeRecovery
	}
	return to
}
