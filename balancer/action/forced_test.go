package action

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// notes keeps what is noted, and whether the plan was shown by then.
type notes struct {
	texts   []string
	started bool
}

func (n *notes) Report(e Event) {
	switch e := e.(type) {
	case Started:
		n.started = true
	case Note:
		if !n.started {
			n.texts = append(n.texts, e.Text)
		}
	}
}

// Before anything moves it is said which flagged chunks only force moves, how much they
// hold, and for how long writes wait; and what has moved is counted.
func TestForceIsForeseen(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release50, catalog.Release80} {
		w := jumboWorld(t, release, `{"id": "s0"}`)
		said := &notes{}
		d := Drain{Shard: "s0", MovePrimaries: true, RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true, ForceJumbo: true}}
		r, err := d.Run(t.Context(), w.actionCluster(), said)
		if err != nil || !r.Finished || r.DocumentsDone != 192 || r.BytesDone < 6<<20 || w.on("s0") != 0 {
			t.Errorf("%s: %+v, %v", release, r, err)
		}
		said.ofForce(t)
	}
}

// A balance says it, too, whoever asks for the plan.
func TestForceOfBalanceIsForeseen(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release50, catalog.Release80} {
		w := jumboWorld(t, release, `{"id": "s0", "draining": true}`)
		said := &notes{}
		b := Balance{Namespaces: []string{"db.c"}, Pace: Pace{Parallel: 1}, ForceJumbo: true}
		r, err := b.Run(t.Context(), w.actionCluster(), said)
		if err != nil || !r.Reached || r.Bytes < 6<<20 || w.on("s0") != 0 {
			t.Errorf("%s: %+v, %v", release, r, err)
		}
		said.ofForce(t)
	}
}

// jumboWorld has a chunk of 3 MiB of many keys and one of as much of one key on the shard s0,
// flagged both, with a chunk size of 1 MiB.
func jumboWorld(t *testing.T, release catalog.Release, shard string) *world {
	w := newWorld(t, `{"shards": [`+shard+`, {"id": "s1"}], "settings": {"balancer": {"stopped": true}},
		"collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [
			{"shard": "s0", "max": {"x": 1000}, "jumbo": true}, {"shard": "s0", "jumbo": true}]}]}`, release, 1)
	var docs []any
	for i := range 96 {
		docs = append(docs, bson.D{{Key: "x", Value: i}, {Key: "filler", Value: make([]byte, 32<<10)}},
			bson.D{{Key: "x", Value: 5000}, {Key: "filler", Value: make([]byte, 32<<10)}})
	}
	w.insert("db.c", docs...)
	return w
}

// ofForce checks that nothing is noted but that one chunk would be moved by force.
func (n *notes) ofForce(t *testing.T) {
	t.Helper()
	// The patch of 5.0 that the mock has has known faults, which are said, too.
	texts := slices.DeleteFunc(n.texts, func(text string) bool { return strings.HasPrefix(text, "SERVER-") })
	if len(texts) != 1 || !strings.Contains(texts[0], "at [1000] on s0 would be moved by force: 3 MiB, writes to the "+
		"collection wait for about 1s") {
		t.Errorf("said %q", texts)
	}
}
