package dumpfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
)

func marshal(t testing.TB, docs ...bson.D) []byte {
	t.Helper()
	var file []byte
	for _, d := range docs {
		raw, err := bson.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, raw...)
	}
	return file
}

// dumpOf writes a made-up cluster as mongodump would.
func dumpOf(t testing.TB, s *catalog.Snapshot) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"settings", "shards", "databases", "collections", "tags", "version"} {
		docs, err := s.Documents(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			files[name+".bson"] = append(files[name+".bson"], doc...)
		}
	}
	for _, c := range s.Collections() {
		for chunk := range c.Table.All() {
			files["chunks.bson"] = append(files["chunks.bson"], marshal(t, c.ChunkDoc(chunk))...)
		}
	}
	return files
}

func write(t *testing.T, files map[string][]byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What a dump does not tell is assumed, and said to be.
func TestAssumptions(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 90})
	files := dumpOf(t, s)
	got, err := Open(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	c := got.Collection("db.c0")
	if c == nil || c.Table.Len() != 90 || got.Release().Line() != catalog.Release80 {
		t.Fatalf("%+v", got.Parts())
	}
	if len(c.Sizes) > 0 {
		t.Errorf("a balancer that goes by sizes is told %+v", c.Sizes)
	}
	var gaps []string
	for _, g := range got.Parts().Source.Gaps {
		gaps = append(gaps, g.What)
	}
	if strings.Join(gaps, " ") != "version sizes time" {
		t.Errorf("gaps %v", gaps)
	}
	files["prelude.json"] = []byte(`{"ServerVersion":"7.0.14","ToolVersion":"100.12.0"}`)
	if got, err = Open(write(t, files)); err != nil || got.Release().Line() != catalog.Release70 || got.Parts().Version != "7.0.14" {
		t.Errorf("version %s, %v", got.Parts().Version, err)
	}
	files["prelude.json"] = []byte(`{"ServerVersion":"5.0.14"}`)
	if got, err = Open(write(t, files)); err != nil || len(got.Collection("db.c0").Sizes) == 0 {
		t.Fatal(err)
	}
	for id, data := range got.Collection("db.c0").Sizes { // half of 64 MiB
		if n := got.Collection("db.c0").CountOn(id).Chunks; data.Bytes != n*32<<20 || data.Documents != n*32<<10 {
			t.Errorf("%s has %d chunks and %+v", id, n, data)
		}
	}
}

const distributed = `{"ns": "db.c0", "shards": [{"shardName": "s000", "numOrphanedDocs": {"$numberLong": "3"}, "numOwnedDocuments": 10,
	"ownedSizeBytes": 1000.0, "orphanedSizeBytes": 300}]}`

// The output of $shardedDataDistribution is taken as an array, and one document after
// another; what it lacks is a gap.
func TestSizes(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 90, Collections: 2})
	dump, err := Open(write(t, dumpOf(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{distributed, "[" + distributed + "]\n", distributed + "\n" + distributed} {
		path := filepath.Join(write(t, map[string][]byte{"sizes.json": []byte(text)}), "sizes.json")
		sizes, err := OpenSizes(path)
		if err != nil {
			t.Fatal(err)
		}
		got := sizes.ApplyTo(dump)
		want := catalog.ShardData{Bytes: 1000, Documents: 10, Orphans: 3, OrphanBytes: 300}
		if c := got.Collection("db.c0"); c.Sizes["s000"] != want {
			t.Errorf("%+v", c.Sizes)
		}
		var gaps []string
		for _, g := range got.Parts().Source.Gaps {
			gaps = append(gaps, g.What+" "+g.Namespace)
		}
		if strings.Join(gaps, ", ") != "version , time , sizes db.c1" {
			t.Errorf("gaps %q", gaps)
		}
		if len(dump.Collection("db.c0").Sizes) > 0 {
			t.Error("the dump itself has changed")
		}
	}
	for text, want := range map[string]string{
		"":                           "no collection",
		"[]":                         "no collection",
		"[{ns: 'db.c0', shards: []}": "EJSON.stringify",
		"3":                          "not the output",
		`{"ns": "db.c0"}`:            "lacks ns or shards",
		`{"ns": "a.b", "shards": [{"shardName": "s", "ownedSizeBytes": -1}]}`: "has invalid sizes",
	} {
		if _, err := readSizes([]byte(text)); !errors.Is(err, ErrNotSizes) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzSizes: no bytes make it panic, and what it accepts are sizes.
func FuzzSizes(f *testing.F) {
	f.Add([]byte(distributed))
	f.Add([]byte("[" + distributed + "," + distributed + "]"))
	s := snaptest.Large(f, snaptest.Scale{Chunks: 9})
	f.Fuzz(func(t *testing.T, text []byte) {
		sizes, err := readSizes(text)
		if err != nil {
			return
		}
		for ns, of := range sizes {
			if ns == "" || len(of) == 0 {
				t.Errorf("%q has %v", ns, of)
			}
		}
		for _, c := range sizes.ApplyTo(s).Collections() {
			for id, data := range c.Sizes {
				if _, there := s.Shard(id); !there || data.Bytes < 0 {
					t.Errorf("%s: %+v", id, data)
				}
			}
		}
	})
}

// A part that makes no sense is a gap, and the rest is there.
func TestGaps(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		add  bson.D
		gap  string
	}{
		"a chunk of nobody":       {"chunks.bson", bson.D{{Key: "_id", Value: 1}}, "belong to none of the collections"},
		"a chunk too many":        {"chunks.bson", nil, ""},
		"a zone of other fields":  {"tags.bson", bson.D{{Key: "ns", Value: "db.c0"}, {Key: "min", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "max", Value: bson.D{{Key: "x", Value: 2}}}, {Key: "tag", Value: "EU"}}, ""},
		"a collection of no key":  {"collections.bson", bson.D{{Key: "_id", Value: "db.odd"}}, "lacks the field"},
		"a database without name": {"databases.bson", bson.D{{Key: "primary", Value: "s000"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := dumpOf(t, snaptest.Large(t, snaptest.Scale{Chunks: 9, Collections: 2}))
			if c.add == nil {
				docs := &reader{readFile: func(string) ([]byte, error) { return files[c.file], nil }}
				list, err := docs.readDocuments("chunks")
				if err != nil {
					t.Fatal(err)
				}
				files[c.file] = append(files[c.file], list[1]...)
			} else {
				files[c.file] = append(files[c.file], marshal(t, c.add)...)
			}
			got, err := Open(write(t, files))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, g := range got.Parts().Source.Gaps {
				found = found || g.What == strings.TrimSuffix(c.file, ".bson") && strings.Contains(g.Reason, c.gap)
			}
			if !found || got.Collection("db.c1").Table == nil {
				t.Errorf("%+v", got.Parts().Source.Gaps)
			}
		})
	}
}

// What is not a dump, or not a whole one, says so, and names the file.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	whole := func() map[string][]byte { return dumpOf(t, snaptest.Large(t, snaptest.Scale{Chunks: 9})) }
	for name, c := range map[string]struct {
		change func(files map[string][]byte)
		err    error
		text   string
	}{
		"no config":     {func(f map[string][]byte) { clear(f) }, ErrNotDump, "mongodump --db config --out DIR"},
		"no shards":     {func(f map[string][]byte) { f["shards.bson"] = nil }, ErrNotDump, "it has no shard"},
		"cut":           {func(f map[string][]byte) { f["chunks.bson"] = f["chunks.bson"][:300] }, ErrDamaged, "chunks.bson"},
		"cut in length": {func(f map[string][]byte) { f["tags.bson"] = []byte{1, 2} }, ErrDamaged, "cut short after 0 documents"},
		"text":          {func(f map[string][]byte) { f["settings.bson"] = []byte("{\"_id\": 1}") }, ErrDamaged, "settings.bson"},
		"no BSON": {func(f map[string][]byte) { f["mongos.bson"] = []byte("\x08\x00\x00\x00\xffab\x00") }, ErrDamaged,
			"mongos.bson: damaged dump: document 1"},
		"shards twice": {func(f map[string][]byte) { f["shards.bson"] = append(f["shards.bson"], f["shards.bson"]...) }, ErrDamaged,
			"the shard s000 twice"},
		"no gzip": {func(f map[string][]byte) {
			f["chunks.bson.gz"] = f["chunks.bson"]
			delete(f, "chunks.bson")
		}, ErrDamaged, "chunks.bson.gz"},
		"half a gzip": {func(f map[string][]byte) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, err := z.Write(f["chunks.bson"])
			if err = errors.Join(err, z.Close()); err != nil {
				t.Fatal(err)
			}
			f["chunks.bson.gz"] = b.Bytes()[:b.Len()/2]
			delete(f, "chunks.bson")
		}, ErrDamaged, "chunks.bson.gz"},
		"what unpacks to too much": {func(f map[string][]byte) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			zeros := make([]byte, 1<<20)
			for range 70 {
				if _, err := z.Write(zeros); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			f["tags.bson.gz"] = b.Bytes()
			delete(f, "tags.bson")
		}, ErrTooLarge, "tags.bson.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			files := whole()
			c.change(files)
			if _, err := Open(write(t, files)); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %s", err, c.err, c.text)
			}
		})
	}
}

// FuzzRead: no bytes make it panic, and what it accepts is a cluster.
func FuzzRead(f *testing.F) {
	files := dumpOf(f, snaptest.Large(f, snaptest.Scale{Chunks: 5}))
	f.Add(files["shards.bson"], files["collections.bson"], files["chunks.bson"], files["settings.bson"])
	f.Add(files["shards.bson"], files["collections.bson"], files["chunks.bson"][:100], []byte{})
	f.Fuzz(func(t *testing.T, shards, collections, chunks, others []byte) {
		s, err := read(func(name string) ([]byte, error) {
			switch name {
			case "shards.bson":
				return shards, nil
			case "collections.bson":
				return collections, nil
			case "chunks.bson":
				return chunks, nil
			}
			return others, nil
		}, "fuzzed")
		if err != nil {
			return
		}
		if len(s.Shards()) == 0 {
			t.Error("a cluster without shards")
		}
		for _, c := range s.Collections() {
			if c.Table == nil {
				continue
			}
			for _, id := range c.Table.Owners() {
				if _, there := s.Shard(id); !there {
					t.Errorf("a chunk of %s on the shard %s, which does not exist", c.Namespace, id)
				}
			}
		}
	})
}
