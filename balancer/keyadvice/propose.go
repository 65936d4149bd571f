package keyadvice

import (
	"cmp"
	"math"
	"slices"

	"shardsh/balancer/catalog"
)

// Bounds of what is proposed.
const (
	maxKeys     = 120
	maxSuffixes = 3
	// minDistinctShare is the part of the documents that differ in a field which can end a
	// key: no value of it gathers much.
	minDistinctShare = 0.5
	// uniqueShare is the part from which a field is as good as unique.
	uniqueShare = 0.95
	// maxKeyFields is how many fields of an index are taken for a key.
	maxKeyFields = 3
)

// Propose returns the keys to judge: those of indexes, of queries and of fields that
// have many values, hashed and with further fields where that may help.
func Propose(f Facts) []Key { return newProposer(f).keys() }

type proposer struct {
	facts Facts
	table *table
	list  []Key
}

func newProposer(f Facts) *proposer { return &proposer{facts: f, table: newTable(f.Sample)} }

func (p *proposer) keys() []Key {
	if len(p.facts.Current) > 0 {
		p.add(p.facts.Current)
	}
	zone := plainKey(p.facts.Zones...)
	for _, base := range p.bases() {
		for _, k := range p.variants(base) {
			p.add(k)
			if len(zone) > 0 {
				p.add(zone.withFields(k...))
			}
		}
	}
	return p.list
}

// add keeps a key that is possible on the release and no other one.
func (p *proposer) add(k Key) {
	if len(p.list) >= maxKeys || slices.ContainsFunc(p.list, k.Equal) || len(k) > maxKeyFields+len(p.facts.Zones) {
		return
	}
	hashes := 0
	for _, part := range k {
		if part.Hashed {
			hashes++
		}
	}
	if hashes > 1 || hashes == 1 && len(k) > 1 && !p.facts.allowsCompoundHashed() {
		return
	}
	p.list = append(p.list, k)
}

// allowsCompoundHashed reports whether a key may have a hashed field and others.
func (f Facts) allowsCompoundHashed() bool { return f.Release.AtLeast(catalog.Release44) }

// bases are the keys that are varied.
func (p *proposer) bases() (list []Key) {
	put := func(k Key) {
		if len(k) > 0 && !slices.ContainsFunc(list, k.Equal) {
			list = append(list, k)
		}
	}
	for _, x := range p.facts.Indexes {
		names := x.Fields()
		for n := range min(len(names), maxKeyFields) {
			put(plainKey(names[:n+1]...))
		}
	}
	for _, q := range p.facts.Queries {
		for _, name := range q.Equal {
			put(plainKey(name))
			put(plainKey(name).withFields(plainKey(q.Equal...)...).withFields(plainKey(q.Range...)...))
			put(plainKey(name).withFields(plainKey(q.Range...)...))
		}
		for _, name := range q.Range {
			put(plainKey(name))
		}
	}
	put(plainKey("_id"))
	for _, name := range p.suffixes() {
		put(plainKey(name))
	}
	return list
}

// variants are a key as it is, hashed, and with what has many values behind it.
func (p *proposer) variants(k Key) []Key {
	list := []Key{k}
	last := slices.Clone(k)
	last[len(last)-1].Hashed = true
	list = append(list, last)
	if float64(len(p.table.counts(k.Names()).perValue)) >= uniqueShare*float64(len(p.table.docs)) {
		return list
	}
	for _, name := range p.suffixes() {
		list = append(list, k.withFields(Part{name, false}))
	}
	return append(list, k.withFields(Part{"_id", false}), k.withFields(Part{"_id", true}))
}

// suffixes are the fields with the most values, those in indexes first, then those
// that do not grow with time.
func (p *proposer) suffixes() []string {
	names := FieldsOf(p.table.docs)
	names = slices.DeleteFunc(names, func(name string) bool {
		c := p.table.counts([]string{name})
		return name == "_id" || p.table.column(name).arrays > 0 ||
			float64(len(c.perValue)) < minDistinctShare*float64(len(p.table.docs))
	})
	weight := func(name string) (w float64) {
		for _, x := range p.facts.Indexes {
			if slices.Contains(x.Fields(), name) {
				w -= 2
			}
		}
		if r := p.table.correlation(nil, name); math.Abs(r) >= MinMonotonicCorrelation {
			w++
		}
		return w
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
	return names[:min(len(names), maxSuffixes)]
}
