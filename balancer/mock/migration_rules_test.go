package mock

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mongoerr"
)

// movable is a cluster whose shard A owns [1, 10) of db.c and B the rest, and a
// way to move that range to B.
func movable(t *testing.T) (c *Cluster, move func(MoveRequest) (took time.Duration, err error)) {
	t.Helper()
	c = exampleCluster(t, 900, catalog.Release80, "a 1 10 A 1|1 1", "b 10 MAX B 1|2 1")
	coll := c.exampleCollection(t)
	return c, func(req MoveRequest) (time.Duration, error) {
		req.Namespace, req.From, req.To = exampleNS, "A", "B"
		if req.MaxChunkSizeBytes == 0 {
			req.MaxChunkSizeBytes = 1 << 20
		}
		req.Min, req.Max = coll.Pattern.Bound(exampleKey(t, coll.Pattern, "1")), coll.Pattern.Bound(exampleKey(t,
			coll.Pattern, "10"))
		began := c.clock.Now()
		var result error
		over := false
		c.migrations.Start(req, func(err error) { result, over = err, true })
		if err := c.clock.Await(t.Context(), time.Time{}, func() bool { return over }); err != nil {
			t.Fatal(err)
		}
		return c.clock.Now().Sub(began), result
	}
}

// rules/02-migration-and-metadata §5.3 #10 and §5.4 step 1: with the range deleter off there is
// nothing to wait for.
func TestMoveWithoutTheRangeDeleter(t *testing.T) {
	for shard, code := range map[catalog.ShardID]mongoerr.Code{"A": mongoerr.ResumableRangeDeleterDisabled,
		"B": mongoerr.OperationFailed} {
		c, move := movable(t)
		if err := c.parameters.SetAtStart("disableResumableRangeDeleter", true); err != nil {
			t.Fatal(err)
		}
		coll := c.exampleCollection(t)
		c.shards[shard].addDeletion(&migration{coll: coll, min: exampleKey(t, coll.Pattern, "5"),
			max: exampleKey(t, coll.Pattern, "7")}, deletionDelayed)
		if took, err := move(MoveRequest{}); !mongoerr.Is(err, code) || took > time.Second {
			t.Errorf("a deletion on %s: %v after %v, want code %d at once", shard, err, took, code)
		}
	}
}

// rules/02-migration-and-metadata §5.5: six hours for the clone and the catch-up.
func TestCloneHasALimitOfTime(t *testing.T) {
	for _, tt := range []struct {
		bytes int64
		code  mongoerr.Code
	}{{5 << 30, 0}, {7 << 30, mongoerr.ExceededTimeLimit}} {
		c, move := movable(t)
		c.faults.slow = map[catalog.ShardID]Slowness{"B": {Bandwidth: (1 << 30) / 3600}} // a GiB an hour
		coll := c.exampleCollection(t)
		local := newLocal(expr.Language{}, coll.UUID, nil, exampleNS)
		if err := local.makeKeyIndex(coll.Pattern, false); err != nil {
			t.Fatal(err)
		}
		c.shards["A"].colls[exampleNS] = local
		local.virtual.add(virtualRange{min: exampleKey(t, coll.Pattern, "1"), max: exampleKey(t, coll.Pattern, "10"), docs: 10,
			bytes: tt.bytes})
		took, err := move(MoveRequest{MaxChunkSizeBytes: 100 << 30})
		if code, _ := mongoerr.CodeOf(err); code != tt.code || tt.code != 0 && took.Round(time.Minute) != 6*time.Hour {
			t.Errorf("%d GiB: %v after %v, want code %d", tt.bytes>>30, err, took, tt.code)
		}
	}
}

// rules/02-migration-and-metadata §5.4 step 2: indexes are created only where there are no documents.
func TestRecipientWithDocumentsLacksAnIndex(t *testing.T) {
	for _, docs := range []int{0, 1} {
		c, move := movable(t)
		coll := c.exampleCollection(t)
		from := newLocal(expr.Language{}, coll.UUID, nil, exampleNS)
		spec := store.IndexSpec{Name: "x_1", Key: rawDoc(t, bson.D{{Key: "x", Value: int32(1)}})}
		if err := from.docs.CreateIndex(spec); err != nil {
			t.Fatal(err)
		}
		to := newLocal(expr.Language{}, coll.UUID, nil, exampleNS)
		for i := range docs {
			if _, err := to.docs.Insert(rawDoc(t, bson.D{{Key: "_id", Value: int32(i)},
				{Key: "x", Value: int32(100)}})); err != nil {
				t.Fatal(err)
			}
		}
		c.shards["A"].colls[exampleNS], c.shards["B"].colls[exampleNS] = from, to
		_, err := move(MoveRequest{})
		if refused := mongoerr.Is(err, mongoerr.OperationFailed); refused != (docs > 0) {
			t.Errorf("with %d documents: %v", docs, err)
		}
	}
}

// rules/02-migration-and-metadata §5.4: the donor's deletion is due at once with waitForDelete, also
// when it is found by recovery, and delayed without.
func TestDeletionOfTheDonorIsDue(t *testing.T) {
	for wait, when := range map[bool]deletionTiming{true: deletionNow, false: deletionDelayed} {
		c, _ := movable(t)
		coll := c.exampleCollection(t)
		bound := func(text string) bson.Raw { return coll.Pattern.Bound(exampleKey(t, coll.Pattern, text)) }
		c.migrations.Start(MoveRequest{
			Namespace: exampleNS, From: "A", To: "B", Min: bound("1"), Max: bound("10"), MaxChunkSizeBytes: 1 << 20,
			WaitForDelete: wait,
		}, func(error) {})
		waits := func() bool { return len(c.shards["A"].deletions) > 0 }
		if err := c.clock.Await(t.Context(), time.Time{}, waits); err != nil {
			t.Fatal(err)
		}
		if got := c.shards["A"].deletions[0].timing; got != when {
			t.Errorf("waitForDelete %v: due %v, want %v", wait, got, when)
		}
	}
}

// rules/02-migration-and-metadata §7, field by field, in order: the entries of a migration that ends
// well, of one that is refused before its clone, and of one that fails later.
func TestChangeLogOfAMigration(t *testing.T) {
	steps := func(n, of int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("step %d of %d", i+1, of))
		}
		return names
	}
	then := func(names []string, more ...string) []string { return append(names, more...) }
	for _, tt := range []struct {
		name    string
		prepare func(*Cluster)
		req     MoveRequest
		want    map[string][]string
	}{
		{"it succeeds", nil, MoveRequest{}, map[string][]string{
			"moveChunk.start":  {"min", "max", "from", "to"},
			"moveChunk.commit": {"min", "max", "from", "to", "counts"},
			"moveChunk.from":   then(steps(6, 6), "min", "max", "to", "from", "note"),
			"moveChunk.to":     then(steps(8, 8), "min", "max", "to", "from", "note"),
		}},
		{"it is refused before the clone", func(c *Cluster) {
			if err := errors.Join(c.balancer.PermitMigrations(exampleNS, false), c.config.BumpVersion(exampleNS)); err != nil {
				t.Fatal(err)
			}
		}, MoveRequest{}, map[string][]string{
			"moveChunk.from": then(steps(1, 6), "min", "max", "to", "from", "note"),
		}},
		{"it is too large", nil, MoveRequest{MaxChunkSizeBytes: -1 << 40}, map[string][]string{
			"moveChunk.start": {"min", "max", "from", "to"},
			"moveChunk.error": {"min", "max", "from", "to"},
			"moveChunk.from":  then(steps(2, 6), "min", "max", "to", "from", "note"),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, move := movable(t)
			if tt.req.MaxChunkSizeBytes < 0 { // three documents where two are allowed
				coll := c.exampleCollection(t)
				local := newLocal(expr.Language{}, coll.UUID, nil, exampleNS)
				c.shards["A"].colls[exampleNS] = local
				local.virtual.add(virtualRange{min: exampleKey(t, coll.Pattern, "1"), max: exampleKey(t, coll.Pattern, "10"), docs: 3,
					bytes: 6 << 20})
				tt.req.MaxChunkSizeBytes = 1 << 20
			}
			if tt.prepare != nil {
				tt.prepare(c)
			}
			_, err := move(tt.req)
			note := "aborted"
			if err == nil {
				note = "success"
			}
			for _, what := range []string{"moveChunk.start", "moveChunk.commit", "moveChunk.error", "moveChunk.from",
				"moveChunk.to"} {
				var names []string
				for _, details := range c.logged(what) {
					elems, err := details.Elements()
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range elems {
						names = append(names, e.Key())
					}
					if got, there := details.Lookup("note").StringValueOK(); there && got != note {
						t.Errorf("%s says %s, want %s", what, got, note)
					}
				}
				if !slices.Equal(names, tt.want[what]) {
					t.Errorf("%s has %q, want %q", what, names, tt.want[what])
				}
			}
		})
	}
}
