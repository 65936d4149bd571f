package store

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// keyRange is a range of index keys, [from, to); a nil to is unbounded.
type keyRange struct{ from, to []byte }

// maxRanges is the maximum number of ranges of a scan. If there are more, they are read as one range and
// filtered.
const maxRanges = 10_000

// keyRanges returns the key ranges that contain all keys within the bounds. checked is the number of
// fields whose bounds the ranges enforce.
func (a *accessPath) keyRanges() (list []keyRange, checked int) {
	prefixes := [][]byte{nil}
	for i, b := range a.bounds {
		if !b.areAllPoints() || len(prefixes)*len(b) > maxRanges {
			return prefixRanges(prefixes, b), i + 1
		}
		var next [][]byte
		for _, p := range prefixes {
			for _, v := range b {
				next = append(next, slices.Concat(p, v.low.key))
			}
		}
		prefixes = next
	}
	for _, p := range prefixes {
		list = append(list, keyRange{p, prefixSuccessor(p)})
	}
	return list, len(a.bounds)
}

func prefixRanges(prefixes [][]byte, b bounds) []keyRange {
	var list []keyRange
	for _, p := range prefixes {
		for _, i := range b {
			r := keyRange{slices.Concat(p, i.low.key), slices.Concat(p, i.high.key)}
			if !i.low.included {
				r.from = prefixSuccessor(r.from)
			}
			if i.high.included {
				r.to = prefixSuccessor(r.to)
			}
			list = append(list, r)
		}
	}
	return list
}

// prefixSuccessor returns the first key after all keys with a prefix.
func prefixSuccessor(prefix []byte) []byte {
	b := slices.Clone(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}

// scannedEntry is one index entry that a scan visited.
type scannedEntry struct {
	id       RecordID
	key      []byte
	inBounds bool // its key is in the bounds
	isSeek   bool // the first entry of a range
}

// scanEntries iterates over all entries that a scan of the bounds examines.
func (a *accessPath) scanEntries() iter.Seq[scannedEntry] {
	ranges, checked := a.keyRanges()
	if a.hasMinMax {
		ranges = slices.DeleteFunc(ranges, func(r keyRange) bool {
			return a.to != nil && bytes.Compare(r.from, a.to) >= 0 ||
				a.from != nil && r.to != nil && bytes.Compare(r.to, a.from) <= 0
		})
		for i, r := range ranges {
			if bytes.Compare(r.from, a.from) < 0 {
				ranges[i].from = a.from
			}
			if a.to != nil && (r.to == nil || bytes.Compare(a.to, r.to) < 0) {
				ranges[i].to = a.to
			}
		}
	}
	if a.readsFromEnd {
		slices.Reverse(ranges)
	}
	return func(yield func(scannedEntry) bool) {
		for _, r := range ranges {
			seek := true
			for id, key := range a.walkRange(r) {
				if a.readsFromEnd && bytes.Compare(key, r.from) < 0 || !a.readsFromEnd && r.to != nil &&
					bytes.Compare(key, r.to) >= 0 {
					break
				}
				if !yield(scannedEntry{RecordID(id), key, a.isInBounds(key, checked), seek}) {
					return
				}
				seek = false
			}
		}
	}
}

// walkRange iterates over a range from the end at which the scan begins.
func (a *accessPath) walkRange(r keyRange) iter.Seq2[uint64, []byte] {
	switch {
	case !a.readsFromEnd:
		return a.index.entries.From(r.from)
	case r.to == nil:
		return a.index.entries.Backward()
	}
	return a.index.entries.BackwardBelow(r.to)
}

// isInBounds reports whether the fields of a key that its range does not enforce are within their
// bounds.
func (a *accessPath) isInBounds(key []byte, checked int) bool {
	if checked == len(a.bounds) {
		return true
	}
	for i, b := range a.bounds {
		n := keyorder.EncodedSize(key)
		if n == 0 {
			return true
		}
		if i >= checked && !b.isUnbounded() && !b.contains(key[:n]) {
			return false
		}
		key = key[n:]
	}
	return true
}

// Counts are the execution counters of a plan.
type Counts struct {
	Keys, Docs, Seeks       int64
	DupsTested, DupsDropped int64
	// Found is the number of documents that the scan returned, Matched of those that match, Owned of
	// those that the reader kept.
	Found, Matched, Owned int64
	branches              []*Counts
}

// Run iterates over the matching documents and counts. It ends at the first error of an expression, or
// with the cause of ctx when ctx ends.
func (p *Plan) Run(ctx context.Context, counts *Counts) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		var key []byte
		w := quota.New(ctx)
		for id, doc := range p.candidatesWithKey(w, counts, &key) {
			counts.Found++
			ok, err := p.query.Filter.TestMetered(w, doc)
			if err == nil && !ok {
				continue
			}
			counts.Matched++
			if !yield(Found{id, doc, key}, err) || err != nil {
				return
			}
		}
		if err := w.Err(); err != nil { // the error that ended the walk
			yield(Found{}, err)
		}
	}
}

// Found is a document with its record id and the key of the index entry that led to it; the key is nil
// without an index.
type Found struct {
	ID  RecordID
	Doc bson.Raw
	key []byte
}

// IndexKeyOf returns the document for returnKey: the values in the used index.
func (p *Plan) IndexKeyOf(f Found) bson.Raw {
	if p.index == nil {
		return document.Empty
	}
	b, start := document.Open(nil)
	key := f.key
	for _, field := range p.index.fields {
		n := keyorder.EncodedSize(key)
		b = document.Append(b, field.name, field.valueOf(f.Doc, key[:n]))
		key = key[n:]
	}
	return document.Close(b, start)
}

// valueOf returns the value of a document to which an index key belongs.
func (f indexField) valueOf(doc bson.Raw, key []byte) value.Value {
	found := value.Null()
	if f.hashed {
		return value.Int64(keyorder.Hash(paths.LookupPath(doc, f.path)))
	}
	same := func(v value.Value) {
		if !value.IsMissing(v) && bytes.Equal(keyorder.Append(nil, v), key) {
			found = v
		}
	}
	paths.Walk(nil, doc, f.path, true, func(v value.Value, _ int) bool {
		same(v)
		return false
	})
	return found
}

// WithRecordID adds the record id for showRecordId to a document.
func WithRecordID(doc bson.Raw, id RecordID) bson.Raw {
	return document.WithField(doc, "$recordId", value.Int64(int64(id)))
}

// IsSorted reports whether the documents come in the requested order.
func (p *Plan) IsSorted() bool { return p.sorted || document.IsEmpty(p.query.Sort) }

// candidates iterates over a superset of the matching documents, each once.
func (p *Plan) candidates(counts *Counts) iter.Seq2[RecordID, bson.Raw] {
	var key []byte
	return p.candidatesWithKey(nil, counts, &key)
}

// candidatesWithKey is like candidates. It stores the index key of each entry in key, and stops when the
// meter ends.
func (p *Plan) candidatesWithKey(w *quota.Meter, counts *Counts, key *[]byte) iter.Seq2[RecordID, bson.Raw] {
	records := &p.coll.records
	switch {
	case p.branches != nil:
		return p.branchCandidates(w, counts)
	case p.index == nil:
		return func(yield func(RecordID, bson.Raw) bool) {
			walk := records.All()
			if p.readsFromEnd {
				walk = records.Backward()
			}
			for id, doc := range walk {
				if counts.Docs++; w.Charge(1) != nil || !yield(RecordID(id), doc) {
					return
				}
			}
		}
	}
	entries := p.scanEntries()
	var seen map[RecordID]bool
	if p.index.IsMultikey() {
		seen = map[RecordID]bool{}
	}
	return func(yield func(RecordID, bson.Raw) bool) {
		for e := range entries {
			if counts.Keys++; w.Charge(1) != nil {
				return
			}
			if e.isSeek {
				counts.Seeks++
			}
			if !e.inBounds {
				continue
			}
			if seen != nil {
				counts.DupsTested++
				if seen[e.id] {
					counts.DupsDropped++
					continue
				}
				seen[e.id] = true
			}
			counts.Docs++
			*key = e.key
			if doc, ok := records.Get(uint64(e.id)); ok && !yield(e.id, doc) {
				return
			}
		}
	}
}

func (p *Plan) branchCandidates(w *quota.Meter, counts *Counts) iter.Seq2[RecordID, bson.Raw] {
	seen := map[RecordID]bool{}
	return func(yield func(RecordID, bson.Raw) bool) {
		for _, b := range p.branches {
			part := &Counts{}
			counts.branches = append(counts.branches, part)
			var key []byte
			for id, doc := range b.candidatesWithKey(w, part, &key) {
				part.Found++
				counts.DupsTested++
				if seen[id] {
					counts.DupsDropped++
					continue
				}
				seen[id] = true
				if !yield(id, doc) {
					counts.add(part)
					return
				}
			}
			counts.add(part)
		}
	}
}

func (c *Counts) add(part *Counts) {
	c.Keys += part.Keys
	c.Docs += part.Docs
	c.Seeks += part.Seeks
}
