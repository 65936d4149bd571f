package disk

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/safefile"
)

// A snapshot is a gzipped row of BSON documents: a header, the entries of the
// state, and an end that counts them.
type (
	// Header is the first document of a snapshot.
	Header struct {
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

// SnapshotVersion is the format of snapshots.
const SnapshotVersion = 1

const snapshotKind = "snapshot of a mock cluster"

// WriteSnapshot writes a whole state to a file, which is replaced when all of
// it is written. Of the header it takes the version and the time.
func WriteSnapshot(path string, header Header, entries []Entry) error {
	if safefile.Special(path) { // renaming would put the file in its place
		return fmt.Errorf("snapshot %s: %w", path, safefile.ErrNotFile)
	}
	header.Kind, header.Format = snapshotKind, SnapshotVersion
	err := safefile.Replace(path, func(to io.Writer) error { return writeSnapshot(to, header, entries) })
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return nil
}

func writeSnapshot(to io.Writer, header Header, entries []Entry) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(packed, 1<<16)
	write := func(form any) {
		if err != nil {
			return
		}
		var doc []byte
		if doc, err = bson.Marshal(form); err == nil {
			_, err = out.Write(doc)
		}
	}
	write(header)
	for _, e := range entries {
		write(snapshotEntry{Bucket: e.Bucket, Key: e.Key, Value: e.Value})
	}
	write(snapshotEntry{End: int64(len(entries)) + 1})
	if err != nil {
		return err
	}
	return errors.Join(out.Flush(), packed.Close())
}

// Memory is a state in memory: buckets, each in the order of its keys.
type Memory map[string][]Entry

var _ Source = Memory{}

// Buckets walks the names of the buckets.
func (m Memory) Buckets() iter.Seq[string] { return maps.Keys(m) }

// Each walks a bucket.
func (m Memory) Each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, e := range m[bucket] {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Sort puts the entries of every bucket into the order of their keys.
func (m Memory) Sort() {
	for _, entries := range m {
		slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	}
}

// ReadSnapshot reads a file that WriteSnapshot has written.
func ReadSnapshot(path string) (Memory, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	m, err := decodeSnapshot(file, max(minUnpackedLimit, maxCompressionRatio*info.Size()))
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", path, err)
	}
	return m, nil
}

const (
	// minUnpackedLimit is what the entries of a small snapshot may take in memory, in
	// bytes.
	minUnpackedLimit = 256 << 20
	// maxCompressionRatio is how many times as much as the file those of a large one may
	// take. What was made to be small as a file packs a thousand times.
	maxCompressionRatio = 32
)

// decodeSnapshot reads entries that take so much memory at most.
func decodeSnapshot(from io.Reader, maxBytes int64) (Memory, error) {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("it is not a snapshot of a mock cluster: %w", err)
	}
	in := bufio.NewReaderSize(packed, 1<<16)
	var header Header
	if raw, err := readDocument(in); err != nil || bson.Unmarshal(raw, &header) != nil || header.Kind != snapshotKind {
		return nil, errors.New("it is not a snapshot of a mock cluster")
	}
	if err := checkFormat("it", int(header.Format), SnapshotVersion); err != nil {
		return nil, err
	}
	m := Memory{}
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
		entry := Entry{e.Bucket, e.Key, e.Value}
		if maxBytes -= int64(entry.size()); maxBytes < 0 {
			return nil, fmt.Errorf("it is too large: after %d entries it takes more memory than a snapshot of its size may", n)
		}
		m[e.Bucket] = append(m[e.Bucket], entry)
	}
	m.Sort()
	return m, nil
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
