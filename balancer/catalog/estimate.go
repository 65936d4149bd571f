package catalog

import (
	"math"
	"slices"
)

// Estimate is the size of a chunk that a defragmentation measured (estimatedDataSizeBytes,
// rules/02-defragmentation-and-merging §2.1). The zero value is not measured, which is something else
// from measured and empty.
type Estimate int64

// TooBig is the size of a chunk that is known not to be small, however large
// it may be.
const TooBig int64 = math.MaxInt64

// NewEstimate returns a measured size in bytes, 0 to TooBig.
func NewEstimate(bytes int64) Estimate { return Estimate(bytes + 1) } // TooBig wraps around, and back

// Known reports whether the chunk was measured.
func (e Estimate) Known() bool { return e != 0 }

// Bytes returns the size; it means something only when Known.
func (e Estimate) Bytes() int64 { return int64(e) - 1 }

// Int32 returns the size as config.chunks has it, and false where that is an int64: servers keep
// what fits as an int32.
func (e Estimate) Int32() (int32, bool) {
	n := int32(e.Bytes())
	return n, int64(n) == e.Bytes()
}

// Plus returns the size of two chunks merged: too big if one of them is.
func (e Estimate) Plus(o Estimate) Estimate {
	a, b := e.Bytes(), o.Bytes()
	if a > TooBig-b {
		return NewEstimate(TooBig)
	}
	return NewEstimate(a + b)
}

// WithoutEstimates returns the table with no chunk measured. It shares the
// blocks in which none is.
func (t *RoutingTable) WithoutEstimates() *RoutingTable {
	next := *t
	next.shelves = make([]*blockGroup, len(t.shelves))
	for i, s := range t.shelves {
		next.shelves[i] = s.withoutEstimates()
	}
	return &next
}

func (s *blockGroup) withoutEstimates() *blockGroup {
	if !slices.ContainsFunc(s.blocks, func(b *block) bool { return b.sizes != nil }) {
		return s
	}
	next := *s
	next.blocks = slices.Clone(s.blocks)
	for i, b := range next.blocks {
		if b.sizes != nil {
			unmeasured := *b
			unmeasured.sizes = nil
			next.blocks[i] = &unmeasured
		}
	}
	return &next
}
