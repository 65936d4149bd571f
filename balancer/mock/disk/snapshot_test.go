package disk

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// bomb is a small file that unpacks to many entries of a kind.
func bomb(t *testing.T, entries int, value []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bomb")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed := gzip.NewWriter(f)
	write := func(form any) {
		raw, err := bson.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write(raw); err != nil {
			t.Fatal(err)
		}
	}
	write(SnapshotHeader{Kind: snapshotKind, Format: SnapshotFormatVersion})
	for i := range entries {
		write(snapshotEntry{Bucket: BucketUsers, Key: NumberKey(uint64(i)), Value: value})
	}
	write(snapshotEntry{End: int64(entries) + 1})
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A small file takes no more memory than it may, be its entries few and large or
// many and small; one that is what it seems is read.
func TestSnapshotBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	large := make([]byte, 16<<20)
	if _, err := ReadSnapshot(bomb(t, minUnpackedLimit/len(large)+1, large)); err == nil ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("large entries: %v", err)
	}
	const most = 4 << 20
	small, err := os.Open(bomb(t, most/entryOverhead, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	if _, err := decodeSnapshot(small, most); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("small entries: %v", err)
	}
	m, err := ReadSnapshot(bomb(t, 5, large))
	if err != nil || len(m[BucketUsers]) != 5 {
		t.Errorf("%d entries, %v", len(m[BucketUsers]), err)
	}
}

// A changed bit may leave a document that is well formed.
func TestDamagedSnapshot(t *testing.T) {
	path := bomb(t, 5, []byte("value"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checksum := len(whole) - 8
	flipped := slices.Clone(whole)
	flipped[checksum] ^= 1
	for name, damaged := range map[string][]byte{
		"a wrong checksum": flipped, "no checksum": whole[:checksum], "more data": slices.Concat(whole, whole),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSnapshot(path); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSnapshotIsAFile(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir()} {
		if _, err := ReadSnapshot(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
