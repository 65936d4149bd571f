package sampling

import (
	"math/rand/v2"
	"time"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/workload"
)

// RecordWorkload samples the operations of a workload, at the rate of the analyzer or fewer if there are
// not enough operations.
func (all Analyzers) RecordWorkload(r *rand.Rand, w mock.Work) {
	a := all.Active(w.Namespace)
	if a == nil || w.SampleableRate <= 0 {
		return
	}
	n := workload.Poisson(r, min(a.PerSecond, w.SampleableRate)*w.To.Sub(w.From).Seconds())
	for range min(n, maxSamples) {
		op, at := w.Draw()
		a.add(workloadQuery(w.Namespace, op, at))
	}
}

func workloadQuery(ns string, op workload.Operation, at time.Time) Query {
	compiled, err := filter.Compile(op.FilterOrDocument)
	if err != nil {
		compiled = nil
	}
	q := Query{command: op.Command, filter: compiled, multi: op.Command == "find", at: at}
	if op.Command == "update" {
		q.changed = []string{"seen"}
	}
	q.cmdDoc = newCmdDoc(ns, op.Command, op.FilterOrDocument, writeStatement{multi: q.multi, update: workloadUpdate(at)})
	return q
}
