package snapfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
)

func written(t interface{ Fatal(...any) }, s *catalog.Snapshot) []byte {
	var b bytes.Buffer
	if err := snapfile.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := snaptest.Draw(t)
		file := written(t, want)
		got, err := snapfile.Read(bytes.NewReader(file), snapfile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range snaptest.Diff(got, want) {
			t.Error(d)
		}
		if again := written(t, got); !bytes.Equal(again, file) {
			t.Error("the same snapshot gives another file")
		}
	})
}

// A file of the first version stays readable. With
// UPDATE_SNAPSHOTS=1 it is rewritten, which only a new version may need.
func TestFirstVersion(t *testing.T) {
	want := rapid.Custom(snaptest.Draw).Example(11)
	path := filepath.Join("testdata", "version1.snapshot")
	if os.Getenv("UPDATE_SNAPSHOTS") != "" {
		if err := snapfile.Save(path, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := snapfile.Open(path, snapfile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	parts := got.Parts()
	if s := parts.Source; s.Kind != catalog.SourceFile || s.Name != path || s.Origin.Kind != catalog.SourceMock {
		t.Errorf("source %+v", s)
	}
	if len(parts.Shards) != 1 || len(parts.Collections) != 3 {
		t.Errorf("%d shards and %d collections", len(parts.Shards), len(parts.Collections))
	}
	// What came later is not known.
	for _, c := range parts.Collections {
		if c.IndexesKnown || c.EmptyZones != nil || parts.Unsharded != nil || parts.Balancer.Switched != nil {
			t.Errorf("%s: %+v", c.Namespace, c)
		}
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.snapshot")
	want := catalog.NewSnapshot(catalog.SnapshotParts{Source: catalog.Source{Kind: catalog.SourceLive, Name: "h:27017"},
		Version: "8.0.1"})
	for range 2 { // the second one takes the place of the first
		if err := snapfile.Save(path, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := snapfile.Open(path, snapfile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Parts().Source; s.Kind != catalog.SourceFile || s.Name != path ||
		s.Origin != (catalog.Origin{Kind: catalog.SourceLive, Name: "h:27017"}) {
		t.Errorf("source %+v", s)
	}
	// Copied on, it still tells of the cluster.
	if err := snapfile.Save(path, got); err != nil {
		t.Fatal(err)
	}
	if got, err = snapfile.Open(path, snapfile.Limits{}); err != nil || got.Parts().Source.Origin.Name != "h:27017" {
		t.Errorf("source of a copy: %v", err)
	}
	if err := snapfile.Save(filepath.Join(dir, "missing", "x"), want); err == nil {
		t.Error("saved in a folder that is missing")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left: %v", len(entries), err)
	}
	if _, err := snapfile.Open(filepath.Join(dir, "missing"), snapfile.Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// packed returns a file of records that a test makes itself.
func packed(t testing.TB, records ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("SHARDSH SNAPSHOT\n\x01\x00")
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := z.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func record(kind byte, payload []byte) []byte {
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(payload))), payload...)
}

func TestHostileFiles(t *testing.T) {
	whole := written(t, withChunks(2))
	deep := []byte{5, 0, 0, 0, 0}
	for range 2000 {
		next := binary.LittleEndian.AppendUint32(nil, uint32(len(deep)+8))
		deep = append(append(append(next, 3, 'a', 0), deep...), 0)
	}
	empty, err := bson.Marshal(bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	head, end := record(1, empty), record(0, nil)
	many := bytes.Repeat(record(2, empty), 1000)
	for _, c := range []struct {
		name   string
		file   []byte
		limits snapfile.Limits
		want   error
	}{
		{"nothing", nil, snapfile.Limits{}, snapfile.ErrNotSnapshot},
		{"something else", []byte("SHARDSH"), snapfile.Limits{}, snapfile.ErrNotSnapshot},
		{"a future version", []byte("SHARDSH SNAPSHOT\n\x02\x00"), snapfile.Limits{}, snapfile.ErrVersion},
		{"only a word", whole[:18], snapfile.Limits{}, snapfile.ErrDamaged},
		{"no records", packed(t), snapfile.Limits{}, snapfile.ErrDamaged},
		{"no head", packed(t, end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"no end", packed(t, head), snapfile.Limits{}, snapfile.ErrDamaged},
		{"two heads", packed(t, head, head, end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"after the end", packed(t, head, end, end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"an unknown record", packed(t, head, record(99, empty), end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"a page of nothing", packed(t, head, record(14, []byte{1}), end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"no document", packed(t, head, record(2, []byte("xxxxxxx")), end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"a deep document", packed(t, head, record(2, deep), end), snapfile.Limits{}, snapfile.ErrDamaged},
		{"a length without bytes", packed(t, head, []byte{2, 0x80, 0x80, 0x80, 0x10}), snapfile.Limits{},
			snapfile.ErrDamaged},
		{"a huge length", packed(t, head, []byte{2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10}), snapfile.Limits{},
			snapfile.ErrTooLarge},
		{"a long record", packed(t, head, record(2, make([]byte, 2000)), end), snapfile.Limits{RecordBytes: 1000},
			snapfile.ErrTooLarge},
		{"many records", packed(t, head, many, end), snapfile.Limits{Records: 100}, snapfile.ErrTooLarge},
		{"many bytes", packed(t, head, many, end), snapfile.Limits{Bytes: 1000}, snapfile.ErrTooLarge},
		{"many chunks", whole, snapfile.Limits{Chunks: 1}, snapfile.ErrTooLarge},
	} {
		if _, err := snapfile.Read(bytes.NewReader(c.file), c.limits); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for i := 0; i < len(whole); i += 1 + len(whole)/100 {
		if _, err := snapfile.Read(bytes.NewReader(whole[:i]), snapfile.Limits{}); err == nil {
			t.Errorf("cut at %d of %d it can be read", i, len(whole))
		}
	}
	broken := errors.New("broken disk")
	if _, err := snapfile.Read(io.MultiReader(bytes.NewReader(whole[:30]), failing{broken}),
		snapfile.Limits{}); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// withChunks makes up a cluster with as many chunks or more.
func withChunks(least int) *catalog.Snapshot {
	for seed := 0; ; seed++ {
		s, chunks := rapid.Custom(snaptest.Draw).Example(seed), 0
		for _, c := range s.Collections() {
			if c.Table != nil {
				chunks += c.Table.Len()
			}
		}
		if chunks >= least {
			return s
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Whatever the records are, reading them gives a snapshot that can be written
// again, or an error.
func FuzzRead(f *testing.F) {
	z, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	for seed := range 5 {
		file := written(f, rapid.Custom(snaptest.Draw).Example(seed))
		plain, err := z.DecodeAll(file[len("SHARDSH SNAPSHOT\n")+2:], nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(plain)
	}
	f.Fuzz(func(t *testing.T, records []byte) {
		limits := snapfile.Limits{Bytes: 1 << 20, Records: 1000}
		s, err := snapfile.Read(bytes.NewReader(packed(t, records)), limits)
		if err != nil {
			return
		}
		again, err := snapfile.Read(bytes.NewReader(written(t, s)), snapfile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written(t, again), written(t, s)) { // numbers that are none differ from themselves
			t.Error("the snapshot is another one when it was written and read")
		}
	})
}
