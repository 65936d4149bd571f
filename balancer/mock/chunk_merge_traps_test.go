package mock

import (
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// The traps of rules/02-examples-and-traps §11 about merging and metadata, by their number; each
// plays the worked examples that tell.

func mergesOf(id string, why ...string) func(*testing.T) {
	return examplesOf("testdata/merges.jsonl", func(c mergeCase) (string, string) { return c.ID, c.Why }, mergeCase.play,
		id, why)
}

func commitsOf(id string, why ...string) func(*testing.T) {
	return examplesOf("testdata/commits.jsonl", func(c commitCase) (string, string) { return c.ID, c.Why },
		commitCase.play, id, why)
}

func jumboOf(id string, why ...string) func(*testing.T) {
	return examplesOf("testdata/jumbo.jsonl", func(c jumboCase) (string, string) { return c.ID, c.Why }, jumboCase.play,
		id, why)
}

// examplesOf plays the cases of an id: all, or those whose reason has a text.
func examplesOf[T any](path string, of func(T) (id, why string), play func(T, *testing.T), id string,
	why []string) func(*testing.T) {
	return func(t *testing.T) {
		found := 0
		for _, c := range examples.Read[T](t, path) {
			name, reason := of(c)
			matches := func(text string) bool { return strings.Contains(reason, text) }
			if name == id && (len(why) == 0 || slices.ContainsFunc(why, matches)) {
				found++
				play(c, t)
			}
		}
		if found < max(1, len(why)) {
			t.Fatalf("%d cases of %s %q", found, id, why)
		}
	}
}

func TestTrapsOfMerging(t *testing.T) {
	t.Run("29 one old chunk is enough for a command, 30 each round looks at everything again, 37 never without a time",
		func(t *testing.T) {
			for _, c := range examples.Read[pickedCase](t, "testdata/picked.jsonl") {
				c.play(t)
			}
		})
	t.Run("31 merged chunks are the vanished ones", mergesOf("MRG-07"))
	t.Run("31 the limit is in the same unit", mergesOf("MRG-10"))
	t.Run("32 one long run ignores the time limit", mergesOf("MRG-11", "one long run", "only after a range"))
	t.Run("33 merge-all cuts at every border of a zone range", mergesOf("MRG-12"))
	t.Run("33 it looks only at the max of a chunk", mergesOf("MRG-13"))
	t.Run("34 merge-all makes a new _id", mergesOf("MRG-07"))
	t.Run("34 mergeChunks keeps the first one", mergesOf("MRG-01"))
	t.Run("35 merge-all passes jumbo chunks by", mergesOf("MRG-09"))
	t.Run("35 mergeChunks merges them, and keeps the first one's flag", mergesOf("MRG-06"))
	t.Run("36 mergeChunks takes the first history entries, or 0", mergesOf("trap 36"))
	t.Run("37 merge-all leaves chunks without a time", mergesOf("trap 37"))
	t.Run("40 no two chunks have one version", trapEqualVersions)
}

// trapEqualVersions: {uuid, lastmod} is a unique index.
func trapEqualVersions(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80, "a MIN 0 A 1|1 1", "b 0 MAX A 1|2 1")
	chunks := slices.Collect(c.config.Table(exampleNS).All())
	chunks[1].Version = chunks[0].Version
	if err := c.Chunks().rebuildTable(c.exampleCollection(t), chunks[1]); !mongoerr.Is(err, mongoerr.DuplicateKey) {
		t.Errorf("by hand: %v, want DuplicateKey", err)
	}
	sameChunks(t, c, "a MIN 0 A 1|1 1", "b 0 MAX A 1|2 1")
	if err := c.config.putChunks(exampleNS, chunks...); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckInvariants(); err == nil || !strings.Contains(err.Error(), "version 1|1 is there twice") {
		t.Errorf("invariants: %v", err)
	}
}

func TestTrapsOfMetadata(t *testing.T) {
	t.Run("41 moved, left, right, control; the control chunk has minor 1 only without remainders", func(t *testing.T) {
		commitsOf("VR-01")(t)
		commitsOf("VR-03")(t)
		commitsOf("VR-04")(t)
		commitsOf("trap 43")(t)
	})
	t.Run("42 0|0 means that there is no control chunk", func(t *testing.T) {
		commitsOf("VR-02")(t)
		commitsOf("VR-03")(t)
	})
	t.Run("43 the moved chunk keeps its _id, flag and estimate", commitsOf("trap 43"))
	t.Run("44 minor versions come from the collection's", func(t *testing.T) {
		splitsOf(t, "VR-07")
		mergesOf("MRG-03")(t)
	})
	t.Run("45 one old entry of the history always stays, whole seconds are compared", commitsOf("VR-05"))
	t.Run("46 clearing a jumbo flag bumps the major version", jumboOf("VR-08"))
	t.Run("46 marking one bumps nothing", trapMarkingJumbo)
	t.Run("47 a split writes an explicit false, which counts as absent", trapExplicitFalse)
	t.Run("48 the size rule counts entries against the estimate of the whole local collection", func(t *testing.T) {
		jumboOf("VR-11")(t)
		trapOrphansCount(t)
	})
}

func splitsOf(t *testing.T, id string) {
	for _, c := range examples.Read[splitCase](t, "testdata/splits.jsonl") {
		if c.ID == id {
			c.commit(t)
		}
	}
}

func trapMarkingJumbo(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80, "a MIN 0 A 1|1 1", "b 0 MAX A 1|2 1")
	if err := c.config.setJumbo(exampleNS, c.config.Table(exampleNS).Pattern().GlobalMin(),
		catalog.JumboTrue); err != nil {
		t.Fatal(err)
	}
	sameChunks(t, c, "a MIN 0 A 1|1 1 jumbo", "b 0 MAX A 1|2 1")
}

func trapExplicitFalse(t *testing.T) {
	c := exampleCluster(t, 10000, catalog.Release80, "a MIN 0 A 1|1 1", "b 0 MAX A 1|2 1")
	coll := c.exampleCollection(t)
	key := func(text string) catalog.Key { return exampleKey(t, coll.Pattern, text) }
	if err := c.Chunks().commitSplit(coll, "A", key("MIN"), key("0"), []catalog.Key{key("-5")}); err != nil {
		t.Fatal(err)
	}
	sameChunks(t, c, "a MIN -5 A 1|3 1 split", "new -5 0 A 1|4 1 split", "b 0 MAX A 1|2 1")
	if err := c.config.ClearJumbo(coll, key("MIN"), key("-5")); err != nil {
		t.Fatal(err)
	}
	if merged, err := c.Chunks().MergeAll(coll, "A", policy.MergeLimits{Chunks: 100}); merged != 3 || err != nil {
		t.Errorf("%d chunks merged, %v: want all three", merged, err)
	}
}

// trapOrphansCount: documents that the shard does not own make the average.
func trapOrphansCount(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80)
	local := &localCollection{docs: newStoreCollection(expr.Language{}, exampleNS)}
	m := &migration{ms: c.migrations, req: MoveRequest{MaxChunkSizeBytes: 1 << 20}}
	local.virtual.docs, local.virtual.bytes, m.virtualDocs = 100, 100*(100<<10), 20
	if err := m.checkSize(local); err != nil {
		t.Errorf("20 documents of 100 KiB: %v", err)
	}
	// 100 orphans of 1 MiB: the average is 562 KiB, and the limit 2.
	local.virtual.docs, local.virtual.bytes = 200, 100*(100<<10)+100<<20
	if err := m.checkSize(local); err == nil {
		t.Error("orphans do not count")
	}
}

// Trap 56: the donor waits for overlapping deletions on itself as well, and its
// own limit keeps its code; trap 18 of a defragmentation tells the two apart.
func TestTrapOfMigrations56TheDonorWaitsForItsOwnDeletions(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80, "a 1 10 A 1|1 1", "b 10 MAX B 1|2 1")
	coll := c.exampleCollection(t)
	key := func(text string) catalog.Key { return exampleKey(t, coll.Pattern, text) }
	task := c.shards["A"].addDeletion(&migration{coll: coll, min: key("5"), max: key("7")}, deletionDelayed)
	var ended error
	begin := func() time.Time {
		ended = nil
		began := c.clock.Now()
		over := false
		c.migrations.Start(MoveRequest{
			Namespace: exampleNS, From: "A", To: "B", MaxChunkSizeBytes: 1 << 20,
			Min: coll.Pattern.Bound(key("1")), Max: coll.Pattern.Bound(key("10")),
		}, func(err error) { ended, over = err, true })
		if err := c.clock.Await(t.Context(), time.Time{}, func() bool { return over }); err != nil {
			t.Fatal(err)
		}
		return began
	}
	began := begin()
	if took := c.clock.Now().Sub(began); !mongoerr.Is(ended, mongoerr.ExceededTimeLimit) || took < 10*time.Second ||
		took > 11*time.Second {
		t.Errorf("ended with %v after %v, want ExceededTimeLimit after 10 s", ended, took)
	}
	if !slices.Equal(c.shown(), []string{"a 1 10 A 1|1 1", "b 10 MAX B 1|2 1"}) {
		t.Errorf("chunks %v", c.shown())
	}
	if c.shards["A"].removeDeletion(task); begin().IsZero() || ended != nil {
		t.Errorf("without the deletion: %v", ended)
	}
}
