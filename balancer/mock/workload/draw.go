package workload

import (
	"math"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Operation is one that the workload makes.
type Operation struct {
	Command string // find, insert, update, delete
	Key     catalog.Key
	// Filter asks for the key; that of a scattered read asks for none. Of an insert it is the
	// document, but for its _id.
	Filter  bson.Raw
	Scatter bool
}

// IsWrite reports whether it changes something.
func (o Operation) IsWrite() bool { return o.Command != "find" }

// Draw returns an operation of a time. The bound is that of the last chunk, where keys that
// only grow go.
func (w *Workload) Draw(at time.Time, last catalog.Key) Operation {
	u := w.rand.Float64() * w.Mix.Sum()
	for _, part := range []struct {
		command string
		of      float64
	}{{"find", w.Mix.Reads}, {"insert", w.Mix.Inserts}, {"update", w.Mix.Updates}, {"delete", w.Mix.Deletes}} {
		if u -= part.of; u < 0 {
			return w.newOperation(part.command, at, last)
		}
	}
	return w.newOperation("find", at, last)
}

// DrawInsert returns an insert.
func (w *Workload) DrawInsert(at time.Time, last catalog.Key) Operation {
	return w.newOperation("insert", at, last)
}

func (w *Workload) newOperation(command string, at time.Time, last catalog.Key) Operation {
	if command == "find" && w.rand.Float64() < w.Scatter {
		return Operation{Command: command, Filter: bson.Raw{5, 0, 0, 0, 0}, Scatter: true}
	}
	k := w.draw(at)
	if command == "insert" && w.isGrowing() {
		w.newest++
		k = w.latestKey(last)
	}
	return Operation{Command: command, Key: k.key, Filter: k.filter}
}

// isGrowing reports whether new keys are above all others.
func (w *Workload) isGrowing() bool {
	return w.distribution.name == "latest" && w.pattern.HashedField() < 0
}

// Counts are operations.
type Counts struct{ Reads, Inserts, Updates, Deletes float64 }

// Expected returns how many operations a second each chunk has at a time, in the order of the
// table; and the scattered reads, which each shard has.
func (w *Workload) Expected(t *catalog.RoutingTable, at time.Time) (chunks []Counts, scattered float64) {
	chunks = make([]Counts, t.Len())
	rate, mix, shift := w.RateAt(at), w.Mix, w.hotShift(at)
	each := rate / mix.Sum()
	scattered = mix.Reads * each * w.Scatter
	total := w.sums[len(w.sums)-1]
	for i, weight := range w.weights {
		c := &chunks[t.IndexOf(w.keys[(i+shift)%len(w.keys)].key)]
		part := weight / total * each
		c.Reads += mix.Reads * (1 - w.Scatter) * part
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

// Poisson draws a number from the Poisson distribution with this mean.
func Poisson(r *rand.Rand, mean float64) int64 {
	if mean <= 0 {
		return 0
	}
	if mean > 50 { // then it is nearly normal
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	limit, p, n := math.Exp(-mean), 1.0, int64(0)
	for p > limit {
		p *= r.Float64()
		n++
	}
	return n - 1
}
