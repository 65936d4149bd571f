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

// The state of a cluster is kept as entries in buckets, in a directory as in a
// snapshot. Documents of the state are BSON; those of users are as they are.

// FormatVersion is the format of a directory's file. It goes up when what older
// programs wrote can't be read as it is.
const FormatVersion = 2

// formatWithoutSums had no checksums. Its files are rewritten when they are
// opened.
const formatWithoutSums = 1

// The buckets. Those that end in a slash have a number after it: that of the
// collection or the routing table whose contents they hold.
const (
	BucketMeta        = "meta"        // format, state, parameters
	BucketSums        = "sums"        // by name, the totals of the other buckets
	BucketShards      = "shards"      // by number
	BucketCollections = "collections" // by number
	BucketTables      = "tables"      // by namespace
	BucketViews       = "views"       // by namespace
	BucketDeletions   = "deletions"   // by number
	BucketUsers       = "users"       // by database and name
	BucketWrites      = "writes"      // retryable writes by session
	BucketDocuments   = "documents/"  // by record
	BucketExtents     = "extents/"    // virtual data, by lower bound
	BucketChunks      = "chunks/"     // by lower bound
)

// Keys of BucketMeta.
const (
	MetaFormat     = "format"
	MetaState      = "state"
	MetaParameters = "parameters"
	MetaSums       = "sums"
)

// Entry is one value of the state, as it is to be written. A nil value says
// that there is none any more, a nil key that the whole bucket is gone.
type Entry struct {
	Bucket     string
	Key, Value []byte
}

// entryOverhead is about what an entry takes besides its bytes.
const entryOverhead = 96

// size is about what the entry takes in memory, in bytes.
func (e Entry) size() int { return entryOverhead + len(e.Key) + len(e.Value) }

// Source is where a state is read from.
type Source interface {
	// Buckets walks the names of the buckets that are there.
	Buckets() iter.Seq[string]
	// Each walks a bucket in the order of its keys. What it gives is good until
	// the next step.
	Each(bucket string) iter.Seq2[[]byte, []byte]
}

// RecordError names the entry of a state that can't be read.
type RecordError struct {
	Bucket string
	Key    []byte
	Err    error
}

func (e *RecordError) Error() string {
	kind, number, contents := strings.Cut(e.Bucket, "/")
	if kind = strings.TrimSuffix(kind, "s"); contents {
		return fmt.Sprintf("%s %x of %s: %s", kind, e.Key, number, e.Err)
	}
	return fmt.Sprintf("%s %q: %s", kind, e.Key, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// Read hands the entries of a bucket to a reader, in the order of their keys.
// It stops with a *RecordError at the first one that the reader refuses.
func Read(from Source, bucket string, read func(key, value []byte) error) error {
	for key, value := range from.Each(bucket) {
		if err := read(key, value); err != nil {
			if errors.As(err, new(*RecordError)) {
				return err // of what belongs to this entry
			}
			return &RecordError{bucket, append([]byte(nil), key...), err}
		}
	}
	return nil
}

// NumberKey returns the key of what is kept under a number.
func NumberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// KeyNumber returns the number of a key that NumberKey has made.
func KeyNumber(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("key %x is not a number", key)
	}
	return binary.BigEndian.Uint64(key), nil
}

// NumberedBucket returns the bucket with the contents of what has a number.
func NumberedBucket(bucket string, n uint64) string { return fmt.Sprintf("%s%d", bucket, n) }

// MaxKeyBytes is the longest key that is kept as it is; bbolt takes 32 KiB.
const MaxKeyBytes = 4096

// BoundKey returns the key of what begins at a bound. Those of very long
// bounds, which come out longer than MaxKeyBytes, are in no order.
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
		return fmt.Errorf("%s was written by a newer shardsh: it has format %d, this one reads up to %d",
			what, format, newest)
	}
	return nil
}
