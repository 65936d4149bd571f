package filter

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/value"
)

// orNode is $or. Of many branches, those that demand a value at a path are
// found by the values that the document has there.
type orNode struct {
	of      []node
	byValue []*valueIndex
	rest    []int // those that demand none
}

// valueIndex has the places of branches by the value they demand at a path.
type valueIndex struct {
	path     []string
	branches map[string][]int
}

// manyBranches is when it pays to have an index of them.
const manyBranches = 8

func newAnyNode(of []node) *orNode {
	n := &orNode{of: of}
	if len(of) < manyBranches {
		return n
	}
	byPath := map[string]*valueIndex{}
	for i, branch := range of {
		name, key, ok := demand(branch)
		if !ok {
			n.rest = append(n.rest, i)
			continue
		}
		ix := byPath[name]
		if ix == nil {
			ix = &valueIndex{path: paths.Split(name), branches: map[string][]int{}}
			byPath[name] = ix
			n.byValue = append(n.byValue, ix)
		}
		ix.branches[key] = append(ix.branches[key], i)
	}
	return n
}

// demand returns a value that every document which matches has at a path. Null
// is none: missing counts as null.
func demand(n node) (path, key string, ok bool) {
	eachEquality(n, func(name string, v value.Value) bool {
		if value.IsNullish(v) || v.Type == bson.TypeRegex || document.IsOperator(name) {
			return true
		}
		path, key, ok = name, value.Encoded(v), true
		return false
	})
	return path, key, ok
}

// Match reports whether the document matches. It leaves no array position when
// there is a choice of branches.
func (n *orNode) Match(doc []byte, m *Matching) bool {
	if len(n.of) == 1 {
		return n.of[0].Match(doc, m)
	}
	before := m.Index
	for i := range n.candidates(doc, m) {
		ok := m.goOn(0) && n.of[i].Match(doc, m)
		m.Index = before
		if ok {
			return true
		}
	}
	return false
}

// candidates returns the places of all branches that can match, in order.
func (n *orNode) candidates(doc []byte, m *Matching) func(yield func(int) bool) {
	if n.byValue == nil {
		return func(yield func(int) bool) {
			for i := range n.of {
				if !yield(i) {
					return
				}
			}
		}
	}
	list := slices.Clone(n.rest)
	for _, ix := range n.byValue {
		paths.Walk(m.work(), doc, ix.path, true, func(v value.Value, _ int) bool {
			list = append(list, ix.branches[value.Encoded(v)]...)
			return !m.goOn(len(v.Value))
		})
	}
	slices.Sort(list)
	return slices.Values(slices.Compact(list))
}

// norNode is $nor and $not: no array position comes out of it.
type norNode struct{ any *orNode }

func (n norNode) Match(doc []byte, m *Matching) bool {
	before := m.Index
	ok := !n.any.Match(doc, m)
	m.Index = before
	return ok
}

// everyNode is $all of many values: each of them is at the path.
type everyNode struct {
	name   string
	path   []string
	values []value.Value
	known  map[string]bool // encoded
}

// everyValues makes $all of plain values; nil where there are others, or so few
// that a test for each is as good.
func everyValues(ps []predicate) *everyNode {
	if len(ps) < manyBranches {
		return nil
	}
	n := &everyNode{known: map[string]bool{}}
	for _, p := range ps {
		c, ok := p.Leaf.(*comparison)
		if !ok || value.IsNullish(c.to) {
			return nil
		}
		n.values = append(n.values, c.to)
		n.known[value.Encoded(c.to)] = true
	}
	return n
}

func (n *everyNode) Match(doc []byte, m *Matching) bool {
	met := map[string]bool{}
	paths.Walk(m.work(), doc, n.path, true, func(v value.Value, index int) bool {
		if !m.goOn(len(v.Value)) {
			return true
		}
		key := value.Encoded(v)
		if !n.known[key] || met[key] {
			return false
		}
		if met[key] = true; index >= 0 {
			m.Index = index
		}
		return len(met) == len(n.known)
	})
	return len(met) == len(n.known)
}
