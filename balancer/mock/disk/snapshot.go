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

// A snapshot is a gzipped sequence of BSON documents: a header, the entries of the state, and an end
// document with its position.
type (
	// SnapshotHeader is the first document of a snapshot.
	SnapshotHeader struct {
		Kind    string    `bson:"shardsh"`
		Format  int32     `bson:"format"`
		Version string    `bson:"version"` // of the mock's server
		Made    time.Time `bson:"made"`
	}
	snapshotEntry struct {
		Bucket string `bson:"b"`
		Key    []byte `bson:"k"`
		Value  []byte `bson:"v"`
		// End is set only in the last document: the number of entries plus one.
		End int64 `bson:"end,omitempty"`
	}
)

// SnapshotFormatVersion is the format of snapshots.
const SnapshotFormatVersion = 1

const snapshotKind = "snapshot of a mock cluster"

// WriteSnapshot writes a whole state to a file. The file is replaced only after the write is complete.
// WriteSnapshot uses the version and the time of header.
func WriteSnapshot(path string, header SnapshotHeader, entries []Entry) error {
	if safefile.IsSpecial(path) { // a rename would replace a device by a file
		return fmt.Errorf("snapshot %s: %w", path, safefile.ErrNotFile)
	}
	header.Kind, header.Format = snapshotKind, SnapshotFormatVersion
	err := safefile.Replace(path, func(to io.Writer) error { return writeSnapshot(to, header, entries) })
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", path, err)
	}
	return nil
}

func writeSnapshot(to io.Writer, header SnapshotHeader, entries []Entry) error {
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

// MemorySource is a state in memory: buckets, each sorted by key.
type MemorySource map[string][]Entry

var _ Source = MemorySource{}

// Buckets iterates over the names of the buckets.
func (m MemorySource) Buckets() iter.Seq[string] { return maps.Keys(m) }

// Each iterates over a bucket.
func (m MemorySource) Each(bucket string) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for _, e := range m[bucket] {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Sort sorts the entries of every bucket by key.
func (m MemorySource) Sort() {
	for _, entries := range m {
		slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare(a.Key, b.Key) })
	}
}

// ReadSnapshot reads a file written by WriteSnapshot.
func ReadSnapshot(path string) (MemorySource, error) {
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
	// minUnpackedLimit is the memory limit, in bytes, for the entries of a small snapshot.
	minUnpackedLimit = 256 << 20
	// maxCompressionRatio is the limit of memory per file size for the entries of a large snapshot. A
	// zip bomb reaches a ratio of 1000.
	maxCompressionRatio = 32
)

// decodeSnapshot reads entries that take at most maxBytes of memory.
func decodeSnapshot(from io.Reader, maxBytes int64) (MemorySource, error) {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("it is not a snapshot of a mock cluster: %w", err)
	}
	in := bufio.NewReaderSize(packed, 1<<16)
	var header SnapshotHeader
	if raw, err := readDocument(in); err != nil || bson.Unmarshal(raw, &header) != nil || header.Kind != snapshotKind {
		return nil, errors.New("it is not a snapshot of a mock cluster")
	}
	if err := checkFormat("it", int(header.Format), SnapshotFormatVersion); err != nil {
		return nil, err
	}
	m := MemorySource{}
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
			return nil, fmt.Errorf(
				"it is too large: after %d entries it exceeds the memory limit for a snapshot of its file size", n)
		}
		m[e.Bucket] = append(m[e.Bucket], entry)
	}
	// gzip compares the checksum at the end of the data.
	if _, err := in.ReadByte(); err == nil {
		return nil, errors.New("it is damaged: it goes on after its end document")
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	m.Sort()
	return m, nil
}

// maxSnapshotEntryBytes is larger than an entry with the largest possible document.
const maxSnapshotEntryBytes = 1 << 26

func readDocument(in io.Reader) (bson.Raw, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n < 5 || n > maxSnapshotEntryBytes {
		return nil, fmt.Errorf("a document of %d bytes", n)
	}
	raw := make(bson.Raw, n)
	copy(raw, size[:])
	if _, err := io.ReadFull(in, raw[4:]); err != nil {
		return nil, err
	}
	return raw, raw.Validate()
}
