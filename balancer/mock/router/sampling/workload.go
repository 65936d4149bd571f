package sampling

import (
	"math/rand/v2"
	"time"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/workload"
)

// Work keeps what a sampler finds among the operations of a workload: so many a second as
// it was asked for, or all where there are fewer.
func (all Analyzers) Work(r *rand.Rand, w mock.Work) {
	a := all.Of(w.Namespace)
	if a == nil || w.Sampled <= 0 {
		return
	}
	n := workload.Poisson(r, min(a.PerSecond, w.Sampled)*w.To.Sub(w.From).Seconds())
	for range min(n, maxSamples) {
		op, at := w.Draw()
		a.add(ofWork(w.Namespace, op, at))
	}
}

func ofWork(ns string, op workload.Operation, at time.Time) Query {
	compiled, err := filter.Compile(op.Filter)
	if err != nil {
		compiled = nil
	}
	q := Query{command: op.Command, filter: compiled, multi: op.Command == "find", at: at}
	if op.Command == "update" {
		q.changed = []string{"seen"}
	}
	q.shown = shownQuery(ns, op.Command, op.Filter, statement{multi: q.multi, update: seen(at)})
	return q
}
