package store

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// Query is what decides how a collection is read.
type Query struct {
	Filter *Filter
	// Sort is the order asked for: a pattern, {$natural: ±1}, or empty.
	Sort bson.Raw
	// Hint is an index's name or key, or {$natural: ±1}; zero leaves the choice.
	Hint bson.RawValue
	// Min and Max limit the keys of the hinted index: from Min, included, to Max,
	// excluded.
	Min, Max bson.Raw
	// Plain allows the shortest way to one document by its _id.
	Plain bool
}

// Plan is a way to read what a query needs: by an index, or all records. It is
// good as long as the collection does not change.
type Plan struct {
	coll    *Collection
	query   Query
	clauses []clause
	access
	branches []*Plan // of an $or that each go by an index
	rejected []*Plan
}

// access is a scan of one index, or of all records when there is none.
type access struct {
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
	p := &Plan{coll: c, query: q}
	if q.Filter != nil {
		p.clauses = q.Filter.clauses
	}
	if direction := lookup(q.Sort, "$natural"); !isMissing(direction) {
		return p.natural(direction), nil
	}
	if !q.Hint.IsZero() && q.Hint.Type != bson.TypeNull {
		return p.hinted()
	}
	if len(q.Min) > len(emptyDocument) || len(q.Max) > len(emptyDocument) {
		return nil, fail(51173, "min and max operations require a hint")
	}
	return p.best(), nil
}

func (p *Plan) natural(direction value) *Plan {
	p.backward = toDouble(direction) < 0
	p.reversed = p.backward
	p.sorted = !isMissing(lookup(p.query.Sort, "$natural"))
	return p
}

func (p *Plan) hinted() (*Plan, error) {
	hint := p.query.Hint
	if isObject(hint) {
		if direction := lookup(hint.Value, "$natural"); !isMissing(direction) {
			return p.natural(direction), nil
		}
		if isEmpty(hint.Value) {
			return p.best(), nil
		}
	}
	for _, ix := range p.coll.indexes {
		byName := isString(hint) && textAt(hint.Value) == ix.spec.Name
		if byName || isObject(hint) && bytes.Equal(hint.Value, ix.spec.Key) || isObject(hint) && sameKey(hint.Value, ix.spec.Key) {
			p.access = p.over(ix)
			return p, p.limit()
		}
	}
	return nil, badValue("error processing query: ns=%s: planner returned error :: caused by :: hint provided does not correspond to an existing index", p.coll.Namespace)
}

// sameKey compares key patterns: {a: 1} and {a: 1.0} are one.
func sameKey(a, b []byte) bool { return fieldCount(a) == fieldCount(b) && hasPrefix(a, b) }

// limit applies Min and Max.
func (p *Plan) limit() error {
	for _, bound := range []struct {
		doc  bson.Raw
		name string
		into *[]byte
	}{{p.query.Min, "min", &p.from}, {p.query.Max, "max", &p.to}} {
		if len(bound.doc) <= len(emptyDocument) {
			continue
		}
		key, ok := p.index.boundKey(bound.doc)
		if !ok {
			return fail(51174, "The index chosen is not compatible with min/max: the fields of %s are not those of %s", bound.doc, p.index.spec.Key)
		}
		*bound.into, p.limited = key, true
	}
	if p.from != nil && p.to != nil && bytes.Compare(p.from, p.to) >= 0 {
		return fail(51175, "The value provided for min does not come before the value provided for max in the index's order: %s, %s", p.query.Min, p.query.Max)
	}
	return nil
}

// boundKey encodes a bound that has exactly the fields of the index, in order.
func (ix *Index) boundKey(doc bson.Raw) ([]byte, bool) {
	var key []byte
	i := 0
	for name, v := range fields(doc) {
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
		if isEmpty(p.query.Sort) && !p.mentions(ix.fields[0].name) || !ix.usable(p.clauses) {
			continue
		}
		a := p.over(ix)
		if a.bounds[0].everything() && !a.sorted && !p.asksFor(ix.fields[0].name) {
			continue
		}
		candidates = append(candidates, &Plan{coll: p.coll, query: p.query, clauses: p.clauses, access: a})
	}
	if either := p.either(); len(candidates) == 0 && either != nil {
		return either
	}
	if len(candidates) == 0 {
		return p
	}
	if len(candidates) > 1 {
		rank(candidates)
	}
	candidates[0].rejected = candidates[1:]
	return candidates[0]
}

func (p *Plan) mentions(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c clause) bool { return c.path == path })
}

// asksFor tells whether a clause gives bounds, even if they are everything.
func (p *Plan) asksFor(path string) bool {
	return slices.ContainsFunc(p.clauses, func(c clause) bool {
		_, _, ok := boundsOf(c)
		return ok && c.path == path
	})
}

// trialKeys is how many keys of each candidate are counted.
const trialKeys = 1000

func rank(candidates []*Plan) {
	keys := make(map[*Plan]int, len(candidates))
	for _, p := range candidates {
		for range p.access.entries() {
			if keys[p]++; keys[p] == trialKeys {
				break
			}
		}
	}
	unsorted := func(p *Plan) int {
		if p.sorted {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(candidates, func(a, b *Plan) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(unsorted(a), unsorted(b)), cmp.Compare(b.bounded(), a.bounded()))
	})
}

// bounded counts the fields with bounds.
func (a *access) bounded() int {
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
		if c.or == nil {
			continue
		}
		var branches []*Plan
		for _, list := range c.or {
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

// usable tells whether the index has every document that can match.
func (ix *Index) usable(clauses []clause) bool {
	if ix.hidden || ix.special {
		return false
	}
	if ix.spec.Sparse && !slices.ContainsFunc(clauses, func(c clause) bool {
		return c.excludesMissing() && slices.ContainsFunc(ix.fields, func(f indexField) bool { return f.name == c.path })
	}) {
		return false
	}
	if ix.partial == nil {
		return true
	}
	for _, needed := range ix.partial.clauses {
		if !slices.ContainsFunc(clauses, func(c clause) bool { return c.implies(needed) }) {
			return false
		}
	}
	return true
}

// over makes the scan of one index.
func (p *Plan) over(ix *Index) access {
	a := access{index: ix, bounds: make([]bounds, len(ix.fields)), settled: make([]bool, len(p.clauses))}
	multikey := ix.Multikey()
	roots := map[string]bool{}
	for i, f := range ix.fields {
		a.bounds[i] = allValues()
		if slices.ContainsFunc(f.path, isArrayIndex) || multikey && roots[f.path[0]] {
			continue
		}
		if f.narrow(&a.bounds[i], p.clauses, a.settled, multikey) {
			roots[f.path[0]] = true
		}
	}
	a.direct(p.query.Sort, multikey)
	return a
}

// narrow applies the clauses on one field. With arrays about, two clauses may
// be fulfilled by different elements, so that only one narrows the bounds.
func (f indexField) narrow(b *bounds, clauses []clause, settled []bool, multikey bool) bool {
	done := false
	for i, c := range clauses {
		if c.path != f.name || multikey && c.isNotNull() {
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
					settled[j] = settled[j] && other.path != f.name
				}
				settled[i] = exact
			}
			continue
		}
		*b, done, settled[i] = b.and(one), true, exact
	}
	return done
}

// direct decides which way the scan goes, and whether that is the order asked
// for.
func (a *access) direct(sort bson.Raw, multikey bool) {
	down := a.index.descends(0)
	a.reversed = down
	if isEmpty(sort) || multikey {
		return
	}
	want, ok := a.follows(sort)
	if ok {
		a.sorted, a.reversed = true, want
		a.backward = a.reversed != down
	}
}

// follows tells whether the index has the documents in the order of a pattern,
// perhaps from its end.
func (a *access) follows(sort bson.Raw) (reversed, ok bool) {
	direction := 0.0
	i := 0
	for name, v := range fields(sort) {
		at := slices.IndexFunc(a.index.fields, func(f indexField) bool { return f.name == string(name) })
		if at >= 0 && a.bounds[at].onePoint() && !a.index.fields[at].hashed {
			continue
		}
		for i < len(a.index.fields) && a.bounds[i].onePoint() {
			i++
		}
		if i != at || a.index.fields[i].hashed || !isNumber(v) {
			return false, false
		}
		if direction*toDouble(v) < 0 {
			return false, false // entries ascend in all fields
		}
		direction = toDouble(v)
		i++
	}
	return direction < 0, true
}

// descends tells whether a field of the index is declared descending.
func (ix *Index) descends(i int) bool {
	n := 0
	for _, v := range fields(ix.spec.Key) {
		if n == i {
			return isNumber(v) && toDouble(v) < 0
		}
		n++
	}
	return false
}

// keyRange is a stretch of entries: from <= key < to; a nil to is open.
type keyRange struct{ from, to []byte }

// maxRanges is how many stretches a scan is cut into; more are read as one and
// looked through.
const maxRanges = 10_000

// ranges are the stretches that can hold keys in the bounds; checked is how
// many fields they settle.
func (a *access) ranges() (list []keyRange, checked int) {
	prefixes := [][]byte{nil}
	for i, b := range a.bounds {
		if !b.points() || len(prefixes)*len(b) > maxRanges {
			return stretches(prefixes, b), i + 1
		}
		var next [][]byte
		for _, p := range prefixes {
			for _, v := range b {
				next = append(next, slices.Concat(p, v.low.key))
			}
		}
		prefixes = next
	}
	for _, p := range prefixes {
		list = append(list, keyRange{p, above(p)})
	}
	return list, len(a.bounds)
}

func stretches(prefixes [][]byte, b bounds) []keyRange {
	var list []keyRange
	for _, p := range prefixes {
		for _, i := range b {
			r := keyRange{slices.Concat(p, i.low.key), slices.Concat(p, i.high.key)}
			if !i.low.included {
				r.from = above(r.from)
			}
			if i.high.included {
				r.to = above(r.to)
			}
			list = append(list, r)
		}
	}
	return list
}

// above is the first key after all that begin with a prefix.
func above(prefix []byte) []byte {
	b := slices.Clone(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}

// scanned is one entry that a scan came by.
type scanned struct {
	id     RecordID
	key    []byte
	within bool // its key is in the bounds
	seek   bool // the first of a stretch
}

// entries walks the index as the bounds say, every key that is looked at.
func (a *access) entries() iter.Seq[scanned] {
	ranges, checked := a.ranges()
	if a.limited {
		ranges = slices.DeleteFunc(ranges, func(r keyRange) bool {
			return a.to != nil && bytes.Compare(r.from, a.to) >= 0 || a.from != nil && r.to != nil && bytes.Compare(r.to, a.from) <= 0
		})
		for i, r := range ranges {
			if bytes.Compare(r.from, a.from) < 0 {
				ranges[i].from = a.from
			}
			if a.to != nil && (r.to == nil || bytes.Compare(a.to, r.to) < 0) {
				ranges[i].to = a.to
			}
		}
	}
	if a.reversed {
		slices.Reverse(ranges)
	}
	tree := a.index.entries.Copy()
	return func(yield func(scanned) bool) {
		for _, r := range ranges {
			more, seek := true, true
			visit := func(e entry) bool {
				if a.reversed && bytes.Compare(e.key, r.from) < 0 || !a.reversed && r.to != nil && bytes.Compare(e.key, r.to) >= 0 {
					return false
				}
				if a.reversed && r.to != nil && bytes.Compare(e.key, r.to) >= 0 {
					return true // the pivot itself
				}
				more = yield(scanned{e.id, e.key, a.within(e.key, checked), seek})
				seek = false
				return more
			}
			switch {
			case !a.reversed:
				tree.Ascend(entry{key: r.from}, visit)
			case r.to == nil:
				tree.Reverse(visit)
			default:
				tree.Descend(entry{key: r.to}, visit)
			}
			if !more {
				return
			}
		}
	}
}

// within tests the fields of a key that its stretch does not settle.
func (a *access) within(key []byte, checked int) bool {
	if checked == len(a.bounds) {
		return true
	}
	for i, b := range a.bounds {
		n := keyorder.Size(key)
		if n == 0 {
			return true
		}
		if i >= checked && !b.everything() && !b.contains(key[:n]) {
			return false
		}
		key = key[n:]
	}
	return true
}

// Counts is what reading by a plan took.
type Counts struct {
	Keys, Docs, Seeks       int64
	DupsTested, DupsDropped int64
	// Found are the documents that the scan gave, Matched those of them that
	// match, Owned those of them that the reader kept.
	Found, Matched, Owned int64
	branches              []*Counts
}

// Run walks the documents that match, and counts. An expression that fails ends
// the walk.
func (p *Plan) Run(counts *Counts) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		var key []byte
		for id, doc := range p.keyed(counts, &key) {
			counts.Found++
			ok, err := p.query.Filter.Test(doc)
			if err == nil && !ok {
				continue
			}
			counts.Matched++
			if !yield(Found{id, doc, key}, err) || err != nil {
				return
			}
		}
	}
}

// Found is a document, the record it lies in, and the key of the index entry
// that led to it, nil without an index.
type Found struct {
	ID  RecordID
	Doc bson.Raw
	key []byte
}

// KeyOf is what returnKey shows: the values of the index that was used.
func (p *Plan) KeyOf(f Found) bson.Raw {
	if p.index == nil {
		return emptyDocument
	}
	b, start := openDocument(nil)
	key := f.key
	for _, field := range p.index.fields {
		n := keyorder.Size(key)
		b = appendField(b, field.name, field.valueOf(f.Doc, key[:n]))
		key = key[n:]
	}
	return closeDocument(b, start)
}

// valueOf finds the value in a document that an index has under a key.
func (f indexField) valueOf(doc bson.Raw, key []byte) value {
	found := nullValue()
	if f.hashed {
		return int64Value(keyorder.Hash(valueAt(doc, f.path)))
	}
	same := func(v value) {
		if !isMissing(v) && bytes.Equal(keyorder.Append(nil, v), key) {
			found = v
		}
	}
	walkPath(doc, f.path, true, func(v value, _ int) bool {
		same(v)
		return false
	})
	return found
}

// WithRecordID adds what showRecordId shows.
func WithRecordID(doc bson.Raw, id RecordID) bson.Raw {
	return withField(doc, "$recordId", int64Value(int64(id)))
}

// Sorted tells whether the documents come in the order asked for.
func (p *Plan) Sorted() bool { return p.sorted || isEmpty(p.query.Sort) }

// candidates are documents among which are all that match, each once.
func (p *Plan) candidates(counts *Counts) iter.Seq2[RecordID, bson.Raw] {
	var key []byte
	return p.keyed(counts, &key)
}

// keyed is candidates that leaves the key of the entry in key.
func (p *Plan) keyed(counts *Counts, key *[]byte) iter.Seq2[RecordID, bson.Raw] {
	records := p.coll.records.Copy()
	switch {
	case p.branches != nil:
		return p.fromBranches(counts)
	case p.index == nil:
		return func(yield func(RecordID, bson.Raw) bool) {
			walk := records.Scan
			if p.reversed {
				walk = records.Reverse
			}
			walk(func(id RecordID, doc bson.Raw) bool {
				counts.Docs++
				return yield(id, doc)
			})
		}
	}
	entries := p.entries()
	var seen map[RecordID]bool
	if p.index.Multikey() {
		seen = map[RecordID]bool{}
	}
	return func(yield func(RecordID, bson.Raw) bool) {
		for e := range entries {
			counts.Keys++
			if e.seek {
				counts.Seeks++
			}
			if !e.within {
				continue
			}
			if seen != nil {
				counts.DupsTested++
				if seen[e.id] {
					counts.DupsDropped++
					continue
				}
				seen[e.id] = true
			}
			counts.Docs++
			*key = e.key
			if doc, ok := records.Get(e.id); ok && !yield(e.id, doc) {
				return
			}
		}
	}
}

func (p *Plan) fromBranches(counts *Counts) iter.Seq2[RecordID, bson.Raw] {
	seen := map[RecordID]bool{}
	return func(yield func(RecordID, bson.Raw) bool) {
		for _, b := range p.branches {
			part := &Counts{}
			counts.branches = append(counts.branches, part)
			for id, doc := range b.candidates(part) {
				part.Found++
				counts.DupsTested++
				if seen[id] {
					counts.DupsDropped++
					continue
				}
				seen[id] = true
				if !yield(id, doc) {
					counts.add(part)
					return
				}
			}
			counts.add(part)
		}
	}
}

func (c *Counts) add(part *Counts) {
	c.Keys += part.Keys
	c.Docs += part.Docs
	c.Seeks += part.Seeks
}
