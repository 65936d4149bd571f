package mock

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A snapshot is a gzipped row of BSON documents: a header, the entries of the
// state, and an end that counts them.
type (
	snapshotHeader struct {
		Kind    string    `bson:"shardsh"`
		Format  int32     `bson:"format"`
		Version string    `bson:"version"` // of the mock's server
		Made    time.Time `bson:"made"`
	}
	snapshotEntry struct {
		Bucket string `bson:"b"`
		Key    []byte `bson:"k"`
		Value  []byte `bson:"v"`
		// End is there in the last document: how many entries there were.
		End int64 `bson:"end,omitempty"`
	}
)

const snapshotKind = "snapshot of a mock cluster"

// Save writes the whole cluster to a file that Load and Config.Snapshot read.
// The file is replaced when all of it is written. Save takes the lock.
func (c *Cluster) Save(path string) error {
	var entries []entry
	c.Lock()
	newTracker(true).capture(c, true, func(e entry) { entries = append(entries, e) })
	header := snapshotHeader{Kind: snapshotKind, Format: formatVersion, Version: c.Version(), Made: c.now().UTC()}
	c.Unlock()
	file, err := os.CreateTemp(filepath.Dir(path), ".snapshot-*")
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	err = writeSnapshot(file, header, entries)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return nil
}

func writeSnapshot(to io.Writer, header snapshotHeader, entries []entry) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(packed, 1<<16)
	write := func(form any) {
		if err == nil {
			_, err = out.Write(encode(form))
		}
	}
	write(header)
	for _, e := range entries {
		write(snapshotEntry{Bucket: e.bucket, Key: e.key, Value: e.value})
	}
	write(snapshotEntry{End: int64(len(entries)) + 1})
	if err != nil {
		return err
	}
	return errors.Join(out.Flush(), packed.Close())
}

// snapshot is a state in memory, each bucket in the order of its keys.
type snapshot map[string][]entry

func (s snapshot) each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, e := range s[bucket] {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

func readSnapshot(path string) (snapshot, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	defer file.Close()
	s, err := decodeSnapshot(file)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", path, err)
	}
	return s, nil
}

func decodeSnapshot(from io.Reader) (snapshot, error) {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("it is no snapshot of a mock cluster: %w", err)
	}
	in := bufio.NewReaderSize(packed, 1<<16)
	var header snapshotHeader
	if raw, err := readDocument(in); err != nil || bson.Unmarshal(raw, &header) != nil || header.Kind != snapshotKind {
		return nil, errors.New("it is no snapshot of a mock cluster")
	}
	if err := checkFormat("it", int(header.Format)); err != nil {
		return nil, err
	}
	s := snapshot{}
	for n := int64(1); ; n++ {
		raw, err := readDocument(in)
		if err != nil {
			return nil, fmt.Errorf("it is damaged after %d entries: %w", n-1, err)
		}
		var e snapshotEntry
		if err := bson.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("entry %d is damaged: %w", n, err)
		}
		if e.End == n {
			break
		}
		if e.End != 0 || e.Bucket == "" || len(e.Key) == 0 {
			return nil, fmt.Errorf("entry %d is damaged", n)
		}
		s[e.Bucket] = append(s[e.Bucket], entry{e.Bucket, e.Key, e.Value})
	}
	s.sort()
	return s, nil
}

func (s snapshot) sort() {
	for _, entries := range s {
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(string(a.key), string(b.key)) })
	}
}

// maxSnapshotEntry is more than the largest document takes.
const maxSnapshotEntry = 1 << 26

func readDocument(in io.Reader) (bson.Raw, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n < 5 || n > maxSnapshotEntry {
		return nil, fmt.Errorf("a document of %d bytes", n)
	}
	raw := make(bson.Raw, n)
	copy(raw, size[:])
	if _, err := io.ReadFull(in, raw[4:]); err != nil {
		return nil, err
	}
	return raw, raw.Validate()
}

// openSnapshot fills the empty cluster from a file.
func (c *Cluster) openSnapshot(cfg Config) error {
	s, err := readSnapshot(cfg.Snapshot)
	if err != nil {
		return err
	}
	if err := c.load(s, newTracker(true)); err != nil {
		return fmt.Errorf("snapshot %s: %w", cfg.Snapshot, err)
	}
	if err := c.adjust(cfg); err != nil {
		return err
	}
	c.rollBack()
	return nil
}
