package verify

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// How documents are put into ranges.
const (
	// initialRangeSize is how many documents a range has at first.
	initialRangeSize = 64
	// maxRanges is how many ranges there may be, an even number. With so many, each two
	// become one.
	maxRanges = 8192
	// maxBoundBytes is how long an _id may be, in bytes, where a range begins.
	maxBoundBytes = 512
)

// Range is the documents from an _id up to that of the next range.
type Range struct {
	// From is the lowest _id; the zero value in the first range, which begins where _ids do.
	From bson.RawValue
	Sum
}

// ErrOrder says that documents don't come in the order of _id.
var ErrOrder = errors.New("documents do not come in the order of _id")

// Scan puts documents into ranges. It keeps no document.
type Scan struct {
	ranges     []Range // but the last one complete
	perRange   int64   // documents in a range; 0 where the bounds are given
	bounds     []bson.RawValue
	beganRange bool      // the latest document began its range
	kind       bson.Type // of the latest _id
	latest     []byte
}

// NewScan returns a Scan that chooses its ranges.
func NewScan() *Scan { return &Scan{perRange: initialRangeSize, ranges: make([]Range, 1)} }

// NewScanLike returns a Scan with the ranges of another digest.
func NewScanLike(d Digest) *Scan {
	s := &Scan{ranges: make([]Range, 1)}
	for _, r := range d.Ranges[1:] {
		s.bounds = append(s.bounds, r.From)
	}
	return s
}

// Resume returns a Scan that goes on from a digest that is not finished: with the documents
// from Digest.Next on. Where its bounds are those of another digest, like is that one.
func Resume(d Digest, like *Digest) (*Scan, error) {
	s := &Scan{perRange: d.PerRange}
	if like != nil {
		s = NewScanLike(*like)
		if len(d.Ranges) > len(like.Ranges) {
			return nil, errors.New("it has other ranges than the digest that it is compared with")
		}
		for i, r := range d.Ranges {
			if !equalValues(r.From, like.Ranges[i].From) {
				return nil, errors.New("it has other ranges than the digest that it is compared with")
			}
		}
	} else if s.perRange < initialRangeSize {
		return nil, fmt.Errorf("ranges of %d documents are not possible", s.perRange)
	}
	s.ranges = slices.Clone(d.Ranges)
	s.ranges[len(s.ranges)-1].Sum = Sum{}
	return s, nil
}

func equalValues(a, b bson.RawValue) bool { return a.Type == b.Type && slices.Equal(a.Value, b.Value) }

// Put takes the next document, in the order of _id.
func (s *Scan) Put(doc bson.Raw) error {
	id, err := doc.LookupErr("_id")
	if err != nil {
		return fmt.Errorf("a document has no _id: %w", err)
	}
	order := 1
	if s.latest != nil {
		order = keyorder.Compare(id, bson.RawValue{Type: s.kind, Value: s.latest})
	}
	if from := s.last().From; order < 0 || from.Type != 0 && s.latest == nil && keyorder.Compare(id, from) < 0 {
		return ErrOrder
	}
	s.beganRange = false
	s.advance(id, order > 0)
	s.last().put(doc)
	s.kind, s.latest = id.Type, append(s.latest[:0], id.Value...)
	if s.latest == nil {
		s.latest = []byte{}
	}
	return nil
}

func (s *Scan) last() *Range { return &s.ranges[len(s.ranges)-1] }

// advance begins the range of an _id, if that is another than that of the document before.
// Equal _ids, of documents on several shards, are never told apart.
func (s *Scan) advance(id bson.RawValue, higher bool) {
	if s.perRange > 0 {
		if higher && s.last().Docs >= s.perRange && len(id.Value) <= maxBoundBytes {
			s.beginRange(bson.RawValue{Type: id.Type, Value: slices.Clone(id.Value)})
		}
		return
	}
	for n := len(s.ranges); n <= len(s.bounds) && keyorder.Compare(id, s.bounds[n-1]) >= 0; n++ {
		s.ranges = append(s.ranges, Range{From: s.bounds[n-1]})
	}
}

// beginRange begins the next range. Those before it are joined in pairs once there are too many.
func (s *Scan) beginRange(from bson.RawValue) {
	if len(s.ranges) == maxRanges {
		for i := range maxRanges / 2 {
			s.ranges[i] = Range{s.ranges[2*i].From, s.ranges[2*i].Plus(s.ranges[2*i+1].Sum)}
		}
		clear(s.ranges[maxRanges/2:])
		s.ranges = s.ranges[:maxRanges/2]
		s.perRange *= 2
	}
	s.ranges = append(s.ranges, Range{From: from})
	s.beganRange = true
}

// BeganRange reports whether the latest document is the first one of the last range: who goes on from a
// State reads it again.
func (s *Scan) BeganRange() bool { return s.beganRange }

// Total is the sum of everything put so far.
func (s *Scan) Total() Sum { return total(s.ranges) }

// State returns what there is so far. The last range of it is not complete: who goes on
// reads its documents again.
func (s *Scan) State() Digest { return Digest{PerRange: s.perRange, Ranges: slices.Clone(s.ranges)} }

// Finish returns the digest: no document comes any more.
func (s *Scan) Finish() Digest {
	for n := len(s.ranges); n <= len(s.bounds); n++ {
		s.ranges = append(s.ranges, Range{From: s.bounds[n-1]})
	}
	return Digest{PerRange: s.perRange, Ranges: slices.Clone(s.ranges), Finished: true}
}

// Digest is what a collection holds, as sums of ranges.
type Digest struct {
	// PerRange is how many documents a range has at least; 0 where the ranges are another's.
	PerRange int64
	// Ranges are all documents, without gaps: at least one.
	Ranges   []Range
	Finished bool
}

// Total is the sum of all ranges.
func (d Digest) Total() Sum { return total(d.Ranges) }

// Next is the lowest _id that a Scan has yet to read; the zero value is all.
func (d Digest) Next() bson.RawValue { return d.Ranges[len(d.Ranges)-1].From }

// End is where a range ends: the _id from which the next one has the documents; the zero
// value in the last one.
func (d Digest) End(i int) bson.RawValue {
	if i+1 < len(d.Ranges) {
		return d.Ranges[i+1].From
	}
	return bson.RawValue{}
}

// Differ returns which ranges of two finished digests with the same bounds differ.
func Differ(before, after Digest) (list []int) {
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
