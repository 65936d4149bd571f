package workload

import (
	"math"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/document"
)

// Operation is an operation of the workload.
type Operation struct {
	Command string // find, insert, update, delete
	Key     catalog.Key
	// FilterOrDocument is the filter on the key; empty for a scattered read. For an insert it is the document
	// without its _id.
	FilterOrDocument bson.Raw
	Scatter          bool
}

// IsWrite reports whether the operation is a write.
func (o Operation) IsWrite() bool { return o.Command != "find" }

// Draw returns a random operation at a time. lastChunkMin is the lower bound of the last chunk, after which
// ascending keys are inserted.
func (w *Workload) Draw(at time.Time, lastChunkMin catalog.Key) Operation {
	u := w.rand.Float64() * w.Mix.Sum()
	for _, part := range []struct {
		command string
		of      float64
	}{{"find", w.Mix.Reads}, {"insert", w.Mix.Inserts}, {"update", w.Mix.Updates}, {"delete", w.Mix.Deletes}} {
		if u -= part.of; u < 0 {
			return w.newOperation(part.command, at, lastChunkMin)
		}
	}
	return w.newOperation("find", at, lastChunkMin)
}

// DrawInsert returns an insert.
func (w *Workload) DrawInsert(at time.Time, lastChunkMin catalog.Key) Operation {
	return w.newOperation("insert", at, lastChunkMin)
}

func (w *Workload) newOperation(command string, at time.Time, lastChunkMin catalog.Key) Operation {
	if command == "find" && w.rand.Float64() < w.ScatterShare {
		return Operation{Command: command, FilterOrDocument: document.Empty, Scatter: true}
	}
	k := w.draw(at)
	if command == "insert" && w.isGrowing() {
		w.insertedDocs++
		k = w.latestKey(lastChunkMin)
	}
	return Operation{Command: command, Key: k.key, FilterOrDocument: k.filter}
}

// isGrowing reports whether new keys are greater than all existing keys.
func (w *Workload) isGrowing() bool {
	return w.distribution.name == "latest" && w.pattern.HashedField() < 0
}

// Counts are numbers of operations by kind.
type Counts struct{ Reads, Inserts, Updates, Deletes float64 }

// ExpectedRates returns the number of operations per second of each chunk at a time, in the order of the
// table, and the number of scattered reads, which every shard receives.
func (w *Workload) ExpectedRates(t *catalog.RoutingTable, at time.Time) (chunks []Counts, scattered float64) {
	chunks = make([]Counts, t.Len())
	rate, mix, shift := w.RateAt(at), w.Mix, w.hotShift(at)
	each := rate / mix.Sum()
	scattered = mix.Reads * each * w.ScatterShare
	total := w.cumulativeWeights[len(w.cumulativeWeights)-1]
	for i, weight := range w.weights {
		c := &chunks[t.IndexOf(w.keys[(i+shift)%len(w.keys)].key)]
		part := weight / total * each
		c.Reads += mix.Reads * (1 - w.ScatterShare) * part
		c.Updates += mix.Updates * part
		c.Deletes += mix.Deletes * part
		if !w.isGrowing() {
			c.Inserts += mix.Inserts * part
		}
	}
	if w.isGrowing() {
		chunks[len(chunks)-1].Inserts += mix.Inserts * each
	}
	return chunks, scattered
}

// Poisson returns a random number of the Poisson distribution with the given mean.
func Poisson(r *rand.Rand, mean float64) int64 {
	if mean <= 0 {
		return 0
	}
	if mean > 50 { // approximately a normal distribution
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	limit, p, n := math.Exp(-mean), 1.0, int64(0)
	for p > limit {
		p *= r.Float64()
		n++
	}
	return n - 1
}
