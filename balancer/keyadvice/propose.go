package keyadvice

import (
	"cmp"
	"math"
	"slices"

	"shardsh/balancer/catalog"
)

// Limits of the proposed keys.
const (
	maxKeys     = 120
	maxSuffixes = 3
	// minDistinctShare is the minimum share of distinct values for the last field of a key: no value of
	// such a field has many documents.
	minDistinctShare = 0.5
	// uniqueShare is the share of distinct values from which a field counts as unique.
	uniqueShare = 0.95
	// maxKeyFields is how many fields of an index are used for a key.
	maxKeyFields = 3
)

// Propose returns the keys to rate: keys from indexes, from queries and from fields with many values,
// also in hashed form and with further fields where those may help.
func Propose(f Facts) []ShardKey { return newProposer(f).keys() }

type proposer struct {
	facts Facts
	table *sampleTable
	list  []ShardKey
}

func newProposer(f Facts) *proposer { return &proposer{facts: f, table: newTable(f.Sample)} }

func (p *proposer) keys() []ShardKey {
	if len(p.facts.Current) > 0 {
		p.add(p.facts.Current)
	}
	zone := rangedKey(p.facts.ZoneFields...)
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

// add adds a key if the release allows it and the key is new.
func (p *proposer) add(k ShardKey) {
	if len(p.list) >= maxKeys || slices.ContainsFunc(p.list, k.Equal) || len(k) > maxKeyFields+len(p.facts.ZoneFields) {
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

// allowsCompoundHashed reports whether a compound key may have a hashed field.
func (f Facts) allowsCompoundHashed() bool { return f.Release.FCVAtLeast(catalog.Release44) }

// bases returns the keys from which variants are derived.
func (p *proposer) bases() (list []ShardKey) {
	put := func(k ShardKey) {
		if len(k) > 0 && !slices.ContainsFunc(list, k.Equal) {
			list = append(list, k)
		}
	}
	for _, x := range p.facts.Indexes {
		names := x.ShardKeyFields()
		for n := range min(len(names), maxKeyFields) {
			put(rangedKey(names[:n+1]...))
		}
	}
	for _, q := range p.facts.Queries {
		for _, name := range q.Equal {
			put(rangedKey(name))
			put(rangedKey(name).withFields(rangedKey(q.Equal...)...).withFields(rangedKey(q.Range...)...))
			put(rangedKey(name).withFields(rangedKey(q.Range...)...))
		}
		for _, name := range q.Range {
			put(rangedKey(name))
		}
	}
	put(rangedKey("_id"))
	for _, name := range p.suffixes() {
		put(rangedKey(name))
	}
	return list
}

// variants returns a key, its hashed form, and the key followed by fields with many values.
func (p *proposer) variants(k ShardKey) []ShardKey {
	list := []ShardKey{k}
	last := slices.Clone(k)
	last[len(last)-1].Hashed = true
	list = append(list, last)
	if float64(len(p.table.counts(k.Names()).perValue)) >= uniqueShare*float64(len(p.table.docs)) {
		return list
	}
	for _, name := range p.suffixes() {
		list = append(list, k.withFields(Field{name, false}))
	}
	return append(list, k.withFields(Field{"_id", false}), k.withFields(Field{"_id", true}))
}

// suffixes returns the fields with the most values, first those in indexes, then those that do not grow
// with time.
func (p *proposer) suffixes() []string {
	names := SuitableFields(p.table.docs)
	names = slices.DeleteFunc(names, func(name string) bool {
		c := p.table.counts([]string{name})
		return name == "_id" || p.table.column(name).arrays > 0 ||
			float64(len(c.perValue)) < minDistinctShare*float64(len(p.table.docs))
	})
	weight := func(name string) (w float64) {
		for _, x := range p.facts.Indexes {
			if slices.Contains(x.ShardKeyFields(), name) {
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
