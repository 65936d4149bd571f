package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"
)

// Every value in a directory's file ends with a checksum of its bucket, key and value, so that altered
// bytes are detected. To detect missing entries, BucketTotals holds the number of entries of every other
// bucket and the sum of their checksums. MetaTotals holds the same for BucketTotals.

// checksumBytes is the length of a checksum.
const checksumBytes = 4

// errChecksum is the error for an entry that was altered on disk.
var errChecksum = errors.New("its checksum is wrong")

func checksum(bucket string, key, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // computed once
	sum := crc32.Update(0, table, []byte(bucket))
	sum = crc32.Update(sum, table, []byte{0})
	sum = crc32.Update(sum, table, key)
	return crc32.Update(sum, table, value)
}

// seal appends the checksum to a value for storage.
func seal(bucket string, key, value []byte) []byte {
	stored := make([]byte, len(value), len(value)+checksumBytes)
	copy(stored, value)
	return binary.BigEndian.AppendUint32(stored, checksum(bucket, key, value))
}

// unseal checks and removes the checksum of a stored value.
func unseal(bucket string, key, stored []byte) ([]byte, error) {
	n := len(stored) - checksumBytes
	if n < 0 || storedChecksum(stored) != checksum(bucket, key, stored[:n]) {
		return nil, errChecksum
	}
	return stored[:n:n], nil
}

// storedChecksum returns the checksum at the end of a stored value without checking it.
func storedChecksum(stored []byte) uint32 {
	if len(stored) < checksumBytes {
		return 0
	}
	return binary.BigEndian.Uint32(stored[len(stored)-checksumBytes:])
}

// total is the number of entries of a bucket and the sum of their checksums.
type total struct{ entries, sum uint64 }

func (t *total) add(stored []byte) {
	t.entries++
	t.sum += uint64(storedChecksum(stored))
}

func (t *total) remove(stored []byte) {
	t.entries--
	t.sum -= uint64(storedChecksum(stored))
}

func (t total) bytes() []byte {
	return binary.BigEndian.AppendUint64(NumberKey(t.entries), t.sum)
}

func parseTotal(value []byte) (total, error) {
	if len(value) != 16 {
		return total{}, fmt.Errorf("a total of %d bytes", len(value))
	}
	return total{binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])}, nil
}

// totalledBucket is a bucket being changed, with its total.
type totalledBucket struct {
	name   string
	bucket *bbolt.Bucket
	total  total
}

// openTotalledBucket opens a bucket for changes and creates it if it is missing.
func openTotalledBucket(tx *bbolt.Tx, name string) (*totalledBucket, error) {
	b, err := tx.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return nil, err
	}
	b.FillPercent = 0.9 // most keys are appended
	t := &totalledBucket{name: name, bucket: b}
	holder, key := totalKey(name)
	if of := tx.Bucket([]byte(holder)); of != nil && key != nil {
		if stored := of.Get(key); stored != nil {
			value, err := unseal(holder, key, stored)
			if err != nil {
				return nil, &EntryError{holder, key, err}
			}
			if t.total, err = parseTotal(value); err != nil {
				return nil, &EntryError{holder, key, err}
			}
		}
	}
	return t, nil
}

// totalKey returns the bucket and the key under which the total of a bucket is stored. BucketMeta has no
// total, because all of its entries are required.
func totalKey(bucket string) (holder string, key []byte) {
	switch bucket {
	case BucketMeta:
		return BucketMeta, nil
	case BucketTotals:
		return BucketMeta, []byte(MetaTotals)
	}
	return BucketTotals, []byte(bucket)
}

func (t *totalledBucket) put(key, value []byte) error {
	if was := t.bucket.Get(key); was != nil {
		t.total.remove(was)
	}
	stored := seal(t.name, key, value)
	t.total.add(stored)
	return t.bucket.Put(key, stored)
}

func (t *totalledBucket) delete(key []byte) error {
	was := t.bucket.Get(key)
	if was == nil {
		return nil
	}
	t.total.remove(was)
	return t.bucket.Delete(key)
}
