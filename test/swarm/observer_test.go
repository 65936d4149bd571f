package swarm

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/test/swarm/trace"
)

// observer notes what changes in the catalog, whenever the cluster's lock is given back and
// before each of its events. It is called with that lock held.
type observer struct {
	world   *world
	written map[string]uint64 // of each collection of the config database
	tables  map[string]*catalog.RoutingTable
	entries map[[2]string]trace.Entry
	rounds  int64
	inRound bool
	tasks   map[deletion]bool
	ready   map[deletion]bool          // of the tasks
	waiting map[catalog.ShardID][2]int // tasks of each shard, and those that are not ready
	runs    bool                       // the balancer does
	cursors map[int]bool               // that are open
	movers  map[[3]string]string       // who has begun a migration of a collection, from and to a shard
}

// deletion is a range that waits for its deletion.
type deletion struct {
	shard    catalog.ShardID
	ns       string
	min, max trace.Bound
}

func newObserver(w *world) *observer {
	return &observer{
		world: w, written: map[string]uint64{}, tables: map[string]*catalog.RoutingTable{},
		entries: map[[2]string]trace.Entry{}, tasks: map[deletion]bool{}, ready: map[deletion]bool{},
		waiting: map[catalog.ShardID][2]int{}, movers: map[[3]string]string{}, cursors: map[int]bool{},
	}
}

// watch has the observer look from now on.
func (o *observer) watch() {
	c := o.world.cluster
	c.Lock()
	defer c.Unlock()
	o.look()
	c.ClockUnderLock().BeforeTimePasses = o.look
	c.Migrations().Watch(o.migration)
}

func (o *observer) look() {
	op := 0
	note := func(e trace.Event) {
		if op == 0 {
			op = o.world.newOp()
		}
		e.Kind, e.Op = trace.Catalog, op
		o.world.note(e)
	}
	o.lookAtEntries(note)
	o.lookAtTables(note)
	o.lookAtBalancer()
	o.lookAtCursors()
	o.lookAtDeletions()
}

// lookAtEntries notes what was written into the small collections.
func (o *observer) lookAtEntries(note func(trace.Event)) {
	config := o.world.cluster.ConfigDB()
	for _, kind := range []struct {
		of   string
		read func(bson.Raw) (trace.Entry, bool)
	}{{"shards", shardEntry}, {"collections", collectionEntry}, {"tags", tagEntry}, {"settings", settingEntry}} {
		of, read := kind.of, kind.read
		docs := config.Collection(of)
		if docs.Writes() == o.written[of] {
			continue
		}
		o.written[of] = docs.Writes()
		found := map[[2]string]trace.Entry{}
		for _, doc := range docs.Scan() {
			if e, ok := read(doc); ok {
				e.Collection = of
				found[[2]string{of, e.ID}] = e
			}
		}
		for _, id := range o.both(of, found) {
			now, there := found[id]
			if !there {
				now = trace.Entry{Collection: of, ID: id[1], Removed: true}
			}
			if before, known := o.entries[id]; known && sameEntry(before, now) {
				continue
			}
			if o.entries[id] = now; !there {
				delete(o.entries, id)
			}
			note(trace.Event{NS: "config." + of, Entry: &now})
		}
	}
}

// both returns the ids that there were or are, in order.
func (o *observer) both(of string, found map[[2]string]trace.Entry) (ids [][2]string) {
	for id := range found {
		ids = append(ids, id)
	}
	for id := range o.entries {
		if _, there := found[id]; id[0] == of && !there {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return ids
}

func sameEntry(a, b trace.Entry) bool {
	zones := slices.Equal(a.Zones, b.Zones)
	a.Zones, b.Zones = nil, nil
	return zones && a.Collection == b.Collection && a.ID == b.ID && a.UUID == b.UUID && a.Unsplittable == b.Unsplittable && a.NoBalance == b.NoBalance && a.NoMigrations == b.NoMigrations &&
		a.Draining == b.Draining && a.Zone == b.Zone && a.Min == b.Min && a.Max == b.Max && a.Mode == b.Mode && a.Removed == b.Removed
}

func shardEntry(doc bson.Raw) (e trace.Entry, ok bool) {
	s, err := catalog.ParseShard(doc)
	return trace.Entry{ID: string(s.ID), Draining: s.Draining, Zones: s.Zones}, err == nil
}

func collectionEntry(doc bson.Raw) (e trace.Entry, ok bool) {
	c, err := catalog.ParseCollection(doc)
	e = trace.Entry{
		ID: c.Namespace, UUID: fmt.Sprintf("%x", c.UUID.Data), Unsplittable: c.Unsplittable, NoBalance: c.NoBalance,
		NoMigrations: !c.AllowMigrations || !c.PermitMigrations,
	}
	dropped, _ := doc.Lookup("dropped").BooleanOK()
	return e, err == nil && !dropped
}

func tagEntry(doc bson.Raw) (e trace.Entry, ok bool) {
	e.UUID, _ = doc.Lookup("ns").StringValueOK()
	e.Zone, _ = doc.Lookup("tag").StringValueOK()
	min, max := boundIn(doc, "min"), boundIn(doc, "max")
	if min == nil || max == nil {
		return e, false
	}
	e.Min, e.Max = *min, *max
	e.ID = e.UUID + " " + min.String()
	return e, true
}

func settingEntry(doc bson.Raw) (e trace.Entry, ok bool) {
	e.ID, _ = doc.Lookup("_id").StringValueOK()
	e.Mode, _ = doc.Lookup("mode").StringValueOK()
	return e, e.ID == "balancer"
}

// lookAtTables notes which chunks have changed.
func (o *observer) lookAtTables(note func(trace.Event)) {
	config := o.world.cluster.ConfigDB()
	for _, ns := range o.world.watched() {
		table, before := config.Table(ns), o.tables[ns]
		if table == before {
			continue
		}
		o.tables[ns] = table
		was, is := chunksOf(before), chunksOf(table)
		for _, c := range was {
			if i := slices.IndexFunc(is, func(n trace.Chunk) bool { return n.Min == c.Min }); i < 0 {
				note(trace.Event{NS: ns, Before: &c})
			}
		}
		for _, c := range is {
			event := trace.Event{NS: ns, After: &c}
			if i := slices.IndexFunc(was, func(n trace.Chunk) bool { return n.Min == c.Min }); i >= 0 {
				if sameChunk(was[i], c) {
					continue
				}
				event.Before = &was[i]
			}
			note(event)
		}
	}
}

func sameChunk(a, b trace.Chunk) bool {
	same := slices.Equal(a.History, b.History)
	return same && a.Min == b.Min && a.Max == b.Max && a.Shard == b.Shard && a.Major == b.Major && a.Minor == b.Minor &&
		a.Epoch == b.Epoch && a.Jumbo == b.Jumbo && a.Since == b.Since
}

func chunksOf(t *catalog.RoutingTable) (list []trace.Chunk) {
	if t == nil {
		return nil
	}
	epoch := t.Epoch().Hex()
	for c := range t.All() {
		one := trace.Chunk{
			Min: bound(c.Min), Max: bound(c.Max), Shard: string(c.Shard), Major: c.Version.Major, Minor: c.Version.Minor,
			Jumbo: c.Jumbo == catalog.JumboTrue, Epoch: epoch, Since: stamp(c.OnCurrentShardSince),
		}
		for _, h := range c.History {
			one.History = append(one.History, trace.History{Shard: string(h.Shard), At: stamp(h.ValidAfter)})
		}
		list = append(list, one)
	}
	return list
}

func stamp(t bson.Timestamp) uint64 { return uint64(t.T)<<32 | uint64(t.I) }

func bound(k catalog.Key) trace.Bound {
	v := k.Values()[0]
	switch v.Type {
	case bson.TypeMinKey:
		return trace.MinKey
	case bson.TypeMaxKey:
		return trace.MaxKey
	}
	n, _ := v.AsInt64OK()
	return trace.Bound(n)
}

// lookAtBalancer notes when it begins and ends, and its rounds between.
func (o *observer) lookAtBalancer() {
	runs, event := o.world.cluster.Balancer().IsRunning(), trace.Event{Node: "config", Term: o.world.cluster.Term()}
	if event.Kind = trace.BalancerBegin; runs && !o.runs {
		o.world.note(event)
	}
	o.lookAtRounds()
	if event.Kind = trace.BalancerEnd; !runs && o.runs {
		o.world.note(event)
	}
	o.runs = runs
}

// lookAtCursors notes which cursors were opened, and which are open no more.
func (o *observer) lookAtCursors() {
	now := map[int]bool{}
	for _, c := range o.world.cluster.RangeDeleter().OpenCursors() {
		now[c.ID] = true
		if o.cursors[c.ID] {
			continue
		}
		e := trace.Event{Kind: trace.CursorOpen, Op: c.ID, NS: c.Namespace}
		for _, id := range c.Shards {
			e.Names = append(e.Names, string(id))
		}
		o.world.note(e)
	}
	for _, id := range slices.Sorted(maps.Keys(o.cursors)) {
		if !now[id] {
			o.world.note(trace.Event{Kind: trace.CursorEnd, Op: id})
		}
	}
	o.cursors = now
}

// lookAtRounds notes when rounds of the balancer begin and end.
func (o *observer) lookAtRounds() {
	b := o.world.cluster.Balancer()
	status := b.Status()
	event := trace.Event{Node: "config", Number: status.Rounds, Term: o.world.cluster.Term()}
	if o.inRound && (!status.InRound || status.Rounds != o.rounds) {
		o.inRound = false
		event.Kind = trace.RoundEnd
		o.world.note(event)
	}
	if !o.inRound && status.InRound {
		o.inRound = true
		event.Kind = trace.RoundBegin
		o.world.note(event)
	}
	o.rounds = status.Rounds
}

// lookAtDeletions notes ranges that wait for their deletion, are ready for it, or have been deleted.
func (o *observer) lookAtDeletions() {
	c := o.world.cluster
	for _, id := range c.ShardIDs() {
		n := [2]int{c.Statistics().RangeDeletionCount(id), c.Statistics().UnreadyDeletionCount(id)}
		if n == o.waiting[id] {
			continue
		}
		o.waiting[id] = n
		now, ready := map[deletion]bool{}, map[deletion]bool{}
		for _, t := range c.RangeDeleter().Tasks(id) {
			raw, err := bson.Marshal(bson.D{{Key: "min", Value: t.Min}, {Key: "max", Value: t.Max}})
			if err != nil {
				panic(err) // it is of documents
			}
			min, max := boundIn(raw, "min"), boundIn(raw, "max")
			if min != nil && max != nil { // those of the sessions have another key
				one := deletion{id, t.Namespace, *min, *max}
				now[one], ready[one] = true, !t.Pending
			}
		}
		o.tell(trace.RangeDone, id, o.tasks, now)
		o.tell(trace.RangeRegistered, id, now, o.tasks)
		maps.DeleteFunc(ready, func(t deletion, is bool) bool { return !is || o.ready[t] })
		o.tell(trace.RangeReady, id, ready, nil)
		for t := range o.tasks {
			if t.shard == id && !now[t] {
				delete(o.tasks, t)
				delete(o.ready, t)
			}
		}
		maps.Copy(o.tasks, now)
		maps.Copy(o.ready, ready)
	}
}

// tell notes the tasks of a shard that are in one set and not in the other, in order.
func (o *observer) tell(event string, id catalog.ShardID, in, not map[deletion]bool) {
	var list []deletion
	for t := range in {
		if t.shard == id && !not[t] {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b deletion) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.min, b.min), cmp.Compare(a.max, b.max))
	})
	for _, t := range list {
		o.world.note(trace.Event{Kind: event, Node: string(id), NS: t.ns, Min: &t.min, Max: &t.max})
	}
}

// migration notes what a migration has come to.
func (o *observer) migration(m mock.MigrationEvent) {
	o.look()
	e := trace.Event{Kind: "migration." + m.Name, Node: string(m.From), NS: m.Namespace, From: string(m.From), To: string(m.To)}
	doc := bson.D{{Key: "min", Value: m.Min}, {Key: "max", Value: m.Max}}
	if raw, err := bson.Marshal(doc); err == nil {
		e.Min, e.Max = boundIn(raw, "min"), boundIn(raw, "max")
	}
	e.By = o.mover(m, e.Min)
	if e.By == "balancer" {
		e.Reason, e.ChunkSize, e.Copied = string(m.Reason), m.MaxChunkSizeBytes, m.ClonedBytes
		e.Sizes = o.sizes(m)
	}
	o.world.note(e)
	o.world.events.happened(m.Name, place{m.Namespace, keyIn(e)})
}

// sizes are the bytes that the two shards of a migration own of its collection when it starts, where the
// release looks at them.
func (o *observer) sizes(m mock.MigrationEvent) []int64 {
	if m.Name != "start" || !o.world.scenario.Release.BalancesBySize() {
		return nil
	}
	of := o.world.cluster.Statistics().OwnedBytes(m.Namespace)
	return []int64{of[m.From], of[m.To]}
}

// mover returns who has begun a migration, which may go on when its command has ended.
func (o *observer) mover(m mock.MigrationEvent, min *trace.Bound) string {
	id := [3]string{m.Namespace, string(m.From), string(m.To)}
	by, known := o.movers[id]
	if !known || m.Name == "start" {
		by = cmp.Or(o.world.asking.mover(m.Namespace, min, string(m.To)), "balancer")
	}
	if o.movers[id] = by; m.Name == "done" || m.Name == "failed" {
		delete(o.movers, id)
	}
	return by
}

// keyIn returns the least key of a range that is a number, or one near its end.
func keyIn(e trace.Event) int64 {
	switch min, max := e.Range(); {
	case min != trace.MinKey:
		return int64(min)
	case max != trace.MaxKey:
		return int64(max) - 10
	}
	return 0
}

// lookAtLease notes who holds the lease, and what it names. The lock is held.
func (o *observer) lookAtLease(by string, last *leaseSeen) {
	now := leaseSeen{}
	var token bson.ObjectID
	for doc := range o.world.cluster.Documents(live.LeaseDatabase+"."+live.LeaseCollection, nil) {
		if ns, ok := doc.Lookup("_id", "paused").StringValueOK(); ok {
			now.paused = append(now.paused, ns)
		}
		if id, ok := doc.Lookup("_id").StringValueOK(); ok && id == "engine" {
			token, _ = doc.Lookup("token").ObjectIDOK()
			now.token = token.Hex()
			now.fence, _ = doc.Lookup("fence").AsInt64OK()
		}
	}
	slices.Sort(now.paused)
	if now.token != last.token || now.fence != last.fence {
		e := trace.Event{Kind: trace.Lease, Number: now.fence}
		switch {
		case now.token == "":
		case now.token != last.token:
			now.by = o.world.claims.of(token)
		default:
			now.by = last.by
		}
		e.By = now.by
		o.world.note(e)
	} else {
		now.by = last.by
	}
	if !slices.Equal(now.paused, last.paused) {
		o.world.note(trace.Event{Kind: trace.BalancingOff, By: by, Names: now.paused})
	}
	*last = now
}

// claims are the commands by which processes have asked for the lease: an answer may be late, so
// whose it is can't be told by what ended last.
type claims struct {
	mu   sync.Mutex
	list []claim
}

type claim struct {
	by   string
	body bson.Raw
}

func (c *claims) note(by string, body bson.Raw) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, claim{by, slices.Clone(body)})
}

// of returns who has asked for the lease with a token.
func (c *claims) of(token bson.ObjectID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.list {
		if bytes.Contains(one.body, token[:]) {
			return one.by
		}
	}
	return ""
}

// leaseSeen is the lease as it was seen last.
type leaseSeen struct {
	token  string
	fence  int64
	by     string
	paused []string
}
