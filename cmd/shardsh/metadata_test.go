package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
)

// A file of shardsh snapshot is played, and what is done there stays there.
func TestSnapshotIsPlayed(t *testing.T) {
	file := snaptest.LargeFile(t, snaptest.Scale{Shards: 4, Chunks: 40, EmptyShards: 1, ChunkBytes: 256 << 20})
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runProgram(t, "", "--snapshot", file, "--verbose", "--eval", `
		const on = () => sh.listShards().map(s => db.getSiblingDB("config").chunks.countDocuments({ shard: s._id }))
		print(new Date(mock.now()).toISOString().slice(0, 16), JSON.stringify(on()))
		sh.startBalancer(); mock.advance("12h")
		print(new Date(mock.now()).toISOString().slice(0, 16), on()[3] > 0)
		print(sh.getShardedDataDistribution().toArray().find(d => d.ns == "db.c0").shards.every(s => s.ownedSizeBytes > 2e9))
		print(db.getSiblingDB("db").c0.countDocuments({}))`)
	if code != exitOK {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "2026-03-02T12:00 [") || !strings.HasSuffix(lines[0], ",0]") ||
		lines[1] != "2026-03-03T00:00 true" || lines[2] != "true" || lines[3] != "0" {
		t.Errorf("%q", stdout)
	}
	if want := "mock of large.snap (2026-03-02 12:00:00 UTC), 4 shards, virtual time"; !strings.Contains(stderr, want) {
		t.Errorf("stderr %q does not tell of the %s", stderr, want)
	}
	code, stdout, _ = runProgram(t, "new Date(mock.now()).toISOString().slice(0, 16)\n",
		"--snapshot", file, "--interactive", "--norc")
	if code != exitOK || !strings.Contains(stdout, "4 shards, 1x time") || !strings.Contains(stdout, "2026-03-02T12:0") || !strings.Contains(stdout, "[snapshot: mongos] test>") {
		t.Errorf("at the prompt: exit code %d, stdout %q", code, stdout)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed (%v)", err)
	}
	if code, _, stderr := runProgram(t, "", "--snapshot", file, "--dbpath", t.TempDir(), "--eval", "1"); code != exitOK {
		t.Errorf("with --dbpath: exit code %d, stderr %q", code, stderr)
	}
}

// What the file does not tell is told.
func TestSnapshotThatLacks(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 10, Collections: 2})
	unknown := *s.Collection("db.c0")
	unknown.Sizes = nil
	chunkless := *s.Collection("db.c1")
	chunkless.Table = nil
	file := filepath.Join(t.TempDir(), "lacking.snap")
	if err := snapfile.Save(file, s.WithCollection(&unknown).WithCollection(&chunkless)); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runProgram(t, "", "--snapshot", file, "--verbose", "--eval",
		`print(db.getSiblingDB("config").collections.distinct("_id"))`)
	if code != exitOK || !strings.Contains(stdout, "db.c0") || strings.Contains(stdout, "db.c1") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, want := range []string{"db.c1 is missing", "sizes of db.c0 are not known on 2 shards: chunks"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr %q does not say that %s", stderr, want)
		}
	}
}

// A mongodump of config stands in for a cluster, says what it does not tell, and is
// played.
func TestDumpOfConfig(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Shards: 4, Chunks: 40, EmptyShards: 1})
	dir := filepath.Join(t.TempDir(), "dump", "config")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var chunks []byte
	c := s.Collection("db.c0")
	for chunk := range c.Table.All() {
		raw, err := bson.Marshal(c.ChunkDoc(chunk))
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, raw...)
	}
	files := map[string][]byte{"chunks": chunks}
	for _, name := range []string{"settings", "shards", "databases", "collections", "tags", "version"} {
		docs, err := s.Documents(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			files[name] = append(files[name], doc...)
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".bson"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	above := filepath.Dir(dir)
	// 8.0 balances by size: without sizes nobody can tell whether anything is left to do.
	sizes := writeFile(t, "sizes.json", `[{"ns": "db.c0", "shards": [{"shardName": "s000", "numOwnedDocuments": 1000000,
		"ownedSizeBytes": {"$numberLong": "9000000000"}, "numOrphanedDocs": 0, "orphanedSizeBytes": 0}]}]`)
	for _, args := range [][]string{
		{"plan", "--from", dir}, {"forecast", "--from", dir}, {"simulate", "--from", above, "--change", "addShard"},
	} {
		code, stdout, stderr := runProgram(t, "", args...)
		if code != exitFailure || stdout != "" || !strings.Contains(stderr, "it is not known whether db.c0 is balanced") ||
			!strings.Contains(stderr, "--sizes FILE") {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
		code, stdout, stderr = runProgram(t, "", append(args, "--sizes", sizes)...)
		if code != exitOK && code != exitFindings || stdout == "" || strings.Contains(stderr, "sizes could not be read") {
			t.Errorf("%v with sizes: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	code, stdout, stderr := runProgram(t, "", "why", "--from", above)
	if code != exitOK || !strings.Contains(stdout, "unknown whether db.c0 is balanced") || !strings.Contains(stderr, "sizes could not be read") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, stdout, _ := runProgram(t, "", "check", "--from", above); code != exitFailure || !strings.Contains(stdout, "db.c0  not known") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	file := filepath.Join(t.TempDir(), "sized.snap")
	runProgram(t, "", "snapshot", "--from", above, "--sizes", sizes, "-o", file)
	if code, stdout, _ = runProgram(t, "", "check", "--from", file); code != exitFindings || !strings.Contains(stdout, "db.c0") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	if code, _, stderr := runProgram(t, "", "plan", "--mock", "--sizes", sizes); code != exitUsage || !strings.Contains(stderr, "--from") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, stdout, stderr = runProgram(t, "", "--snapshot", above, "--verbose", "--eval",
		`print(db.getSiblingDB("config").chunks.countDocuments({}), sh.listShards().length)`)
	if code != exitOK || stdout != "40 4\n" || !strings.Contains(stderr, "sizes could not be read") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "chunks.bson"): "of a mongodump, name the directory",
		t.TempDir():                       "not a mongodump of a config database",
		writeFile(t, "a.archive", "\x6d\xe2\x99\x81rest"): "mongodump archives can't be read, directories can",
		writeFile(t, "m.snap", "\x1f\x8brest"):            "--snapshot takes those of mock.save()",
	} {
		if code, _, stderr := runProgram(t, "", "why", "--from", path); code != exitFailure || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stderr %q, want %s", path, code, stderr, want)
		}
	}
}

func TestSnapshotThatIsNone(t *testing.T) {
	cut := snaptest.LargeFile(t, snaptest.Scale{})
	whole, err := os.ReadFile(cut)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"metadata_test.go": "not a file of shardsh snapshot or mock.save()",
		"no-such-file":     "no such file",
		cut:                "damaged snapshot: it is cut short",
	} {
		for _, args := range [][]string{{"--eval", "1"}, {"serve", "--port", "0"}} {
			code, _, stderr := runProgram(t, "", append(args, "--snapshot", file)...)
			if code != exitUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, filepath.Base(file)) {
				t.Errorf("%s with %v: exit code %d, stderr %q", file, args, code, stderr)
			}
		}
	}
}
