package disk

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// writeTx writes entries and updates the totals in one transaction.
type writeTx struct {
	tx             *bbolt.Tx
	buckets        map[string]*totalledBucket
	deletedBuckets map[string]bool // deleted buckets, whose recorded total is obsolete
}

// write writes entries in order.
func write(tx *bbolt.Tx, entries []Entry) error {
	c := writeTx{tx, map[string]*totalledBucket{}, map[string]bool{}}
	for _, e := range entries {
		if err := c.writeEntry(e); err != nil {
			return fmt.Errorf("bucket %s: %w", e.Bucket, err)
		}
	}
	return c.writeTotals()
}

func (w *writeTx) writeEntry(e Entry) error {
	if e.Key == nil {
		delete(w.buckets, e.Bucket)
		w.deletedBuckets[e.Bucket] = true
		if err := w.tx.DeleteBucket([]byte(e.Bucket)); !errors.Is(err, bolterrors.ErrBucketNotFound) {
			return err
		}
		return nil
	}
	b, err := w.bucket(e.Bucket)
	if err != nil {
		return err
	}
	if e.Value == nil {
		return b.delete(e.Key)
	}
	return b.put(e.Key, e.Value)
}

func (w *writeTx) bucket(name string) (*totalledBucket, error) {
	if b := w.buckets[name]; b != nil {
		return b, nil
	}
	b, err := openTotalledBucket(w.tx, name)
	if err != nil {
		return nil, err
	}
	if w.deletedBuckets[name] { // the recorded total belongs to the deleted bucket
		b.total = total{}
		delete(w.deletedBuckets, name)
	}
	w.buckets[name] = b
	return b, nil
}

// writeTotals writes the totals of the changed buckets, and last the total of BucketTotals.
func (w *writeTx) writeTotals() error {
	sums, err := w.bucket(BucketTotals)
	if err != nil {
		return err
	}
	for name := range w.deletedBuckets {
		if err := sums.delete([]byte(name)); err != nil {
			return err
		}
	}
	for name, b := range w.buckets {
		if holder, key := totalKey(name); holder == BucketTotals {
			if err := sums.put(key, b.total.bytes()); err != nil {
				return err
			}
		}
	}
	meta, err := w.bucket(BucketMeta)
	if err != nil {
		return err
	}
	return meta.put([]byte(MetaTotals), sums.total.bytes())
}
