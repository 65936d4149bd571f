package catalog

import (
	"math"
	"slices"
)

// Estimate is the size of a chunk that a defragmentation has measured (estimatedDataSizeBytes,
// rules/02-defragmentation-and-merging §2.1). The zero value means that the size was not measured,
// which is distinct from a measured size of zero.
type Estimate int64

// TooBig is the size of a chunk that is known not to be small, whatever its exact size.
const TooBig int64 = math.MaxInt64

// NewEstimate returns a measured size in bytes, 0 to TooBig.
func NewEstimate(bytes int64) Estimate { return Estimate(bytes + 1) } // TooBig overflows here, and Bytes reverses that

// Known reports whether the chunk was measured.
func (e Estimate) Known() bool { return e != 0 }

// Bytes returns the size. It is valid only if Known.
func (e Estimate) Bytes() int64 { return int64(e) - 1 }

// Int32 returns the size as stored in config.chunks if it fits an int32, and false otherwise: servers
// store a size as an int32 if possible.
func (e Estimate) Int32() (int32, bool) {
	n := int32(e.Bytes())
	return n, int64(n) == e.Bytes()
}

// Plus returns the size of two merged chunks: TooBig if one of them is TooBig.
func (e Estimate) Plus(o Estimate) Estimate {
	a, b := e.Bytes(), o.Bytes()
	if a > TooBig-b {
		return NewEstimate(TooBig)
	}
	return NewEstimate(a + b)
}

// WithoutEstimates returns the table without measured sizes. It shares the blocks that have none.
func (t *RoutingTable) WithoutEstimates() *RoutingTable {
	next := *t
	next.groups = make([]*blockGroup, len(t.groups))
	for i, s := range t.groups {
		next.groups[i] = s.withoutEstimates()
	}
	return &next
}

func (g *blockGroup) withoutEstimates() *blockGroup {
	if !slices.ContainsFunc(g.blocks, func(b *block) bool { return b.sizes != nil }) {
		return g
	}
	next := *g
	next.blocks = slices.Clone(g.blocks)
	for i, b := range next.blocks {
		if b.sizes != nil {
			unmeasured := *b
			unmeasured.sizes = nil
			next.blocks[i] = &unmeasured
		}
	}
	return &next
}
