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
	// Sort is the requested order: a pattern, {$natural: ±1}, or empty.
	Sort bson.Raw
	// Hint is the name or the key of an index, or {$natural: ±1}. With a zero Hint the planner chooses.
	Hint bson.RawValue
	// Min and Max limit the keys of the hinted index to [Min, Max).
	Min, Max bson.Raw
	// HasCollation reports whether strings are compared by a collation, which indexes do not support.
	HasCollation bool
	// AllowExpress allows the express path to a document by its _id.
	AllowExpress bool
	// Shape says how the caller uses the documents. The index keys may be sufficient.
	Shape ResultShape
}

// Plan reads the documents of a query from an index or from all records. It reads the collection as of
// the creation of the plan.
type Plan struct {
	coll    *Collection
	query   Query
	clauses []filter.Clause
	accessPath
	branches []*Plan // the branches of an $or, each with its own index
	rejected []*Plan
}

func (q Query) hasMinMax() bool {
	return len(q.Min) > len(document.Empty) || len(q.Max) > len(document.Empty)
}

// accessPath is a scan of one index, or of all records if index is nil.
type accessPath struct {
	index        *Index
	bounds       []bounds // for each field of the index
	exactClauses []bool   // by clause: all keys within the bounds satisfy the clause
	// explainedBackward is the direction that explain shows. readsFromEnd means that the scan reads the
	// entries, which are all ascending, from the end.
	explainedBackward, readsFromEnd bool
	sorted                          bool // documents come in the requested order
	from, to                        []byte
	hasMinMax                       bool // limited by from and to
}

// Plan plans a query. It fails with BadValue if the hint names no index, or if Min or Max does not fit
// the index.
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
	if q.hasMinMax() {
		return nil, servererr.NewCode(51173, "min and max operations require a hint")
	}
	return p.chooseBest(), nil
}

// Filter returns the filter of the query; nil matches everything.
func (p *Plan) Filter() *filter.Filter { return p.query.Filter }

func (p *Plan) useNaturalOrder(direction value.Value) *Plan {
	p.explainedBackward = value.ToDouble(direction) < 0
	p.readsFromEnd = p.explainedBackward
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
		if ix.hidden || !ix.isNamedBy(hint) {
			continue
		}
		if !ix.special {
			p.accessPath = p.newAccessPath(ix)
			return p, p.applyMinMax()
		}
		if p.query.hasMinMax() {
			return nil, p.refuse(51174, "The index chosen is not compatible with min/max")
		}
		return p.chooseBest(), nil // the index has no entries
	}
	return nil, p.refuse(mongoerr.BadValue, "hint provided does not correspond to an existing index")
}

// isNamedBy reports whether a hint is the name or the key of the index.
func (ix *Index) isNamedBy(hint bson.RawValue) bool {
	if value.IsObject(hint) {
		return sameKey(hint.Value, ix.spec.Key)
	}
	return value.IsString(hint) && value.TextAt(hint.Value) == ix.spec.Name
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

// sameKey reports whether two key patterns are equal. {a: 1} and {a: 1.0} are.
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

// isCollationSensitive reports whether a bound contains values that a collation affects: strings,
// objects and arrays.
func isCollationSensitive(bound bson.Raw) bool {
	for _, v := range document.Fields(bound) {
		switch v.Type {
		case bson.TypeString, bson.TypeSymbol, bson.TypeEmbeddedDocument, bson.TypeArray:
			return true
		}
	}
	return false
}

// encodeBound encodes a bound, which must have exactly the fields of the index in order.
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

// chooseBest chooses the index with the fewest keys within its bounds. It scans all records only if no
// index is usable.
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
	if i := slices.IndexFunc(candidates, (*Plan).canCountScan); i >= 0 {
		return candidates[i] // the plan is chosen without a trial
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

// hasBoundsOn reports whether a clause gives bounds on a path, even unlimited ones.
func (p *Plan) hasBoundsOn(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c filter.Clause) bool {
		if c.Path != path {
			return false
		}
		_, _, ok := boundsOf(c)
		return ok
	})
}

// maxTrialKeys is the maximum number of keys that are counted for each candidate.
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

// savedSteps returns the number of steps that a plan avoids: sorting and fetching. Like servers, the
// planner uses it to break ties.
func (p *Plan) savedSteps() (n int) {
	if p.sorted {
		n++
	}
	if p.residualFilter() == nil && p.covers(p.query.Shape) {
		n++
	}
	return n
}

// canCountScan reports whether a COUNT_SCAN can answer a count from the ends of one key range.
func (p *Plan) canCountScan() bool {
	if !p.query.Shape.IsCount || p.query.Shape.ShardKey != nil {
		return false
	}
	_, ok := p.CountScan(RunStats{})
	return ok
}

// boundedFields returns the number of fields with bounds.
func (a *accessPath) boundedFields() int {
	n := 0
	for _, b := range a.bounds {
		if !b.isUnbounded() {
			n++
		}
	}
	return n
}

// planOr plans the first $or all of whose branches use an index. It returns nil if there is none.
func (p *Plan) planOr() *Plan {
	for _, c := range p.clauses {
		if branches := p.planBranches(c.Or); branches != nil {
			return &Plan{coll: p.coll, query: p.query, clauses: p.clauses, branches: branches}
		}
	}
	return nil
}

// planBranches plans the branches of an $or. It returns nil if a branch uses no index.
func (p *Plan) planBranches(or [][]filter.Clause) (branches []*Plan) {
	for _, list := range or {
		branch := (&Plan{coll: p.coll, clauses: list}).chooseBest()
		if branch.index == nil {
			return nil
		}
		branches = append(branches, branch)
	}
	return branches
}

// canServe reports whether the index contains every document that can match.
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

// newAccessPath returns the scan of one index.
func (p *Plan) newAccessPath(ix *Index) accessPath {
	a := accessPath{index: ix, bounds: make([]bounds, len(ix.fields)), exactClauses: make([]bool, len(p.clauses))}
	multikey := ix.IsMultikey()
	var roots []string
	for i, f := range ix.fields {
		a.bounds[i] = everyValue
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

// narrowBounds applies the clauses on one field, and reports whether there were any. In a multikey index
// different elements may satisfy two clauses, so only one clause narrows the bounds.
func (f indexField) narrowBounds(b *bounds, clauses []filter.Clause, exactClauses []bool, multikey bool) bool {
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
				*b = one // prefers an equality
				for j, other := range clauses {
					exactClauses[j] = exactClauses[j] && other.Path != f.name
				}
				exactClauses[i] = exact
			}
			continue
		}
		if done, exactClauses[i] = true, exact; multikey {
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

// setDirection sets the direction of the scan, and whether the scan returns the requested order.
func (a *accessPath) setDirection(sort bson.Raw, multikey bool) {
	down := a.index.isDescending(0)
	a.readsFromEnd = down
	if document.IsEmpty(sort) || multikey {
		return
	}
	want, ok := a.providesOrder(sort)
	if ok {
		a.sorted, a.readsFromEnd = true, want
		a.explainedBackward = a.readsFromEnd != down
	}
}

// providesOrder reports whether the index has the documents in the order of a pattern, forward or
// reversed.
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
