package action

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/placement"
)

// A collection that is not sharded and lies on a shard besides its own, as a restore of one shard or a move that was
// cut short leaves it, is misplaced there. Its documents are read then: what exists nowhere else is lone, and can be
// saved; what its own shard has as well is not told of again.
func TestAuditReadsMisplacedCollections(t *testing.T) {
	uuid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte("0123456789abcdef")}
	id := func(doc bson.D) bson.Raw {
		raw, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	tests := []struct {
		name    string
		release catalog.Release
		prepare func(w *audited)
		at      catalog.ShardID // where the collection is to be
	}{
		{"on the primary, before 8.0", catalog.Release60, func(*audited) {}, "s0"},
		{"on the primary", catalog.Release80, func(*audited) {}, "s0"},
		{"its primary has lost it", catalog.Release80, func(w *audited) {
			w.must(w.client.Database("db").Collection("plain").Drop(t.Context()))
		}, ""},
		{"moved, and so in config.collections", catalog.Release80, func(w *audited) {
			w.must(w.client.Database("admin").RunCommand(t.Context(), bson.D{
				{Key: "moveCollection", Value: "db.plain"}, {Key: "toShard", Value: "s1"},
			}).Err())
		}, "s1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newAudited(t, tt.release, 5)
			plain := w.client.Database("db").Collection("plain")
			_, err := plain.InsertOne(t.Context(), bson.D{{Key: "_id", Value: "both"}})
			w.must(err)
			tt.prepare(w)
			w.must(w.mock.Corrupter().CreateCollection("s2", "db.plain", uuid))
			for _, name := range []string{"both", "alone"} {
				w.must(w.mock.Corrupter().Insert("s2", "db.plain", id(bson.D{{Key: "_id", Value: name}})))
			}
			a := anAudit()
			a.ExportDir = filepath.Join(t.TempDir(), "saved")
			result := w.audit(a, w.cluster())
			var lone *placement.Finding
			for i, f := range result.Findings {
				switch {
				case f.Namespace != "db.plain" || len(f.Shards) != 1 || f.Shards[0] != "s2":
					t.Errorf("a false alarm: %+v", f)
				case f.Kind == placement.Lone:
					lone = &result.Findings[i]
				case f.Kind != placement.CollectionMisplaced && f.Kind != placement.UUIDDiffers:
					t.Errorf("a false alarm: %+v", f)
				}
			}
			want := []string{"alone"}
			if tt.at == "" {
				want = []string{"alone", "both"}
			}
			if lone == nil || lone.Count != int64(len(want)) {
				t.Fatalf("want %q alone: %+v", want, result)
			}
			text, err := os.ReadFile(lone.File)
			w.must(err)
			for _, name := range want {
				if !strings.Contains(string(text), name) {
					t.Errorf("%s is not saved: %s", name, text)
				}
			}
			for _, c := range result.Collections {
				if c.Namespace == "db.plain" && c.Sharded {
					t.Errorf("it is not sharded: %+v", c)
				}
			}
		})
	}
}
