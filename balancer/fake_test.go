package balancer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

const mib = 1 << 20

var start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.Local)

// fakeCluster answers the engine from tables and records what it was asked.
type fakeCluster struct {
	queue    *balancer.Queue
	settings map[string]bson.D
	shards   []catalog.Shard
	colls    []*fakeCollection
	moveTime time.Duration
	// moveErr decides how a migration ends; nil means that it succeeds.
	moveErr func(policy.Migration) error
	// measureTime is how long a measurement takes, by the clock of the queue.
	measureTime time.Duration
	failShards  error
	failSizes   error
	failSplit   func(policy.Split) error
	splitPoints func(catalog.Chunk) []catalog.Key // nil finds none
	failSetting map[string]error
	failRouting map[string]error // by namespace
	// machineIDs are the numbers of the shards; one left out does not tell.
	// Nil lets them be different.
	machineIDs    map[catalog.ShardID]int64
	failMachineID error
	resets        []catalog.ShardID
	unsharded     []policy.Unsharded

	measured [][]string
	moves    []policy.Migration
	movedAt  []time.Time // when each of moves began
	splits   []policy.Split
	jumbo    []string
	log      []loggedAction
	active   map[catalog.ShardID]bool
	overlaps int

	actions      []startedAction
	actionTime   time.Duration
	actionResult func(policy.StreamAction) policy.StreamActionResult
	noReplies    bool
	replies      []func(policy.StreamActionResult)
	mergeable    []policy.MergeWork
	mergeableErr error
	onPhase      func() // while a phase is stored
	estimateErr  error  // of the next size to be stored
	asked        []time.Time
	changes      []string
	phases       []policy.PhaseName
}

type startedAction struct {
	at     time.Time
	action policy.StreamAction
}

type fakeCollection struct {
	entry catalog.Collection
	table *catalog.RoutingTable
	zones *catalog.ZoneSet
	sizes map[catalog.ShardID]int64
}

type loggedAction struct {
	at      time.Time
	what    string
	details bson.D
}

func newFake(shards ...string) *fakeCluster {
	f := &fakeCluster{
		queue:    balancer.NewQueue(start),
		settings: map[string]bson.D{},
		moveTime: 2 * time.Second,
		active:   map[catalog.ShardID]bool{},
	}
	for _, id := range shards {
		f.shards = append(f.shards, catalog.Shard{ID: catalog.ShardID(id), Host: "rs/h:1"})
	}
	return f
}

func document(t testing.TB, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// add makes a collection with one chunk a shard, bounds 10, 20, …, and the
// given sizes in MiB.
func (f *fakeCluster) add(t testing.TB, ns string, sizes ...int64) *fakeCollection {
	t.Helper()
	pattern, err := catalog.ParseKeyPattern(document(t, bson.D{{Key: "x", Value: int32(1)}}))
	if err != nil {
		t.Fatal(err)
	}
	coll := &fakeCollection{
		entry: catalog.Collection{Namespace: ns, Pattern: pattern, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true},
		zones: catalog.NewZoneSet(pattern),
		sizes: map[catalog.ShardID]int64{},
	}
	min := pattern.GlobalMin()
	var chunks []catalog.Chunk
	for i, size := range sizes {
		id := f.shards[i].ID
		coll.sizes[id] = size * mib
		max := pattern.GlobalMax()
		if i < len(sizes)-1 {
			if max, err = pattern.ParseKey(document(t, bson.D{{Key: "x", Value: int32(10 * (i + 1))}})); err != nil {
				t.Fatal(err)
			}
		}
		chunks = append(chunks, catalog.Chunk{Min: min, Max: max, Shard: id, Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}})
		min = max
	}
	coll.table, err = catalog.NewRoutingTable(pattern, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks))
	if err != nil {
		t.Fatal(err)
	}
	f.colls = append(f.colls, coll)
	return coll
}

// key is a bound of the fake's collections.
func (f *fakeCluster) key(t testing.TB, x int) catalog.Key {
	t.Helper()
	key, err := f.colls[0].entry.Pattern.ParseKey(document(t, bson.D{{Key: "x", Value: int32(x)}}))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (f *fakeCluster) find(ns string) *fakeCollection {
	for _, c := range f.colls {
		if c.entry.Namespace == ns {
			return c
		}
	}
	return nil
}

func (f *fakeCluster) Setting(_ context.Context, id string) (bson.Raw, error) {
	doc, ok := f.settings[id]
	if !ok || f.failSetting[id] != nil {
		return nil, f.failSetting[id]
	}
	return bson.Marshal(doc)
}

func (f *fakeCluster) Shards(context.Context) ([]catalog.Shard, error) {
	return slices.Clone(f.shards), f.failShards
}

func (f *fakeCluster) Collections(context.Context) ([]catalog.Collection, error) {
	var entries []catalog.Collection
	for _, c := range f.colls {
		entries = append(entries, c.entry)
	}
	return entries, nil
}

func (f *fakeCluster) Routing(_ context.Context, ns string) (balancer.Routing, error) {
	if err := f.failRouting[ns]; err != nil {
		return balancer.Routing{}, err
	}
	c := f.find(ns)
	if c == nil {
		return balancer.Routing{}, mongoerr.New(mongoerr.NamespaceNotFound, "%s not found", ns)
	}
	return balancer.Routing{Collection: c.entry, Table: c.table, Zones: c.zones}, nil
}

func (f *fakeCluster) DataSizes(_ context.Context, colls []catalog.Collection) (map[string]map[catalog.ShardID]int64, error) {
	sizes := map[string]map[catalog.ShardID]int64{}
	var names []string
	for _, c := range colls {
		names = append(names, c.Namespace)
		sizes[c.Namespace] = f.find(c.Namespace).sizes
	}
	f.measured = append(f.measured, names)
	f.queue.Advance(f.queue.Now().Add(f.measureTime))
	return sizes, f.failSizes
}

func (f *fakeCluster) Unsharded(context.Context) ([]policy.Unsharded, error) {
	return f.unsharded, nil
}

func (f *fakeCluster) Split(_ context.Context, s policy.Split) error {
	f.splits = append(f.splits, s)
	if f.failSplit != nil {
		if err := f.failSplit(s); err != nil {
			return err
		}
	}
	c := f.find(s.Namespace)
	minor := c.table.Version().Minor
	var pieces []catalog.Chunk
	for min, i := s.Min, 0; i <= len(s.Points); i++ {
		piece := catalog.Chunk{Min: min, Max: s.Max, Shard: s.Shard, Version: c.table.Version().ChunkVersion}
		if i < len(s.Points) {
			piece.Max, min = s.Points[i], s.Points[i]
		}
		piece.Version.Minor = minor + 1 + uint32(i)
		pieces = append(pieces, piece)
	}
	return c.apply(pieces...)
}

func (f *fakeCluster) StartMove(m policy.Migration, done func(error)) {
	f.moves, f.movedAt = append(f.moves, m), append(f.movedAt, f.queue.Now())
	for _, id := range []catalog.ShardID{m.From, m.To} {
		if f.active[id] {
			f.overlaps++
		}
		f.active[id] = true
	}
	f.queue.After(f.moveTime, func() {
		delete(f.active, m.From)
		delete(f.active, m.To)
		var err error
		if f.moveErr != nil {
			err = f.moveErr(m)
		}
		if err == nil {
			f.move(m)
		}
		done(err)
	})
}

// move shifts one chunk size of data, and the chunk with the given minimum.
func (f *fakeCluster) move(m policy.Migration) {
	c := f.find(m.Namespace)
	if c == nil {
		return // it is not sharded
	}
	step := min(m.MaxChunkSizeBytes, c.sizes[m.From])
	c.sizes[m.From] -= step
	c.sizes[m.To] += step
}

func (f *fakeCluster) SplitPoint(_ context.Context, m policy.Migration) (policy.Split, error) {
	chunk := f.find(m.Namespace).table.Find(m.Min)
	split := policy.Split{Namespace: m.Namespace, Shard: chunk.Shard, Min: chunk.Min, Max: chunk.Max}
	if f.splitPoints != nil {
		split.Points = f.splitPoints(chunk)
	}
	return split, nil
}

func (f *fakeCluster) MarkJumbo(_ context.Context, ns string, _ catalog.Key) error {
	f.jumbo = append(f.jumbo, ns)
	return nil
}

func (f *fakeCluster) MachineID(_ context.Context, id catalog.ShardID) (int64, bool, error) {
	if f.machineIDs == nil {
		return int64(slices.IndexFunc(f.shards, func(s catalog.Shard) bool { return s.ID == id })), true, f.failMachineID
	}
	number, tells := f.machineIDs[id]
	return number, tells, f.failMachineID
}

func (f *fakeCluster) MachineIDsKnownUnique(context.Context) bool { return false }

func (f *fakeCluster) ResetMachineID(_ context.Context, id catalog.ShardID) error {
	f.resets = append(f.resets, id)
	f.machineIDs[id] = 1000 + int64(len(f.resets))
	return nil
}

func (f *fakeCluster) SwitchOffBalancing(_ context.Context, ns string) error {
	f.find(ns).entry.NoBalance = true
	return nil
}

func (f *fakeCluster) LogAction(_ context.Context, what string, details bson.D) error {
	f.log = append(f.log, loggedAction{f.queue.Now(), what, details})
	return nil
}

// run turns a fresh loop on the fake's queue.
func (f *fakeCluster) run(t testing.TB) *balancer.Loop {
	t.Helper()
	loop := balancer.NewLoop(balancer.Config{Location: time.Local})
	driver := balancer.NewEventDriver(f.queue, loop, f)
	driver.Start()
	t.Cleanup(driver.Stop)
	return loop
}

func (f *fakeCluster) advance(d time.Duration) { f.queue.Advance(f.queue.Now().Add(d)) }

func field(t testing.TB, doc bson.D, name string) any {
	t.Helper()
	for _, e := range doc {
		if e.Key == name {
			return e.Value
		}
	}
	t.Fatalf("no field %s in %v", name, doc)
	return nil
}

func moveText(m policy.Migration) string { return fmt.Sprintf("%s %s>%s", m.Namespace, m.From, m.To) }

func (f *fakeCluster) LogChange(_ context.Context, what string) error {
	f.changes = append(f.changes, what)
	return nil
}

// StartAction answers after actionTime what actionResult says; at once and
// well without it.
func (f *fakeCluster) StartAction(a policy.StreamAction, done func(policy.StreamActionResult)) {
	f.actions = append(f.actions, startedAction{f.queue.Now(), a})
	if f.noReplies {
		f.replies = append(f.replies, done)
		return
	}
	f.queue.After(f.actionTime, func() {
		var r policy.StreamActionResult
		if f.actionResult != nil {
			r = f.actionResult(a)
		}
		done(r)
	})
}

func (f *fakeCluster) Mergeable(context.Context) ([]policy.MergeWork, error) {
	f.asked = append(f.asked, f.queue.Now())
	if f.mergeableErr != nil {
		return nil, f.mergeableErr
	}
	return f.mergeable, nil
}

func (f *fakeCluster) SetEstimate(_ context.Context, ns string, _ bson.Binary, m policy.Measurement) error {
	if err := f.estimateErr; err != nil {
		f.estimateErr = nil
		return err
	}
	c := f.find(ns)
	chunk := c.table.Find(m.Min)
	if !chunk.Min.Equal(m.Min) || !chunk.Max.Equal(m.Max) {
		return mongoerr.New(6049401, "no such chunk")
	}
	chunk.Estimate = m.Size
	return c.apply(chunk)
}

func (f *fakeCluster) SetDefragmentationPhase(_ context.Context, ns string, _ bson.Binary, phase policy.PhaseName) error {
	c := f.find(ns)
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "%s not found", ns)
	}
	if f.onPhase != nil {
		f.onPhase()
	}
	c.entry.DefragmentationPhase = string(phase)
	f.phases = append(f.phases, phase)
	return nil
}

func (f *fakeCluster) EndDefragmentation(_ context.Context, ns string, _ bson.Binary) error {
	c := f.find(ns)
	c.entry.Defragment, c.entry.DefragmentationPhase = false, ""
	return nil
}

func (c *fakeCollection) apply(changed ...catalog.Chunk) error {
	table, err := c.table.Apply(changed)
	if err == nil {
		c.table = table
	}
	return err
}
