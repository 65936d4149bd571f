package enginetest

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// newSplit returns a split of the chunk that contains the key at.
func (s *suite) newSplit(r balancer.Routing, at int, points ...int) policy.Split {
	s.Helper()
	c := r.Table.Find(s.key(r, at))
	split := policy.Split{
		Namespace: r.Collection.Namespace, Shard: c.Shard, Version: r.Table.Version(), ChunkVersion: c.Version,
		Min: c.Min, Max: c.Max,
	}
	for _, p := range points {
		split.Points = append(split.Points, s.key(r, p))
	}
	return split
}

func (s *suite) split() {
	r := s.routingOf("app.even")
	split := s.newSplit(r, 50, 10, 50)
	if err := s.errOf(func(c balancer.Cluster) error { return c.Split(s.ctx, split) }); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("owners", s.layout("app.even"), []string{"a", "a", "a", "a", "a", "b"})
	after := s.routingOf("app.even")
	for _, k := range []int{0, 10, 50, 100} {
		s.wantEqual("a chunk begins at the point", after.Table.HasLowerBound(s.key(after, k)), true)
	}
	if r.Table.Version().Compare(after.Table.Version()) >= 0 {
		s.Errorf("version %v after %v", after.Table.Version(), r.Table.Version())
	}
	s.wantCode("once more", s.errOf(func(c balancer.Cluster) error { return c.Split(s.ctx, split) }), mongoerr.StaleConfig)
}

func (s *suite) splitRefused() {
	r := s.routingOf("app.even")
	refused := func(what string, want mongoerr.Code, change func(*policy.Split)) {
		s.Helper()
		split := s.newSplit(r, 50, 10)
		change(&split)
		s.wantCode(what, s.errOf(func(c balancer.Cluster) error { return c.Split(s.ctx, split) }), want)
	}
	refused("another shard", mongoerr.StaleConfig, func(p *policy.Split) { p.Shard = "b" })
	refused("other bounds", mongoerr.StaleConfig, func(p *policy.Split) { p.Max = s.key(r, 60) })
	refused("another epoch", mongoerr.StaleEpoch, func(p *policy.Split) { p.Version.Epoch = bson.ObjectID{1} })
	refused("no collection", mongoerr.ConflictingOperationInProgress, func(p *policy.Split) { p.Namespace = "app.none" })
	s.wantEqual("owners", s.layout("app.even"), []string{"a", "a", "a", "b"})
}

func (s *suite) splitPoint() {
	r := s.routingOf("app.huge")
	m := s.newMigration(r, 50, "b")
	split := mustGet(s, func(c balancer.Cluster) (policy.Split, error) { return c.SplitPoint(s.ctx, m) })
	chunk := r.Table.Find(s.key(r, 50))
	if !split.Min.Equal(chunk.Min) || !split.Max.Equal(chunk.Max) || split.Shard != "a" || split.Namespace != "app.huge" {
		s.Errorf("the split %+v is not of the chunk %+v", split, chunk)
	}
	s.wantEqual("version", split.Version, r.Table.Version())
	s.wantEqual("version of the chunk", split.ChunkVersion, chunk.Version)
	if !split.Halve && len(split.Points) == 0 || s.Release.BalancesBySize() && len(split.Points) > 1 {
		s.Fatalf("points %v", split.Points)
	}
	for last, i := chunk.Min, 0; i < len(split.Points); last, i = split.Points[i], i+1 {
		if !last.Less(split.Points[i]) || !split.Points[i].Less(chunk.Max) {
			s.Fatalf("points %v are not inside the chunk, ascending", split.Points)
		}
	}
	if err := s.errOf(func(c balancer.Cluster) error { return c.Split(s.ctx, split) }); err != nil {
		s.Errorf("the split that was proposed: %v", err)
	}
	empty := s.newMigration(r, -5, "b")
	split = mustGet(s, func(c balancer.Cluster) (policy.Split, error) { return c.SplitPoint(s.ctx, empty) })
	if split.Halve { // only the split itself discovers that the range is empty
		s.wantCode("an empty chunk", s.errOf(func(c balancer.Cluster) error { return c.Split(s.ctx, split) }),
			mongoerr.OperationFailed)
	}
	s.wantEqual("points of an empty chunk", len(split.Points), 0)
	m.UUID = bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	s.wantCode("another collection", s.errOf(func(c balancer.Cluster) error {
		_, err := c.SplitPoint(s.ctx, m)
		return err
	}), mongoerr.NamespaceNotFound)
}

func (s *suite) markJumbo() {
	r := s.routingOf("app.even")
	mark := func(k int) func(balancer.Cluster) error {
		return func(c balancer.Cluster) error { return c.MarkJumbo(s.ctx, "app.even", s.key(r, k)) }
	}
	if !s.isSupported("MarkJumbo", mark(100)) {
		return
	}
	if err := s.errOf(mark(100)); err != nil {
		s.Fatal(err)
	}
	after := s.routingOf("app.even").Table
	s.wantEqual("flag", after.Find(s.key(r, 100)).Jumbo, catalog.JumboTrue)
	s.wantEqual("version", after.Version(), r.Table.Version())
	s.wantCode("no chunk begins there", s.errOf(mark(101)), mongoerr.NoMatchingDocument)
}

func (s *suite) switchOffBalancing() {
	if err := s.errOf(func(c balancer.Cluster) error { return c.SwitchOffBalancing(s.ctx, "app.even") }); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("noBalance", s.routingOf("app.even").Collection.NoBalance, true)
	s.wantEqual("of another", s.routingOf("app.huge").Collection.NoBalance, false)
}

func (s *suite) move() {
	r := s.routingOf("app.even")
	if err := s.Cluster.Move(s.ctx, s.newMigration(r, 50, "b")); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("owners", s.layout("app.even"), []string{"a", "b", "a", "b"})
	if !s.Release.BalancesBySize() {
		return
	}
	// Without an upper bound, the donor limits the moved range to a chunk size.
	huge := s.routingOf("app.huge")
	m := s.newMigration(huge, 50, "b")
	m.Max = catalog.Key{}
	if err := s.Cluster.Move(s.ctx, m); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("owners of a chunk that was cut", s.layout("app.huge"), []string{"a", "b", "a", "b"})
}

func (s *suite) moveRefused() {
	r, huge := s.routingOf("app.even"), s.routingOf("app.huge")
	refused := func(what string, want mongoerr.Code, m policy.Migration) {
		s.Helper()
		s.wantCode(what, s.Cluster.Move(s.ctx, m), want)
	}
	gone := s.newMigration(r, 50, "b")
	gone.UUID = bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	refused("another collection", mongoerr.NamespaceNotFound, gone)
	gone.Namespace = "app.none"
	refused("no collection", mongoerr.NamespaceNotFound, gone)
	refused("no shard", mongoerr.ShardNotFound, s.newMigration(r, 50, "z"))
	elsewhere := s.newMigration(r, 50, "c")
	elsewhere.From = "b"
	refused("another donor", mongoerr.StaleConfig, elsewhere)
	if s.Release.BalancesBySize() {
		refused("a range that is too large", mongoerr.ChunkTooBig, s.newMigration(huge, 50, "b"))
	}
	s.wantEqual("owners", s.layout("app.even"), []string{"a", "a", "a", "b"})
}

func (s *suite) moveUnsharded() {
	if !s.Release.MovesCollections() && !slices.Contains(s.Unsupported, "MoveUnsharded") {
		return // the caller does not need this method
	}
	s.command("app", bson.D{{Key: "create", Value: "alone"}})
	m := policy.Migration{Namespace: "app.alone", UUID: s.uuid("app", "alone"), Reason: policy.ReasonUnsharded}
	m.From, m.To = s.primary("app"), "b"
	if m.From == m.To {
		m.To = "a"
	}
	err := s.Cluster.Move(s.ctx, m)
	if slices.Contains(s.Unsupported, "MoveUnsharded") {
		if !errors.Is(err, errors.ErrUnsupported) {
			s.Errorf("moving an unsharded collection is unsupported and answers %v", err)
		}
		return
	}
	if err != nil {
		s.Fatal(err)
	}
	filter := bson.D{{Key: "uuid", Value: s.uuid("app", "alone")}, {Key: "shard", Value: string(m.To)}}
	s.wantEqual("chunks on the recipient", s.countEntries("chunks", filter), 1)
	m.Namespace = "app.none"
	s.wantCode("no collection", s.Cluster.Move(s.ctx, m), mongoerr.NamespaceNotFound)
}

func (s *suite) primary(db string) catalog.ShardID {
	s.Helper()
	reply := s.command("config", bson.D{{Key: "find", Value: "databases"},
		{Key: "filter", Value: bson.D{{Key: "_id", Value: db}}}})
	id, _ := reply.Lookup("cursor", "firstBatch", "0", "primary").StringValueOK()
	return catalog.ShardID(id)
}

func (s *suite) uuid(db, name string) bson.Binary {
	s.Helper()
	reply := s.command(db, bson.D{{Key: "listCollections", Value: 1},
		{Key: "filter", Value: bson.D{{Key: "name", Value: name}}}})
	subtype, data, _ := reply.Lookup("cursor", "firstBatch", "0", "info", "uuid").BinaryOK()
	return bson.Binary{Subtype: subtype, Data: data}
}

// runAction runs an action on the collection.
func (s *suite) runAction(r balancer.Routing, kind policy.StreamActionKind, shard catalog.ShardID, min, max int,
	most int64) policy.StreamActionResult {
	s.Helper()
	a := policy.StreamAction{
		Kind: kind, Namespace: r.Collection.Namespace, UUID: r.Collection.UUID, Shard: shard, MaxBytes: most,
	}
	if kind != policy.MergeAll {
		a.Min, a.Max = s.key(r, min), s.key(r, max)
	}
	return s.Cluster.Act(s.ctx, a)
}

func (s *suite) actMerge() {
	r := s.routingOf("app.even")
	if result := s.runAction(r, policy.MergeRange, "a", 0, 200, 0); result.Err != nil {
		s.Fatal(result.Err)
	}
	s.wantEqual("owners", s.layout("app.even"), []string{"a", "a", "b"})
	s.wantCode("another shard", s.runAction(r, policy.MergeRange, "b", 0, 200, 0).Err, mongoerr.StaleConfig)
	r.Collection.UUID = bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	s.wantCode("another collection", s.runAction(r, policy.MergeRange, "a", 0, 200, 0).Err, mongoerr.NamespaceNotFound)
}

func (s *suite) actMeasure() {
	r := s.routingOf("app.even")
	result := s.runAction(r, policy.MeasureRange, "a", 0, 100, 64<<20)
	if result.Err != nil || result.MeasuredBytes != 20<<20 || result.MaxReached {
		s.Errorf("measured %+v, want 20 MiB", result)
	}
	result = s.runAction(r, policy.MeasureRange, "a", 0, 100, 1<<20)
	if result.Err != nil || result.MeasuredBytes <= 1<<20 || !result.MaxReached {
		s.Errorf("measured %+v, want more than 1 MiB", result)
	}
	result = s.runAction(r, policy.MeasureRange, "a", 100, 200, 1<<20)
	if result.Err != nil || result.MeasuredBytes != 0 || result.MaxReached {
		s.Errorf("measured %+v, want nothing", result)
	}
	r.Collection.UUID = bson.Binary{Subtype: 4, Data: make([]byte, 16)}
	s.wantCode("another collection", s.runAction(r, policy.MeasureRange, "a", 0, 100, 1<<20).Err,
		mongoerr.NamespaceNotFound)
}

func (s *suite) actMergeAll() {
	r := s.routingOf("app.huge")
	if slices.Contains(s.Unsupported, "ActMergeAll") {
		if result := s.runAction(r, policy.MergeAll, "a", 0, 0, 0); !errors.Is(result.Err, errors.ErrUnsupported) {
			s.Errorf("merging all chunks is unsupported and answers %v", result.Err)
		}
		return
	}
	if !s.Release.AutoMerges() {
		return // the caller does not need this method
	}
	s.command("admin", bson.D{{Key: "mockAdvance", Value: historyWindow.Milliseconds()}})
	result := s.runAction(r, policy.MergeAll, "a", 0, 0, 0)
	if result.Err != nil || result.MergedChunks != 2 {
		s.Errorf("merged %+v, want 2 chunks", result)
	}
	s.wantEqual("owners", s.layout("app.huge"), []string{"a", "b"})
	if result = s.runAction(r, policy.MergeAll, "a", 0, 0, 0); result.Err != nil || result.MergedChunks != 0 {
		s.Errorf("merged %+v once more, want none", result)
	}
	r.Collection.Namespace = "app.none"
	s.wantCode("no collection", s.runAction(r, policy.MergeAll, "a", 0, 0, 0).Err, mongoerr.ConflictingOperationInProgress)
}
