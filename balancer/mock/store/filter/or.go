package filter

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/value"
)

// orNode implements $or. If it has many branches, the branches that require a value at a path are found
// by the document's values at that path.
type orNode struct {
	branches  []node
	byValue   []*valueIndex
	unindexed []int // branches that require no value
}

// valueIndex maps a value required at a path to the indexes of its branches.
type valueIndex struct {
	path     []string
	branches map[string][]int
}

// minIndexedBranches is the number of branches from which an index pays off.
const minIndexedBranches = 8

func newOrNode(branches []node) *orNode {
	n := &orNode{branches: branches}
	if len(branches) < minIndexedBranches {
		return n
	}
	byPath := map[string]*valueIndex{}
	for i, branch := range branches {
		name, key, ok := requiredValue(branch)
		if !ok {
			n.unindexed = append(n.unindexed, i)
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

// requiredValue returns a value that every matching document has at a path. It ignores null, because
// missing counts as null.
func requiredValue(n node) (path, key string, ok bool) {
	eachEquality(n, func(name string, v value.Value) bool {
		if value.IsNullish(v) || v.Type == bson.TypeRegex || document.IsOperator(name) {
			return true
		}
		path, key, ok = name, value.EncodedKey(v), true
		return false
	})
	return path, key, ok
}

// Match reports whether the document matches. With several branches it does not set an array position.
func (n *orNode) Match(doc []byte, m *MatchState) bool {
	if len(n.branches) == 1 {
		return n.branches[0].Match(doc, m)
	}
	before := m.ElementIndex
	for i := range n.candidates(doc, m) {
		ok := m.charge(0) && n.branches[i].Match(doc, m)
		m.ElementIndex = before
		if ok {
			return true
		}
	}
	return false
}

// candidates iterates over the indexes of all branches that can match, in order.
func (n *orNode) candidates(doc []byte, m *MatchState) func(yield func(int) bool) {
	if n.byValue == nil {
		return func(yield func(int) bool) {
			for i := range n.branches {
				if !yield(i) {
					return
				}
			}
		}
	}
	list := slices.Clone(n.unindexed)
	for _, ix := range n.byValue {
		paths.Walk(m.currentMeter(), doc, ix.path, true, func(v value.Value, _ int) bool {
			list = append(list, ix.branches[value.EncodedKey(v)]...)
			return !m.charge(len(v.Value))
		})
	}
	slices.Sort(list)
	return slices.Values(slices.Compact(list))
}

// norNode implements $nor and $not. It does not set an array position.
type norNode struct{ or *orNode }

func (n norNode) Match(doc []byte, m *MatchState) bool {
	before := m.ElementIndex
	ok := !n.or.Match(doc, m)
	m.ElementIndex = before
	return ok
}

// allValuesNode implements $all with many values: each value must be at the path.
type allValuesNode struct {
	name    string
	path    []string
	values  []value.Value
	encoded map[string]bool // values, encoded
}

// newAllValuesNode returns an $all of plain values. It returns nil if there are other predicates, or so
// few values that separate tests are as fast.
func newAllValuesNode(ps []predicate) *allValuesNode {
	if len(ps) < minIndexedBranches {
		return nil
	}
	n := &allValuesNode{encoded: map[string]bool{}}
	for _, p := range ps {
		c, ok := p.Leaf.(*comparison)
		if !ok || value.IsNullish(c.operand) {
			return nil
		}
		n.values = append(n.values, c.operand)
		n.encoded[value.EncodedKey(c.operand)] = true
	}
	return n
}

func (n *allValuesNode) Match(doc []byte, m *MatchState) bool {
	met := map[string]bool{}
	paths.Walk(m.currentMeter(), doc, n.path, true, func(v value.Value, index int) bool {
		if !m.charge(len(v.Value)) {
			return true
		}
		key := value.EncodedKey(v)
		if !n.encoded[key] || met[key] {
			return false
		}
		if met[key] = true; index >= 0 {
			m.ElementIndex = index
		}
		return len(met) == len(n.encoded)
	})
	return len(met) == len(n.encoded)
}
