package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"
)

// Every value in the file of a directory ends with a checksum of its bucket, its
// key and itself, so that bytes that have changed are noticed. What is not there
// any more has no checksum: the bucket BucketSums has for each other bucket how
// many entries it has and the sum of their checksums, and MetaSums has the same
// of BucketSums.

// checksumBytes is the length of a checksum.
const checksumBytes = 4

// errChecksum is returned for an entry that has been altered on disk.
var errChecksum = errors.New("its checksum is wrong")

func checksum(bucket string, key, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once
	sum := crc32.Update(0, table, []byte(bucket))
	sum = crc32.Update(sum, table, []byte{0})
	sum = crc32.Update(sum, table, key)
	return crc32.Update(sum, table, value)
}

// seal returns a value as it is stored.
func seal(bucket string, key, value []byte) []byte {
	stored := make([]byte, len(value), len(value)+checksumBytes)
	copy(stored, value)
	return binary.BigEndian.AppendUint32(stored, checksum(bucket, key, value))
}

// unseal returns the value of what is stored.
func unseal(bucket string, key, stored []byte) ([]byte, error) {
	n := len(stored) - checksumBytes
	if n < 0 || storedChecksum(stored) != checksum(bucket, key, stored[:n]) {
		return nil, errChecksum
	}
	return stored[:n:n], nil
}

// storedChecksum returns the checksum of what is stored, as it says itself.
func storedChecksum(stored []byte) uint32 {
	if len(stored) < checksumBytes {
		return 0
	}
	return binary.BigEndian.Uint32(stored[len(stored)-checksumBytes:])
}

// total is how many entries a bucket has, and the sum of their checksums.
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

// totalledBucket is a bucket under change, with its total.
type totalledBucket struct {
	name   string
	bucket *bbolt.Bucket
	total  total
}

// openTotalledBucket opens a bucket to change it, and makes it when it is missing.
func openTotalledBucket(tx *bbolt.Tx, name string) (*totalledBucket, error) {
	b, err := tx.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return nil, err
	}
	b.FillPercent = 0.9 // most keys grow
	t := &totalledBucket{name: name, bucket: b}
	holder, key := totalKey(name)
	if of := tx.Bucket([]byte(holder)); of != nil && key != nil {
		if stored := of.Get(key); stored != nil {
			value, err := unseal(holder, key, stored)
			if err != nil {
				return nil, &RecordError{holder, key, err}
			}
			if t.total, err = parseTotal(value); err != nil {
				return nil, &RecordError{holder, key, err}
			}
		}
	}
	return t, nil
}

// totalKey returns where the total of a bucket is kept: nowhere for that of
// BucketMeta, all of whose entries must be there.
func totalKey(bucket string) (holder string, key []byte) {
	switch bucket {
	case BucketMeta:
		return BucketMeta, nil
	case BucketSums:
		return BucketMeta, []byte(MetaSums)
	}
	return BucketSums, []byte(bucket)
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
