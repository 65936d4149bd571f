package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"

	"shardsh/balancer/catalog"
)

// Both directories and snapshots store the state of a cluster as entries in buckets. The documents of
// the state are BSON; user documents are stored unchanged.

// FormatVersion is the format of a directory's file. It is increased when files of older programs cannot
// be read unchanged.
const FormatVersion = 2

// formatWithoutChecksums is the format before checksums. Open rewrites such files.
const formatWithoutChecksums = 1

// The buckets. A name that ends in a slash is followed by the number of the collection or routing table
// whose contents the bucket holds.
const (
	BucketMeta            = "meta"        // format, state, parameters
	BucketTotals          = "sums"        // totals of the other buckets by name
	BucketShards          = "shards"      // by number
	BucketCollections     = "collections" // by number
	BucketTables          = "tables"      // by namespace
	BucketViews           = "views"       // by namespace
	BucketDeletions       = "deletions"   // by number
	BucketUsers           = "users"       // by database and name
	BucketRetryableWrites = "writes"      // retryable writes by session
	BucketDocuments       = "documents/"  // by record
	BucketVirtualRanges   = "extents/"    // virtual data, by lower bound
	BucketChunks          = "chunks/"     // by lower bound
)

// Keys of BucketMeta.
const (
	MetaFormat     = "format"
	MetaState      = "state"
	MetaParameters = "parameters"
	MetaTotals     = "sums"
)

// Entry is one value to write. A nil Value deletes the entry, a nil Key deletes the whole bucket.
type Entry struct {
	Bucket     string
	Key, Value []byte
}

// entryOverhead is the approximate memory, in bytes, of an entry besides its key and value.
const entryOverhead = 96

// size returns the approximate memory of the entry in bytes.
func (e Entry) size() int { return entryOverhead + len(e.Key) + len(e.Value) }

// Source is a readable state.
type Source interface {
	// Buckets iterates over the names of the buckets.
	Buckets() iter.Seq[string]
	// Each iterates over a bucket in key order. The yielded slices are valid until the next step.
	Each(bucket string) iter.Seq2[[]byte, []byte]
}

// EntryError is the error for an invalid entry of a state.
type EntryError struct {
	Bucket string
	Key    []byte
	Err    error
}

func (e *EntryError) Error() string {
	kind, number, contents := strings.Cut(e.Bucket, "/")
	if kind = strings.TrimSuffix(kind, "s"); contents {
		return fmt.Sprintf("%s %x of %s: %s", kind, e.Key, number, e.Err)
	}
	return fmt.Sprintf("%s %q: %s", kind, e.Key, e.Err)
}

func (e *EntryError) Unwrap() error { return e.Err }

// Read calls read for each entry of a bucket in key order. It stops with an *EntryError at the first
// entry for which read fails.
func Read(from Source, bucket string, read func(key, value []byte) error) error {
	for key, value := range from.Each(bucket) {
		if err := read(key, value); err != nil {
			if errors.As(err, new(*EntryError)) {
				return err // of an entry that belongs to this one
			}
			return &EntryError{bucket, append([]byte(nil), key...), err}
		}
	}
	return nil
}

// NumberKey returns the key for a number.
func NumberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// ParseNumberKey returns the number of a key made by NumberKey.
func ParseNumberKey(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("key %x is not a number", key)
	}
	return binary.BigEndian.Uint64(key), nil
}

// NumberedBucket returns the name of the bucket for the contents of a numbered object.
func NumberedBucket(bucket string, n uint64) string { return fmt.Sprintf("%s%d", bucket, n) }

// MaxKeyBytes is the longest key that is stored unchanged; bbolt accepts 32 KiB.
const MaxKeyBytes = 4096

// BoundKey returns the key for a range that begins at a bound. Keys longer than MaxKeyBytes are hashed
// and lose their order.
func BoundKey(k catalog.Key) []byte {
	key := k.Bytes()
	if len(key) <= MaxKeyBytes {
		return key
	}
	sum := sha256.Sum256(key)
	return append(key[:MaxKeyBytes:MaxKeyBytes], sum[:]...)
}

// checkFormat rejects files written by a newer program.
func checkFormat(what string, format, newest int) error {
	if format > newest {
		return fmt.Errorf("%s was written by a newer shardsh: it has format %d, this version reads formats up to %d",
			what, format, newest)
	}
	return nil
}
