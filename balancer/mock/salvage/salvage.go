// Package salvage tells what is damaged in the file of a cluster on disk
// (package disk), and makes a cluster of what can still be read.
package salvage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/disk"
)

// Report says what was found in a directory.
type Report struct {
	Entries int
	Bytes   int64
	// Damages are what is not as it was written, a line each; and Losses what is
	// not in the cluster that was saved, or not as it was.
	Damages, Losses []string
	// Broken are contradictions in what can be read.
	Broken []string
	// Damaged is the file with what was there before.
	Damaged string
}

// Whole reports whether all is as it was written.
func (r *Report) Whole() bool { return len(r.Damages)+len(r.Losses)+len(r.Broken) == 0 }

// Verify reads all of a directory's cluster and changes nothing.
func Verify(dir string) (*Report, error) {
	w, r, err := open(dir)
	if err != nil {
		return nil, err
	}
	if _, err := w.restore(r); err != nil {
		return nil, err
	}
	return r, nil
}

// Salvage puts a cluster with all that can be read in the place of one that is
// damaged. The damaged file stays under another name. It changes nothing where
// nothing is damaged.
func Salvage(dir string) (*Report, error) {
	w, r, err := open(dir)
	if err != nil {
		return nil, err
	}
	all, err := w.restore(r)
	if err != nil || r.Whole() {
		return r, err
	}
	r.Damaged, err = disk.PutSalvaged(dir, all)
	return r, err
}

func open(dir string) (*wreck, *Report, error) {
	memory, found, err := disk.Salvage(dir)
	if err != nil {
		return nil, nil, err
	}
	w := &wreck{Memory: memory, emptied: map[string]bool{}}
	w.name()
	r := &Report{Entries: found.Entries, Bytes: found.Bytes}
	for _, d := range found.Damages {
		r.Damages = append(r.Damages, w.tell(d))
	}
	return w, r, nil
}

// wreck is what could be read.
type wreck struct {
	disk.Memory
	shards map[uint64]string // names by number
	// places are the collections, by number, and the tables' namespaces.
	places map[uint64]place
	tables map[uint64]string
	// members are the shards that the cluster has.
	members map[string]bool
	// emptied are the buckets of chunks that were given up.
	emptied map[string]bool
}

// mostPasses is more than there are entries without which others can't be used.
const mostPasses = 1000

// restore leaves away what can't be used until a cluster can be made of the
// rest.
func (w *wreck) restore(r *Report) (all func(func(disk.Entry)), err error) {
	lose := func(format string, args ...any) { r.Losses = append(r.Losses, fmt.Sprintf(format, args...)) }
	w.replaceState(lose)
	for range mostPasses {
		if err := w.mendMetadata(lose); err != nil {
			return nil, err
		}
		w.nameless(lose)
		w.fillGaps(lose)
		all, broken, err := mock.Restored(w.Memory)
		var record *disk.RecordError
		switch {
		case err == nil:
			r.Broken = broken
			return all, nil
		case !errors.As(err, &record) || !w.give(record, lose):
			return nil, err
		}
		w.name()
	}
	return nil, errors.New("hardly anything of it can be used")
}

// give gives up what can't be used: an entry, or the chunks of a table, the
// first time. It reports whether there was anything to give up.
func (w *wreck) give(record *disk.RecordError, lose func(string, ...any)) bool {
	lost := w.entry(record.Bucket, record.Key, nil) + w.documents(record.Bucket, record.Key)
	defer lose("%s: it can't be used: %v", lost, record.Err)
	if record.Bucket == disk.BucketTables {
		for number, ns := range w.tables {
			chunks := disk.Numbered(disk.BucketChunks, number)
			if ns == string(record.Key) && !w.emptied[chunks] {
				w.emptied[chunks] = true
				delete(w.Memory, chunks)
				return true
			}
		}
	}
	return w.drop(record.Bucket, record.Key)
}

// drop takes an entry away, and reports whether it was there.
func (w *wreck) drop(bucket string, key []byte) bool {
	before := len(w.Memory[bucket])
	w.Memory[bucket] = slices.DeleteFunc(w.Memory[bucket], func(e disk.Entry) bool {
		return string(e.Key) == string(key)
	})
	return len(w.Memory[bucket]) < before
}

// documents says how many documents go with an entry that is a collection.
func (w *wreck) documents(bucket string, key []byte) string {
	number, err := disk.KeyNumber(key)
	if bucket != disk.BucketCollections || err != nil {
		return ""
	}
	at := w.places[number]
	return fmt.Sprintf(", %s on %s with %d documents", at.form.Namespace, at.on,
		len(w.Memory[disk.Numbered(disk.BucketDocuments, number)]))
}

// nameless gives up documents whose collection is lost.
func (w *wreck) nameless(lose func(string, ...any)) {
	for _, bucket := range slices.Sorted(w.Memory.Buckets()) {
		rest, isDocuments := strings.CutPrefix(bucket, disk.BucketDocuments)
		number, err := strconv.ParseUint(rest, 10, 64)
		if _, known := w.places[number]; isDocuments && err == nil && !known {
			lose("%d documents of a lost collection (%s)", len(w.Memory[bucket]), bucket)
			delete(w.Memory, bucket)
		}
	}
}

// replaceState takes the clocks and counters of a new cluster where those of
// this one are lost.
func (w *wreck) replaceState(lose func(string, ...any)) {
	for _, e := range mock.FreshState() {
		have := slices.ContainsFunc(w.Memory[disk.BucketMeta], func(m disk.Entry) bool {
			return string(m.Key) == string(e.Key)
		})
		if !have {
			w.Memory[disk.BucketMeta] = append(w.Memory[disk.BucketMeta], e)
			lose("the %s of the cluster: that of a new one takes its place", string(e.Key))
		}
	}
}
