package store

import (
	"bytes"
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// Query is what decides how a collection is read.
type Query struct {
	Filter *filter.Filter
	// Sort is the order asked for: a pattern, {$natural: ±1}, or empty.
	Sort bson.Raw
	// Hint is an index's name or key, or {$natural: ±1}; zero leaves the choice.
	Hint bson.RawValue
	// Min and Max limit the keys of the hinted index: from Min, included, to Max,
	// excluded.
	Min, Max bson.Raw
	// Collated: texts are to be compared otherwise than indexes have them.
	Collated bool
	// Plain allows the shortest way to one document by its _id.
	Plain bool
	// Shape is what is done with the documents, which may need no more than keys.
	Shape Shape
}

// Plan is a way to read what a query needs: by an index, or all records. It reads
// the collection as it was when the plan was made.
type Plan struct {
	coll    *Collection
	query   Query
	clauses []filter.Clause
	accessPath
	branches []*Plan // of an $or that each go by an index
	rejected []*Plan
}

// accessPath is a scan of one index, or of all records when there is none.
type accessPath struct {
	index   *Index
	bounds  []bounds // one for each field of the index
	settled []bool   // of the clauses: every key in the bounds fulfils it
	// backward is explain's direction; reversed says that the entries, which all
	// ascend, are walked from the end.
	backward, reversed bool
	sorted             bool // documents come in the order asked for
	from, to           []byte
	limited            bool // by from and to
}

// Plan chooses how to read. A hint that names no index is BadValue, as are Min
// and Max that do not fit it.
func (c *Collection) Plan(q Query) (*Plan, error) {
	p := &Plan{coll: c.Snapshot(), query: q}
	if q.Filter != nil {
		p.clauses = q.Filter.Clauses
	}
	if direction := document.Lookup(q.Sort, "$natural"); !value.IsMissing(direction) {
		return p.natural(direction), nil
	}
	if !q.Hint.IsZero() && q.Hint.Type != bson.TypeNull {
		return p.hinted()
	}
	if len(q.Min) > len(document.Empty) || len(q.Max) > len(document.Empty) {
		return nil, servererr.Of(51173, "min and max operations require a hint")
	}
	return p.best(), nil
}

// Filter returns what the query asks for; nil for everything.
func (p *Plan) Filter() *filter.Filter { return p.query.Filter }

func (p *Plan) natural(direction value.Value) *Plan {
	p.backward = value.ToDouble(direction) < 0
	p.reversed = p.backward
	p.sorted = !value.IsMissing(document.Lookup(p.query.Sort, "$natural"))
	return p
}

func (p *Plan) hinted() (*Plan, error) {
	hint := p.query.Hint
	if value.IsObject(hint) {
		if direction := document.Lookup(hint.Value, "$natural"); !value.IsMissing(direction) {
			return p.natural(direction), nil
		}
		if document.IsEmpty(hint.Value) {
			return p.best(), nil
		}
	}
	for _, ix := range p.coll.indexes {
		byName := value.IsString(hint) && value.TextAt(hint.Value) == ix.spec.Name
		if byName || value.IsObject(hint) && bytes.Equal(hint.Value, ix.spec.Key) ||
			value.IsObject(hint) && sameKey(hint.Value, ix.spec.Key) {
			p.accessPath = p.over(ix)
			return p, p.limit()
		}
	}
	return nil, servererr.BadValue(
		"error processing query: ns=%s: planner returned error :: caused by :: hint provided does not "+
			"correspond to an existing index", p.coll.Namespace)
}

// sameKey reports whether two key patterns are one: {a: 1} and {a: 1.0} are.
func sameKey(a, b []byte) bool { return document.Count(a) == document.Count(b) && hasPrefix(a, b) }

// limit applies Min and Max.
func (p *Plan) limit() error {
	for _, bound := range []struct {
		doc  bson.Raw
		name string
		into *[]byte
	}{{p.query.Min, "min", &p.from}, {p.query.Max, "max", &p.to}} {
		if len(bound.doc) <= len(document.Empty) {
			continue
		}
		if p.query.Collated && comparesTexts(bound.doc) {
			return servererr.Of(51174, "The index chosen is not compatible with min/max")
		}
		key, ok := p.index.boundKey(bound.doc)
		if !ok {
			return servererr.Of(51174, "The index chosen is not compatible with min/max: the fields of %s are not those of %s",
				bound.doc, p.index.spec.Key)
		}
		*bound.into, p.limited = key, true
	}
	if p.from != nil && p.to != nil && bytes.Compare(p.from, p.to) >= 0 {
		return servererr.Of(51175,
			"The value provided for min does not come before the value provided for max in the index's "+
				"order: %s, %s", p.query.Min, p.query.Max)
	}
	return nil
}

// comparesTexts reports whether a bound holds what a collation may order: texts, objects and arrays.
func comparesTexts(bound bson.Raw) bool {
	for _, v := range document.Fields(bound) {
		switch v.Type {
		case bson.TypeString, bson.TypeSymbol, bson.TypeEmbeddedDocument, bson.TypeArray:
			return true
		}
	}
	return false
}

// boundKey encodes a bound that has exactly the fields of the index, in order.
func (ix *Index) boundKey(doc bson.Raw) ([]byte, bool) {
	var key []byte
	i := 0
	for name, v := range document.Fields(doc) {
		if i == len(ix.fields) || ix.fields[i].name != string(name) {
			return nil, false
		}
		key = keyorder.Append(key, v)
		i++
	}
	return key, i == len(ix.fields)
}

// best looks for the index with the fewest keys in its bounds; a scan of all
// records is the last resort.
func (p *Plan) best() *Plan {
	var candidates []*Plan
	for _, ix := range p.coll.indexes {
		if document.IsEmpty(p.query.Sort) && !p.mentions(ix.fields[0].name) || !ix.usable(p.clauses) {
			continue
		}
		a := p.over(ix)
		if a.bounds[0].everything() && !a.sorted && !p.asksFor(ix.fields[0].name) {
			continue
		}
		candidates = append(candidates, &Plan{coll: p.coll, query: p.query, clauses: p.clauses, accessPath: a})
	}
	if either := p.either(); len(candidates) == 0 && either != nil {
		return either
	}
	if len(candidates) == 0 {
		return p
	}
	if i := slices.IndexFunc(candidates, (*Plan).counts); i >= 0 {
		return candidates[i] // and nobody looks at the others
	}
	if len(candidates) > 1 {
		rank(candidates)
	}
	candidates[0].rejected = candidates[1:]
	return candidates[0]
}

func (p *Plan) mentions(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c filter.Clause) bool { return c.Path == path })
}

// asksFor reports whether a clause gives bounds, even if they are everything.
func (p *Plan) asksFor(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c filter.Clause) bool {
		if c.Path != path {
			return false
		}
		_, _, ok := boundsOf(c)
		return ok
	})
}

// trialKeys is how many keys of each candidate are counted.
const trialKeys = 1000

func rank(candidates []*Plan) {
	keys := make(map[*Plan]int, len(candidates))
	for _, p := range candidates {
		for range p.accessPath.entries() {
			if keys[p]++; keys[p] == trialKeys {
				break
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b *Plan) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(b.spares(), a.spares()),
			cmp.Compare(b.bounded(), a.bounded()))
	})
}

// spares counts what a plan does not have to do: to sort, and to fetch documents. Servers break ties
// by that.
func (p *Plan) spares() (n int) {
	if p.sorted {
		n++
	}
	if p.residual() == nil && p.covers(p.query.Shape) {
		n++
	}
	return n
}

// counts reports whether a count needs no more than the ends of one stretch of the index.
func (p *Plan) counts() bool {
	if !p.query.Shape.Counting || p.query.Shape.ShardKey != nil {
		return false
	}
	_, ok := p.CountScan(Ran{})
	return ok
}

// bounded counts the fields with bounds.
func (a *accessPath) bounded() int {
	n := 0
	for _, b := range a.bounds {
		if !b.everything() {
			n++
		}
	}
	return n
}

// either serves an $or whose branches all have an index.
func (p *Plan) either() *Plan {
	for _, c := range p.clauses {
		if c.Or == nil {
			continue
		}
		var branches []*Plan
		for _, list := range c.Or {
			branch := (&Plan{coll: p.coll, clauses: list}).best()
			if branch.index == nil {
				return nil
			}
			branches = append(branches, branch)
		}
		return &Plan{coll: p.coll, query: p.query, clauses: p.clauses, branches: branches}
	}
	return nil
}

// usable reports whether the index has every document that can match.
func (ix *Index) usable(clauses []filter.Clause) bool {
	if ix.hidden || ix.special {
		return false
	}
	if ix.spec.Sparse && !slices.ContainsFunc(clauses, func(c filter.Clause) bool {
		return excludesMissing(c) && slices.ContainsFunc(ix.fields, func(f indexField) bool { return f.name == c.Path })
	}) {
		return false
	}
	if ix.partial == nil {
		return true
	}
	for _, needed := range ix.partial.Clauses {
		if !slices.ContainsFunc(clauses, func(c filter.Clause) bool { return implies(c, needed) }) {
			return false
		}
	}
	return true
}

// over makes the scan of one index.
func (p *Plan) over(ix *Index) accessPath {
	a := accessPath{index: ix, bounds: make([]bounds, len(ix.fields)), settled: make([]bool, len(p.clauses))}
	multikey := ix.Multikey()
	var roots []string
	for i, f := range ix.fields {
		a.bounds[i] = allValues()
		if slices.ContainsFunc(f.path, paths.IsArrayIndex) || multikey && slices.Contains(roots, f.path[0]) {
			continue
		}
		if f.narrow(&a.bounds[i], p.clauses, a.settled, multikey) {
			roots = append(roots, f.path[0])
		}
	}
	a.direct(p.query.Sort, multikey)
	return a
}

// narrow applies the clauses on one field, and reports whether there were any.
// With arrays about, two clauses may be fulfilled by different elements, so
// that only one narrows the bounds.
func (f indexField) narrow(b *bounds, clauses []filter.Clause, settled []bool, multikey bool) bool {
	done := false
	var all []bounds
	for i, c := range clauses {
		if c.Path != f.name || multikey && isNotNull(c) {
			continue
		}
		one, exact, ok := boundsOf(c)
		if f.hashed {
			one, ok = hashedBounds(c)
			exact = false
		}
		if !ok {
			continue
		}
		if multikey && done {
			if *b != nil && one.onePoint() && !b.onePoint() {
				*b = one // an equality is the best of them
				for j, other := range clauses {
					settled[j] = settled[j] && other.Path != f.name
				}
				settled[i] = exact
			}
			continue
		}
		if done, settled[i] = true, exact; multikey {
			*b = b.and(one)
			continue
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		*b = b.and(allBounds(all))
	}
	return done
}

// direct decides which way the scan goes, and whether that is the order asked
// for.
func (a *accessPath) direct(sort bson.Raw, multikey bool) {
	down := a.index.descends(0)
	a.reversed = down
	if document.IsEmpty(sort) || multikey {
		return
	}
	want, ok := a.follows(sort)
	if ok {
		a.sorted, a.reversed = true, want
		a.backward = a.reversed != down
	}
}

// follows reports whether the index has the documents in the order of a
// pattern, perhaps from its end.
func (a *accessPath) follows(sort bson.Raw) (reversed, ok bool) {
	direction := 0.0
	i := 0
	for name, v := range document.Fields(sort) {
		at := slices.IndexFunc(a.index.fields, func(f indexField) bool { return f.name == string(name) })
		if at >= 0 && a.bounds[at].onePoint() && !a.index.fields[at].hashed {
			continue
		}
		for i < len(a.index.fields) && a.bounds[i].onePoint() {
			i++
		}
		if i != at || a.index.fields[i].hashed || !value.IsNumber(v) {
			return false, false
		}
		if direction*value.ToDouble(v) < 0 {
			return false, false // entries ascend in all fields
		}
		direction = value.ToDouble(v)
		i++
	}
	return direction < 0, true
}

// descends reports whether a field of the index is declared descending.
func (ix *Index) descends(i int) bool {
	n := 0
	for _, v := range document.Fields(ix.spec.Key) {
		if n == i {
			return value.IsNumber(v) && value.ToDouble(v) < 0
		}
		n++
	}
	return false
}
