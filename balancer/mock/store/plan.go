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
	"shardsh/balancer/mongoerr"
)

// Query is the input of the planner.
type Query struct {
	Filter *filter.Filter
	// Sort is the order asked for: a pattern, {$natural: ±1}, or empty.
	Sort bson.Raw
	// Hint is an index's name or key, or {$natural: ±1}; zero leaves the choice.
	Hint bson.RawValue
	// Min and Max limit the keys of the hinted index: from Min, included, to Max,
	// excluded.
	Min, Max bson.Raw
	// HasCollation says that strings are compared by a collation, which indexes do not have.
	HasCollation bool
	// AllowExpress allows the shortest way to one document by its _id.
	AllowExpress bool
	// Shape says how the caller uses the documents; it may need only index keys.
	Shape ResultShape
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
	index        *Index
	bounds       []bounds // one for each field of the index
	exactClauses []bool   // by clause: every key in the bounds satisfies it
	// backward is explain's direction; reversed says that the entries, which all
	// ascend, are walked from the end.
	backward, reversed bool
	sorted             bool // documents come in the order asked for
	from, to           []byte
	hasMinMax          bool // by from and to
}

// Plan chooses how to read. A hint that names no index is BadValue, as are Min
// and Max that do not fit it.
func (c *Collection) Plan(q Query) (*Plan, error) {
	p := &Plan{coll: c.Snapshot(), query: q}
	if q.Filter != nil {
		p.clauses = q.Filter.Clauses
	}
	if direction := document.Lookup(q.Sort, "$natural"); !value.IsMissing(direction) {
		return p.useNaturalOrder(direction), nil
	}
	if !q.Hint.IsZero() && q.Hint.Type != bson.TypeNull {
		return p.useHint()
	}
	if len(q.Min) > len(document.Empty) || len(q.Max) > len(document.Empty) {
		return nil, servererr.NewCode(51173, "min and max operations require a hint")
	}
	return p.chooseBest(), nil
}

// Filter returns what the query asks for; nil for everything.
func (p *Plan) Filter() *filter.Filter { return p.query.Filter }

func (p *Plan) useNaturalOrder(direction value.Value) *Plan {
	p.backward = value.ToDouble(direction) < 0
	p.reversed = p.backward
	p.sorted = !value.IsMissing(document.Lookup(p.query.Sort, "$natural"))
	return p
}

func (p *Plan) useHint() (*Plan, error) {
	hint := p.query.Hint
	if value.IsObject(hint) {
		if direction := document.Lookup(hint.Value, "$natural"); !value.IsMissing(direction) {
			return p.useNaturalOrder(direction), nil
		}
		if document.IsEmpty(hint.Value) {
			return p.chooseBest(), nil
		}
	}
	for _, ix := range p.coll.indexes {
		byName := value.IsString(hint) && value.TextAt(hint.Value) == ix.spec.Name
		if byName || value.IsObject(hint) && bytes.Equal(hint.Value, ix.spec.Key) ||
			value.IsObject(hint) && sameKey(hint.Value, ix.spec.Key) {
			p.accessPath = p.newAccessPath(ix)
			return p, p.applyMinMax()
		}
	}
	return nil, p.refuse(mongoerr.BadValue, "hint provided does not correspond to an existing index")
}

// PlannerError is why a query can't be planned.
type PlannerError struct{ Text string }

func (e *PlannerError) Error() string { return e.Text }

func (p *Plan) refuse(code mongoerr.Code, text string) error {
	err := mongoerr.New(code, "error processing query: ns=%s: planner returned error :: caused by :: %s", p.coll.Namespace,
		text)
	err.Cause = &PlannerError{text}
	return err
}

// sameKey reports whether two key patterns are one: {a: 1} and {a: 1.0} are.
func sameKey(a, b []byte) bool { return document.Count(a) == document.Count(b) && hasPrefix(a, b) }

// applyMinMax applies Min and Max.
func (p *Plan) applyMinMax() error {
	for _, bound := range []struct {
		doc  bson.Raw
		name string
		into *[]byte
	}{{p.query.Min, "min", &p.from}, {p.query.Max, "max", &p.to}} {
		if len(bound.doc) <= len(document.Empty) {
			continue
		}
		if p.query.HasCollation && isCollationSensitive(bound.doc) {
			return p.refuse(51174, "The index chosen is not compatible with min/max")
		}
		key, ok := p.index.encodeBound(bound.doc)
		if !ok {
			return servererr.NewCode(51174,
				"The index chosen is not compatible with min/max: the fields of %s are not those of %s", bound.doc,
				p.index.spec.Key)
		}
		*bound.into, p.hasMinMax = key, true
	}
	if p.from != nil && p.to != nil && bytes.Compare(p.from, p.to) >= 0 {
		return p.refuse(51175, "The value provided for min() does not come before the value provided for max() in the "+
			"index's order: "+mongoerr.Text(p.query.Min)+", "+mongoerr.Text(p.query.Max))
	}
	return nil
}

// isCollationSensitive reports whether a bound holds what a collation may order: texts, objects and arrays.
func isCollationSensitive(bound bson.Raw) bool {
	for _, v := range document.Fields(bound) {
		switch v.Type {
		case bson.TypeString, bson.TypeSymbol, bson.TypeEmbeddedDocument, bson.TypeArray:
			return true
		}
	}
	return false
}

// encodeBound encodes a bound that has exactly the fields of the index, in order.
func (ix *Index) encodeBound(doc bson.Raw) ([]byte, bool) {
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

// chooseBest looks for the index with the fewest keys in its bounds; a scan of all
// records is the last resort.
func (p *Plan) chooseBest() *Plan {
	var candidates []*Plan
	for _, ix := range p.coll.indexes {
		if document.IsEmpty(p.query.Sort) && !p.hasClauseOn(ix.fields[0].name) || !ix.canServe(p.clauses) {
			continue
		}
		a := p.newAccessPath(ix)
		if a.bounds[0].isUnbounded() && !a.sorted && !p.hasBoundsOn(ix.fields[0].name) {
			continue
		}
		candidates = append(candidates, &Plan{coll: p.coll, query: p.query, clauses: p.clauses, accessPath: a})
	}
	if either := p.planOr(); len(candidates) == 0 && either != nil {
		return either
	}
	if len(candidates) == 0 {
		return p
	}
	if i := slices.IndexFunc(candidates, (*Plan).isCountScan); i >= 0 {
		return candidates[i] // and nobody looks at the others
	}
	if len(candidates) > 1 {
		rankCandidates(candidates)
	}
	candidates[0].rejected = candidates[1:]
	return candidates[0]
}

func (p *Plan) hasClauseOn(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c filter.Clause) bool { return c.Path == path })
}

// hasBoundsOn reports whether a clause gives bounds, even if they are everything.
func (p *Plan) hasBoundsOn(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c filter.Clause) bool {
		if c.Path != path {
			return false
		}
		_, _, ok := boundsOf(c)
		return ok
	})
}

// maxTrialKeys is how many keys of each candidate are counted.
const maxTrialKeys = 1000

func rankCandidates(candidates []*Plan) {
	keys := make(map[*Plan]int, len(candidates))
	for _, p := range candidates {
		for range p.accessPath.scanEntries() {
			if keys[p]++; keys[p] == maxTrialKeys {
				break
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b *Plan) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(b.savedSteps(), a.savedSteps()),
			cmp.Compare(b.boundedFields(), a.boundedFields()))
	})
}

// savedSteps counts the steps that a plan avoids: sorting and fetching. Servers break ties
// by that.
func (p *Plan) savedSteps() (n int) {
	if p.sorted {
		n++
	}
	if p.residual() == nil && p.covers(p.query.Shape) {
		n++
	}
	return n
}

// isCountScan reports whether a count can be answered by COUNT_SCAN, from the ends of one key range.
func (p *Plan) isCountScan() bool {
	if !p.query.Shape.IsCount || p.query.Shape.ShardKey != nil {
		return false
	}
	_, ok := p.CountScan(RunStats{})
	return ok
}

// boundedFields counts the fields with bounds.
func (a *accessPath) boundedFields() int {
	n := 0
	for _, b := range a.bounds {
		if !b.isUnbounded() {
			n++
		}
	}
	return n
}

// planOr plans an $or whose branches all use an index; nil if there is none.
func (p *Plan) planOr() *Plan {
	for _, c := range p.clauses {
		if c.Or == nil {
			continue
		}
		var branches []*Plan
		for _, list := range c.Or {
			branch := (&Plan{coll: p.coll, clauses: list}).chooseBest()
			if branch.index == nil {
				return nil
			}
			branches = append(branches, branch)
		}
		return &Plan{coll: p.coll, query: p.query, clauses: p.clauses, branches: branches}
	}
	return nil
}

// canServe reports whether the index has every document that can match.
func (ix *Index) canServe(clauses []filter.Clause) bool {
	if ix.hidden || ix.special {
		return false
	}
	if ix.spec.Sparse && !slices.ContainsFunc(clauses, func(c filter.Clause) bool {
		return excludesMissing(c) && slices.ContainsFunc(ix.fields, func(f indexField) bool { return f.name == c.Path })
	}) {
		return false
	}
	if ix.partialFilter == nil {
		return true
	}
	for _, needed := range ix.partialFilter.Clauses {
		if !slices.ContainsFunc(clauses, func(c filter.Clause) bool { return implies(c, needed) }) {
			return false
		}
	}
	return true
}

// newAccessPath makes the scan of one index.
func (p *Plan) newAccessPath(ix *Index) accessPath {
	a := accessPath{index: ix, bounds: make([]bounds, len(ix.fields)), exactClauses: make([]bool, len(p.clauses))}
	multikey := ix.IsMultikey()
	var roots []string
	for i, f := range ix.fields {
		a.bounds[i] = allValues()
		if slices.ContainsFunc(f.path, paths.IsArrayIndex) || multikey && slices.Contains(roots, f.path[0]) {
			continue
		}
		if f.narrowBounds(&a.bounds[i], p.clauses, a.exactClauses, multikey) {
			roots = append(roots, f.path[0])
		}
	}
	a.setDirection(p.query.Sort, multikey)
	return a
}

// narrowBounds applies the clauses on one field, and reports whether there were any.
// With arrays about, two clauses may be fulfilled by different elements, so
// that only one narrows the bounds.
func (f indexField) narrowBounds(b *bounds, clauses []filter.Clause, settled []bool, multikey bool) bool {
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
			if *b != nil && one.isOnePoint() && !b.isOnePoint() {
				*b = one // an equality is the best of them
				for j, other := range clauses {
					settled[j] = settled[j] && other.Path != f.name
				}
				settled[i] = exact
			}
			continue
		}
		if done, settled[i] = true, exact; multikey {
			*b = b.intersect(one)
			continue
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		*b = b.intersect(intersectAll(all))
	}
	return done
}

// setDirection sets the direction of the scan, and whether it yields the requested
// for.
func (a *accessPath) setDirection(sort bson.Raw, multikey bool) {
	down := a.index.isDescending(0)
	a.reversed = down
	if document.IsEmpty(sort) || multikey {
		return
	}
	want, ok := a.providesOrder(sort)
	if ok {
		a.sorted, a.reversed = true, want
		a.backward = a.reversed != down
	}
}

// providesOrder reports whether the index has the documents in the order of a
// pattern, perhaps from its end.
func (a *accessPath) providesOrder(sort bson.Raw) (reversed, ok bool) {
	direction := 0.0
	i := 0
	for name, v := range document.Fields(sort) {
		at := slices.IndexFunc(a.index.fields, func(f indexField) bool { return f.name == string(name) })
		if at >= 0 && a.bounds[at].isOnePoint() && !a.index.fields[at].hashed {
			continue
		}
		for i < len(a.index.fields) && a.bounds[i].isOnePoint() {
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

// isDescending reports whether a field of the index is declared descending.
func (ix *Index) isDescending(i int) bool {
	n := 0
	for _, v := range document.Fields(ix.spec.Key) {
		if n == i {
			return value.IsNumber(v) && value.ToDouble(v) < 0
		}
		n++
	}
	return false
}
