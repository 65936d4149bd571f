package live_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/dumpfile"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/live"
)

// dumped are the collections that mongodump finds in config.
var dumped = []string{
	"shards", "databases", "collections", "chunks", "tags", "settings", "version", "mongos", "changelog", "actionlog",
	"locks",
}

// dump writes config as mongodump does: a file of documents for each collection, and
// one that tells of its indexes.
func (c conformance) dump(t *testing.T, packed bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	config := filepath.Join(dir, "config")
	if err := os.Mkdir(config, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range dumped {
		cursor, err := c.client.Database("config").Collection(name).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		for cursor.Next(t.Context()) {
			file.Write(cursor.Current)
		}
		if err := cursor.Err(); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(config, name+".bson"), file.Bytes(), packed)
		write(t, filepath.Join(config, name+".metadata.json"), []byte(`{"indexes": [], "collectionName": "`+name+`"}`), packed)
	}
	return dir
}

func write(t *testing.T, path string, data []byte, packed bool) {
	t.Helper()
	if packed {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path, data = path+".gz", b.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A dump tells of a cluster what its routers tell, but for sizes and the moment.
func TestDump(t *testing.T) {
	for _, release := range testedReleases() {
		t.Run(release.String(), func(t *testing.T) {
			t.Parallel()
			cluster := newConformance(t, release, asItIs)
			want := cluster.read(t, live.ReaderOptions{}, nil)
			for _, packed := range []bool{false, true} {
				dir := cluster.dump(t, packed)
				for _, path := range []string{dir, filepath.Join(dir, "config")} {
					got, err := dumpfile.Open(path)
					if err != nil {
						t.Fatal(err)
					}
					if later := want.Time().Sub(got.Time()); later < -time.Second || later > time.Hour {
						t.Errorf("it is %s, want %s", got.Time(), want.Time())
					}
					if gaps := got.Parts().Source.Gaps; len(gaps) != 2 || gaps[0].What != "sizes" || gaps[1].What != "time" {
						t.Errorf("the gaps are %+v", gaps)
					}
					for _, d := range snaptest.Diff(metadata(got), metadata(want)) {
						t.Error(d)
					}
				}
			}
		})
	}
}

// metadata leaves out what no dump has.
func metadata(s *catalog.Snapshot) *catalog.Snapshot {
	p := but(s, s.Time()).Parts()
	p.Changes, p.Actions = s.Parts().Changes, s.Parts().Actions
	for i, c := range p.Collections {
		state := *c
		state.Sizes = nil
		p.Collections[i] = &state
	}
	return catalog.NewSnapshot(p)
}
