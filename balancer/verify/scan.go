package verify

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Limits of the ranges.
const (
	// initialDocsPerRange is the initial number of documents in a range.
	initialDocsPerRange = 64
	// maxRanges is the maximum number of ranges, an even number. When it is reached, pairs of ranges
	// are joined.
	maxRanges = 8192
	// maxBoundBytes is the maximum size of an _id at which a range begins.
	maxBoundBytes = 512
)

// Range holds the documents from an _id up to that of the next range.
type Range struct {
	// From is the lowest _id; the zero value in the first range, which has no lower bound.
	From bson.RawValue
	Sum
}

// ErrOrder says that documents do not arrive in the order of _id.
var ErrOrder = errors.New("documents do not come in the order of _id")

// Scan groups documents into ranges. It stores no documents.
type Scan struct {
	ranges       []Range // all but the last one are complete
	docsPerRange int64   // documents in a range; 0 for given bounds
	bounds       []bson.RawValue
	beganRange   bool      // the latest document was the first of its range
	latestType   bson.Type // type of the latest _id
	latest       []byte
}

// NewScan returns a Scan that chooses its own ranges.
func NewScan() *Scan { return &Scan{docsPerRange: initialDocsPerRange, ranges: make([]Range, 1)} }

// NewScanLike returns a Scan with the ranges of another digest.
func NewScanLike(d Digest) *Scan {
	s := &Scan{ranges: make([]Range, 1)}
	for _, r := range d.Ranges[1:] {
		s.bounds = append(s.bounds, r.From)
	}
	return s
}

// Resume returns a Scan that continues from an unfinished digest, with the documents from Digest.NextID
// on. If the bounds were those of another digest, like is that digest.
func Resume(d Digest, like *Digest) (*Scan, error) {
	s := &Scan{docsPerRange: d.DocsPerRange}
	if like != nil {
		s = NewScanLike(*like)
		if len(d.Ranges) > len(like.Ranges) {
			return nil, errors.New("it has other ranges than the digest that it is compared with")
		}
		for i, r := range d.Ranges {
			if !r.From.Equal(like.Ranges[i].From) {
				return nil, errors.New("it has other ranges than the digest that it is compared with")
			}
		}
	} else if s.docsPerRange < initialDocsPerRange {
		return nil, fmt.Errorf("ranges of %d documents are not possible", s.docsPerRange)
	}
	s.ranges = slices.Clone(d.Ranges)
	s.ranges[len(s.ranges)-1].Sum = Sum{}
	return s, nil
}

// Put adds the next document, in the order of _id.
func (s *Scan) Put(doc bson.Raw) error {
	id, err := doc.LookupErr("_id")
	if err != nil {
		return fmt.Errorf("a document has no _id: %w", err)
	}
	order := 1
	if s.latest != nil {
		order = keyorder.Compare(id, bson.RawValue{Type: s.latestType, Value: s.latest})
	}
	if from := s.last().From; order < 0 || from.Type != 0 && s.latest == nil && keyorder.Compare(id, from) < 0 {
		return ErrOrder
	}
	s.beganRange = false
	s.advance(id, order > 0)
	s.last().put(doc)
	s.latestType, s.latest = id.Type, append(s.latest[:0], id.Value...)
	if s.latest == nil {
		s.latest = []byte{}
	}
	return nil
}

func (s *Scan) last() *Range { return &s.ranges[len(s.ranges)-1] }

// advance begins a new range if the _id is different from that of the previous document and the range
// is full. Documents with equal _ids, on several shards, always stay in the same range.
func (s *Scan) advance(id bson.RawValue, higher bool) {
	if s.docsPerRange > 0 {
		if higher && s.last().Docs >= s.docsPerRange && len(id.Value) <= maxBoundBytes {
			s.beginRange(bson.RawValue{Type: id.Type, Value: slices.Clone(id.Value)})
		}
		return
	}
	for n := len(s.ranges); n <= len(s.bounds) && keyorder.Compare(id, s.bounds[n-1]) >= 0; n++ {
		s.ranges = append(s.ranges, Range{From: s.bounds[n-1]})
	}
}

// beginRange begins a new range. It joins the earlier ranges in pairs if there are too many.
func (s *Scan) beginRange(from bson.RawValue) {
	if len(s.ranges) == maxRanges {
		for i := range maxRanges / 2 {
			s.ranges[i] = Range{s.ranges[2*i].From, s.ranges[2*i].Plus(s.ranges[2*i+1].Sum)}
		}
		clear(s.ranges[maxRanges/2:])
		s.ranges = s.ranges[:maxRanges/2]
		s.docsPerRange *= 2
	}
	s.ranges = append(s.ranges, Range{From: from})
	s.beganRange = true
}

// BeganRange reports whether the latest document is the first one of the last range. A caller that
// resumes from a State reads this document again.
func (s *Scan) BeganRange() bool { return s.beganRange }

// Total returns the sum of all documents so far.
func (s *Scan) Total() Sum { return total(s.ranges) }

// State returns the digest so far. Its last range is incomplete: a caller that resumes reads the
// documents of that range again.
func (s *Scan) State() Digest {
	return Digest{DocsPerRange: s.docsPerRange, Ranges: slices.Clone(s.ranges)}
}

// Finish returns the digest after the last document.
func (s *Scan) Finish() Digest {
	for n := len(s.ranges); n <= len(s.bounds); n++ {
		s.ranges = append(s.ranges, Range{From: s.bounds[n-1]})
	}
	return Digest{DocsPerRange: s.docsPerRange, Ranges: slices.Clone(s.ranges), Finished: true}
}

// Digest describes the documents of a collection as sums of ranges.
type Digest struct {
	// DocsPerRange is the minimum number of documents in a range; 0 where the ranges are those of another
	// digest.
	DocsPerRange int64
	// Ranges cover all documents, without gaps. There is at least one range.
	Ranges   []Range
	Finished bool
}

// Total returns the sum of all ranges.
func (d Digest) Total() Sum { return total(d.Ranges) }

// NextID returns the lowest _id that a Scan has yet to read; the zero value means all.
func (d Digest) NextID() bson.RawValue { return d.Ranges[len(d.Ranges)-1].From }

// RangeEnd returns the end of a range: the From of the next range, or the zero value for the last range.
func (d Digest) RangeEnd(i int) bson.RawValue {
	if i+1 < len(d.Ranges) {
		return d.Ranges[i+1].From
	}
	return bson.RawValue{}
}

// DifferingRanges returns the indexes of the ranges that differ, of two finished digests with the same bounds.
func DifferingRanges(before, after Digest) (list []int) {
	for i, r := range before.Ranges {
		if r.Sum != after.Ranges[i].Sum {
			list = append(list, i)
		}
	}
	return list
}

func total(ranges []Range) (sum Sum) {
	for _, r := range ranges {
		sum = sum.Plus(r.Sum)
	}
	return sum
}
