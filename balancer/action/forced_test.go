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
		w := newWorld(t, `{"shards": [{"id": "s0"}, {"id": "s1"}], "settings": {"balancer": {"stopped": true}},
			"collections": [{"ns": "db.c", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [
				{"shard": "s0", "max": {"x": 1000}, "jumbo": true}, {"shard": "s0", "jumbo": true}]}]}`, release, 1)
		var docs []any
		for i := range 96 {
			docs = append(docs, bson.D{{Key: "x", Value: i}, {Key: "filler", Value: make([]byte, 32<<10)}},
				bson.D{{Key: "x", Value: 5000}, {Key: "filler", Value: make([]byte, 32<<10)}})
		}
		if _, err := w.client.Database("db").Collection("c").InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		said := &notes{}
		d := Drain{Shard: "s0", MovePrimaries: true, RunOptions: RunOptions{Pace: Pace{Parallel: 1}, NoJournal: true, ForceJumbo: true}}
		r, err := d.Run(t.Context(), w.actionCluster(), said)
		if err != nil || !r.Finished || r.DocumentsDone != 192 || r.BytesDone < 6<<20 || w.on("s0") != 0 {
			t.Errorf("%s: %+v, %v", release, r, err)
		}
		// The patch of 5.0 that the mock has has known faults, which are said, too.
		said.texts = slices.DeleteFunc(said.texts, func(text string) bool { return strings.HasPrefix(text, "SERVER-") })
		if len(said.texts) != 1 || !strings.Contains(said.texts[0], "at [1000] on s0 would be moved by force: 3 MiB, writes to the "+
			"collection wait for about 1s") {
			t.Errorf("%s: said %q", release, said.texts)
		}
	}
}
