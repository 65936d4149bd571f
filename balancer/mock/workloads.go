package mock

import (
	"math/rand/v2"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mock/workload"
	"shardsh/balancer/mongoerr"
)

// Workloads simulate the operations of applications. The operations are counted, and sampled on request,
// but not executed; only the collections grow.
type Workloads struct {
	*clusterSettings
	clock      *clock.Clock
	config     *ConfigDB
	ids        *ids.Source
	migrations *Migrations
	shards     shardSet

	list      []*runningWorkload
	scheduled bool
	// OnWork is called with the lock held for each period of a workload. It may draw as many operations
	// as it needs.
	OnWork func(Work)
}

// Work is the work of a workload in a period.
type Work struct {
	Namespace string
	From, To  time.Time
	Counts    map[catalog.ShardID]workload.Counts
	// SampleableRate is the number of operations per second that can be sampled, which excludes inserts.
	SampleableRate float64
	// Draw returns a random operation of the period and its time.
	Draw func() (workload.Operation, time.Time)
}

type runningWorkload struct {
	*workload.Workload
	rand      *rand.Rand
	doneUntil time.Time // time up to which the work is done
	// chunkRates and scatteredRate are the results of ExpectedRates. They are kept as long as neither
	// the table nor the time changes them.
	chunkRates    []workload.Counts
	scatteredRate float64
	table         *catalog.RoutingTable
	rate          float64
}

const (
	// workPeriod is the interval at which the work of workloads is computed.
	workPeriod = 10 * time.Second
	// maxRealInserts is the maximum number of actual documents that are inserted in a period.
	maxRealInserts = 20
	// Duration of an operation on an idle shard.
	readMicros, writeMicros = 400, 900
)

// Workloads returns the Workloads of the cluster.
func (c *Cluster) Workloads() *Workloads { return c.workloads }

// Start starts a workload and replaces the current workload of the collection.
func (ws *Workloads) Start(s workload.Spec) error {
	table := ws.config.Table(s.Namespace)
	if table == nil {
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", s.Namespace)
	}
	random := rand.New(rand.NewPCG(uint64(len(s.Namespace)), uint64(table.Len())))
	w, err := workload.New(s, table, random)
	if err != nil {
		return mongoerr.New(mongoerr.BadValue, "%v", err)
	}
	ws.Stop(s.Namespace)
	ws.list = append(ws.list, &runningWorkload{Workload: w, rand: random, doneUntil: ws.clock.Now()})
	ws.schedule()
	return nil
}

// Stop ends the workload of a collection.
func (ws *Workloads) Stop(ns string) {
	ws.CatchUp()
	ws.list = slices.DeleteFunc(ws.list, func(w *runningWorkload) bool { return w.Namespace == ns })
}

// List returns the running workloads.
func (ws *Workloads) List() (list []workload.Spec) {
	for _, w := range ws.list {
		list = append(list, w.Spec)
	}
	return list
}

func (ws *Workloads) schedule() {
	if ws.scheduled || len(ws.list) == 0 {
		return
	}
	ws.scheduled = true
	ws.clock.After(workPeriod, func() {
		ws.scheduled = false
		ws.CatchUp()
		ws.schedule()
	})
}

// CatchUp computes the work up to now.
func (ws *Workloads) CatchUp() {
	for _, w := range ws.list {
		from, to := w.doneUntil, ws.clock.Now()
		if table := ws.config.Table(w.Namespace); table != nil && from.Before(to) {
			ws.accountWork(w, table, from, to)
		}
		w.doneUntil = to
	}
}

func (ws *Workloads) accountWork(w *runningWorkload, table *catalog.RoutingTable, from, to time.Time) {
	if w.table != table || w.HotRangeDrift != "" {
		w.chunkRates, w.scatteredRate = w.ExpectedRates(table, to)
		w.table, w.rate = table, w.RateAt(to)
	}
	seconds := to.Sub(from).Seconds() * w.RateAt(to) / w.rate
	work := Work{Namespace: w.Namespace, From: from, To: to, Counts: map[catalog.ShardID]workload.Counts{}}
	n := func(perSecond float64) float64 { return float64(workload.Poisson(w.rand, perSecond*seconds)) }
	for _, id := range table.Owners() {
		work.Counts[id] = workload.Counts{Reads: n(w.scatteredRate)}
	}
	i := 0
	for chunk := range table.All() {
		of, sum := w.chunkRates[i], work.Counts[chunk.Shard]
		i++
		inserts, deletes := n(of.Inserts), n(of.Deletes)
		sum.Reads += n(of.Reads)
		sum.Updates += n(of.Updates)
		sum.Inserts, sum.Deletes = sum.Inserts+inserts, sum.Deletes+deletes
		work.Counts[chunk.Shard] = sum
		if local := ws.shards.collection(chunk.Shard, w.Namespace); local != nil {
			local.growVirtual(table.Pattern(), chunk, int64(inserts-deletes), w.DocumentBytes)
		}
	}
	for id, c := range work.Counts {
		if local := ws.shards.collection(id, w.Namespace); local != nil {
			reads, writes := int64(c.Reads), int64(c.Inserts+c.Updates+c.Deletes)
			local.queries, local.writtenDocs = local.queries+reads, local.writtenDocs+writes
			local.readMicros, local.writeMicros = local.readMicros+reads*readMicros, local.writeMicros+writes*writeMicros
		}
	}
	last := table.At(table.Len() - 1).Min
	work.SampleableRate = w.RateAt(to) * (1 - w.Mix.Inserts/w.Mix.Sum())
	work.Draw = func() (workload.Operation, time.Time) {
		at := from.Add(time.Duration(w.rand.Float64() * float64(to.Sub(from))))
		for {
			if op := w.Draw(at, last); op.Command != "insert" {
				return op, at
			}
		}
	}
	ws.insert(w, table, work, last)
	if ws.OnWork != nil {
		ws.OnWork(work)
	}
}

// insert inserts some of the new documents, with ObjectIds of their time, so that clients can read the
// newest ones.
func (ws *Workloads) insert(w *runningWorkload, table *catalog.RoutingTable, work Work, lastChunkMin catalog.Key) {
	var all float64
	for _, c := range work.Counts {
		all += c.Inserts
	}
	for range min(int(all), maxRealInserts) {
		doc, err := update.PrepareInsert(w.DrawInsert(work.To, lastChunkMin).FilterOrDocument, ws.ids.NewObjectID)
		if err != nil {
			return
		}
		key, err := table.Pattern().DocumentKey(doc)
		if err != nil {
			return
		}
		owner := ws.shards[table.ShardOf(key)]
		local := ws.shards.collection(table.ShardOf(key), w.Namespace)
		if local == nil || owner.down {
			continue
		}
		if _, err := local.docs.Insert(doc); err == nil {
			ws.migrations.noteWrite(owner, w.Namespace, nil, doc)
		}
	}
}

// growVirtual adds virtual documents to a chunk, or removes some if docs is negative.
func (l *localCollection) growVirtual(p catalog.KeyPattern, chunk catalog.Chunk, docs, docBytes int64) {
	if docs == 0 {
		return
	}
	all := virtualRange{min: chunk.Min, max: chunk.Max, docs: docs, bytes: docs * docBytes}
	for _, had := range l.virtual.cutOut(p, chunk.Min, chunk.Max) {
		all.docs, all.bytes = all.docs+had.docs, all.bytes+had.bytes
	}
	if all.docs > 0 && all.bytes > 0 {
		l.virtual.add(all)
	}
}
