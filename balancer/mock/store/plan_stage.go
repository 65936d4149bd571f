package store

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/value"
)

// Stage is one step of a plan as explain shows it.
type Stage struct {
	Name   string
	Filter bson.Raw // what it tests; nil for nothing
	Fields bson.D   // what it is
	Done   bson.D   // what it counted besides
	// Returned is how many it gave, Works how many steps it took.
	Returned, Works int64
	Inputs          []*Stage
}

// Planned returns the stage as queryPlanner shows it.
func (s *Stage) Planned() bson.D {
	doc := append(s.head(), s.Fields...)
	return s.appendInputs(doc, (*Stage).Planned)
}

// Executed returns the stage as executionStats shows it.
func (s *Stage) Executed() bson.D {
	doc := append(s.head(),
		bson.E{Key: "nReturned", Value: smallestOf(s.Returned)},
		bson.E{Key: "executionTimeMillisEstimate", Value: int32(0)},
		bson.E{Key: "works", Value: smallestOf(s.Works)},
		bson.E{Key: "advanced", Value: smallestOf(s.Returned)},
		bson.E{Key: "needTime", Value: smallestOf(max(0, s.Works-s.Returned-1))},
		bson.E{Key: "needYield", Value: int32(0)},
		bson.E{Key: "saveState", Value: int32(0)},
		bson.E{Key: "restoreState", Value: int32(0)},
		bson.E{Key: "isEOF", Value: int32(1)},
	)
	doc = append(append(doc, s.Fields...), s.Done...)
	return s.appendInputs(doc, (*Stage).Executed)
}

func (s *Stage) head() bson.D {
	doc := bson.D{{Key: "stage", Value: s.Name}}
	if s.Filter != nil {
		doc = append(doc, bson.E{Key: "filter", Value: s.Filter})
	}
	return doc
}

func (s *Stage) appendInputs(doc bson.D, show func(*Stage) bson.D) bson.D {
	switch len(s.Inputs) {
	case 0:
		return doc
	case 1:
		return append(doc, bson.E{Key: "inputStage", Value: show(s.Inputs[0])})
	}
	list := bson.A{}
	for _, in := range s.Inputs {
		list = append(list, show(in))
	}
	return append(doc, bson.E{Key: "inputStages", Value: list})
}

// smallestOf returns how counters are encoded: Int32 where it fits.
func smallestOf(n int64) any {
	if n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

// Over puts a stage on top of another.
func (s *Stage) Over(input *Stage) *Stage {
	s.Inputs = append(s.Inputs, input)
	return s
}

// Shape is what is done with the documents that a plan gives.
type Shape struct {
	// ShardKey are the fields of the shard key of which a shard tests the owner;
	// nil when it need not.
	ShardKey []string
	// Projection is that of find.
	Projection bson.Raw
	// Skip and Limit cut the result; zero is none.
	Skip, Limit int64
	// Counting is for count, which needs no documents.
	Counting bool
}

// Ran is what a plan did when it was run.
type Ran struct {
	Counts
	// Returned is the result's length; Bytes the size of what had to be sorted.
	Returned, Bytes int64
}

// Totals are the index keys and documents that a plan looked at, as the server
// counts them.
type Totals struct{ Keys, Docs int64 }

// Stages describes the plan, with the counts of a run or of none.
func (p *Plan) Stages(shape Shape, ran Ran) (*Stage, Totals) {
	if s, ok := p.express(shape, ran); ok {
		return s, Totals{ran.Keys, ran.Docs}
	}
	s, totals := p.source(shape, ran)
	if !p.Sorted() {
		s = sortStage(p.query.Sort, shape, ran).Over(s)
	}
	if shape.Skip > 0 {
		s = (&Stage{Name: "SKIP", Fields: bson.D{{Key: "skipAmount", Value: smallestOf(shape.Skip)}}, Returned: ran.Returned,
			Works: s.Works}).Over(s)
	}
	if name := p.projecting(shape); name != "" {
		s = (&Stage{Name: name, Fields: bson.D{{Key: "transformBy", Value: shape.Projection}}, Returned: ran.Returned,
			Works: s.Works}).Over(s)
	}
	if shape.Limit > 0 && (p.Sorted() || shape.Skip > 0) {
		s = (&Stage{Name: "LIMIT", Fields: bson.D{{Key: "limitAmount", Value: smallestOf(shape.Limit)}},
			Returned: ran.Returned, Works: s.Works}).Over(s)
	}
	if p.subplanned() {
		s = (&Stage{Name: "SUBPLAN", Returned: s.Returned, Works: s.Works}).Over(s)
	}
	return s, totals
}

// subplanned reports whether the query is $or and nothing else, whose clauses the
// server plans one by one.
func (p *Plan) subplanned() bool {
	return len(p.clauses) == 1 && p.clauses[0].Or != nil && value.IsMissing(p.query.Hint)
}

// Rejected returns the other plans there were, as queryPlanner shows them.
func (p *Plan) Rejected(shape Shape) bson.A {
	list := bson.A{}
	for _, r := range p.rejected {
		s, _ := r.Stages(shape, Ran{})
		list = append(list, append(bson.D{{Key: "isCached", Value: false}}, s.Planned()...))
	}
	return list
}

// express returns the short way to a document by its _id.
func (p *Plan) express(shape Shape, ran Ran) (*Stage, bool) {
	if !p.query.Plain || p.index == nil || p.index.spec.Name != "_id_" || len(p.clauses) != 1 || !p.settled[0] ||
		!p.bounds[0].onePoint() || shape.Skip > 0 || shape.Counting || !document.IsEmpty(p.query.Sort) {
		return nil, false
	}
	return &Stage{
		Name: "EXPRESS_IXSCAN",
		Fields: bson.D{{Key: "keyPattern", Value: document.Text(value.Object(p.index.spec.Key))},
			{Key: "indexName", Value: "_id_"}},
		Done: bson.D{{Key: "keysExamined", Value: smallestOf(ran.Keys)},
			{Key: "docsExamined", Value: smallestOf(ran.Docs)}},
		Returned: ran.Returned, Works: ran.Keys + 1,
	}, true
}

// source returns the stages that find the documents and keep those owned.
func (p *Plan) source(shape Shape, ran Ran) (*Stage, Totals) {
	switch {
	case p.branches != nil:
		return p.owned(shape, ran, p.orStage(ran)), Totals{ran.Keys, ran.Found}
	case p.index == nil:
		s := &Stage{Name: "COLLSCAN", Fields: bson.D{{Key: "direction", Value: direction(p.backward)}},
			Done: bson.D{{Key: "docsExamined", Value: smallestOf(ran.Docs)}}, Returned: ran.Matched, Works: ran.Docs + 1}
		if len(p.clauses) > 0 {
			s.Filter = filter.QueryOf(p.clauses)
		}
		return p.owned(shape, ran, s), Totals{ran.Keys, ran.Docs}
	}
	scan := p.indexScan(ran.Counts)
	residual := p.residual()
	covered := residual == nil && p.covers(shape)
	switch {
	case covered:
		return p.owned(shape, ran, scan), Totals{Keys: ran.Keys}
	case residual == nil && shape.ShardKey != nil && p.coversFields(shape.ShardKey):
		return fetch(nil, ran.Owned, ran.Owned, p.owned(shape, ran, scan)), Totals{ran.Keys, ran.Owned}
	}
	return p.owned(shape, ran, fetch(residual, ran.Found, ran.Matched, scan)), Totals{ran.Keys, ran.Found}
}

func (p *Plan) owned(shape Shape, ran Ran, input *Stage) *Stage {
	if shape.ShardKey == nil {
		return input
	}
	return (&Stage{Name: "SHARDING_FILTER", Done: bson.D{{Key: "chunkSkips", Value: smallestOf(ran.Matched - ran.Owned)}},
		Returned: ran.Owned, Works: input.Works}).Over(input)
}

func fetch(filter bson.Raw, examined, returned int64, input *Stage) *Stage {
	return (&Stage{Name: "FETCH", Filter: filter, Returned: returned, Works: input.Works,
		Done: bson.D{{Key: "docsExamined", Value: smallestOf(examined)}, {Key: "alreadyHasObj", Value: int32(0)}},
	}).Over(input)
}

func (p *Plan) orStage(ran Ran) *Stage {
	or := &Stage{Name: "OR", Returned: ran.Found, Works: ran.Keys + int64(len(p.branches)),
		Done: bson.D{{Key: "dupsTested", Value: smallestOf(ran.DupsTested)},
			{Key: "dupsDropped", Value: smallestOf(ran.DupsDropped)}}}
	for i, b := range p.branches {
		counts := Counts{}
		if i < len(ran.branches) {
			counts = *ran.branches[i]
		}
		or.Inputs = append(or.Inputs, b.indexScan(counts))
	}
	return fetch(p.orFilter(), ran.Found, ran.Matched, or)
}

// orFilter returns what the branches leave to be tested; nil for nothing.
func (p *Plan) orFilter() bson.Raw {
	if len(p.clauses) == 1 && !slices.ContainsFunc(p.branches, func(b *Plan) bool { return b.residual() != nil }) {
		return nil
	}
	return filter.QueryOf(p.clauses)
}

// residual returns what the bounds leave to be tested; nil for nothing.
func (p *Plan) residual() bson.Raw {
	var rest []filter.Clause
	for i, c := range p.clauses {
		if !p.settled[i] {
			rest = append(rest, c)
		}
	}
	if rest == nil {
		return nil
	}
	return filter.QueryOf(rest)
}

// covers reports whether the keys of the index are all that is needed.
func (p *Plan) covers(shape Shape) bool {
	if shape.ShardKey != nil && !p.coversFields(shape.ShardKey) {
		return false
	}
	in := inclusion(shape.Projection)
	return shape.Counting || in.is && p.coversFields(in.names)
}

func (p *Plan) coversFields(names []string) bool {
	if p.index.Multikey() {
		return false
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.index.fields, func(f indexField) bool { return f.name == name && !f.hashed }) {
			return false
		}
	}
	return true
}

// projectionFields is what a projection includes. It is none with computed fields, or
// when it only excludes.
type projectionFields struct {
	is, computed, dotted bool
	names                []string
}

// IsInclusion reports whether a projection names fields to keep, and computes none.
func IsInclusion(projection bson.Raw) bool { return inclusion(projection).is }

func inclusion(projection bson.Raw) (in projectionFields) {
	id := true
	for name, v := range document.Fields(projection) {
		switch path := string(name); {
		case !value.IsNumber(v) && v.Type != bson.TypeBoolean:
			return projectionFields{computed: true}
		case path == "_id":
			id = value.Truthy(v)
		default:
			in.dotted = in.dotted || strings.Contains(path, ".")
			if value.Truthy(v) {
				in.is = true
				in.names = append(in.names, path)
			}
		}
	}
	if id {
		in.names = append(in.names, "_id")
	}
	return in
}

// Covered returns a function that makes what a query needs of a document from its keys in the index
// alone: a field that it lacks is null there. It is nil where documents are fetched, or paths shown.
func (p *Plan) Covered() func(doc bson.Raw) bson.Raw {
	in := inclusion(p.query.Shape.Projection)
	if p.index == nil || p.branches != nil || !in.is || in.dotted || !p.Sorted() || p.residual() != nil ||
		!p.covers(p.query.Shape) || slices.ContainsFunc(p.index.fields, func(f indexField) bool { return len(f.path) > 1 }) {
		return nil
	}
	return func(doc bson.Raw) bson.Raw {
		fields := make([]document.Field, 0, len(p.index.fields))
		for _, f := range p.index.fields {
			v := document.Lookup(doc, f.name)
			if value.IsMissing(v) {
				v = value.Null()
			}
			if !f.hashed {
				fields = append(fields, document.Field{Name: f.name, Value: v})
			}
		}
		return document.Of(fields...)
	}
}

// projecting names the stage of the projection, "" without one. Paths go the long
// way, from an index, too.
func (p *Plan) projecting(shape Shape) string {
	if document.IsEmpty(shape.Projection) {
		return ""
	}
	switch in := inclusion(shape.Projection); {
	case in.computed || in.dotted:
		return "PROJECTION_DEFAULT"
	case in.is && p.index != nil && p.branches == nil && p.residual() == nil && p.covers(shape):
		return "PROJECTION_COVERED"
	}
	return "PROJECTION_SIMPLE"
}

func sortStage(pattern bson.Raw, shape Shape, ran Ran) *Stage {
	details := bson.D{{Key: "sortPattern", Value: pattern}, {Key: "memLimit", Value: int32(sortMemory)}}
	returned := ran.Owned
	if shape.Limit > 0 {
		details = append(details, bson.E{Key: "limitAmount", Value: smallestOf(shape.Limit + shape.Skip)})
		returned = min(returned, shape.Limit+shape.Skip)
	}
	return &Stage{
		Name: "SORT", Fields: append(details, bson.E{Key: "type", Value: "simple"}),
		Done: bson.D{
			{Key: "totalDataSizeSorted", Value: smallestOf(ran.Bytes)}, {Key: "usedDisk", Value: false},
			{Key: "spills", Value: int32(0)}, {Key: "spilledDataStorageSize", Value: int32(0)},
		},
		Returned: returned, Works: ran.Keys + ran.Docs + returned + 2,
	}
}

// sortMemory is the server's limit of a sort in memory, in bytes.
const sortMemory = 100 << 20

func direction(backward bool) string {
	if backward {
		return "backward"
	}
	return "forward"
}

// indexScan returns the stage of the scan, with its bounds.
func (p *Plan) indexScan(counts Counts) *Stage {
	s := &Stage{Name: "IXSCAN", Fields: append(p.index.described(),
		bson.E{Key: "direction", Value: direction(p.backward)})}
	all := bson.D{}
	for i, f := range p.index.fields {
		all = append(all, bson.E{Key: f.name, Value: p.shownBounds(i)})
	}
	s.Fields = append(s.Fields, bson.E{Key: "indexBounds", Value: all})
	s.Returned, s.Works = counts.Found, counts.Keys+1
	s.Done = bson.D{
		{Key: "keysExamined", Value: smallestOf(counts.Keys)}, {Key: "seeks", Value: smallestOf(counts.Seeks)},
		{Key: "dupsTested", Value: smallestOf(counts.DupsTested)},
		{Key: "dupsDropped", Value: smallestOf(counts.DupsDropped)},
	}
	return s
}

// shownBounds returns the intervals in the order the scan meets them.
func (p *Plan) shownBounds(i int) bson.A {
	list := bson.A{}
	falling := p.index.descends(i) != p.backward
	for _, one := range p.bounds[i] {
		if falling {
			list = append(list, one.backwards())
		} else {
			list = append(list, one.String())
		}
	}
	if falling {
		slices.Reverse(list)
	}
	return list
}

// described returns the fields of the index in a stage.
func (ix *Index) described() bson.D {
	paths := bson.D{}
	for _, f := range ix.fields {
		paths = append(paths, bson.E{Key: f.name, Value: ix.multikeyPaths(f)})
	}
	return bson.D{
		{Key: "keyPattern", Value: ix.spec.Key}, {Key: "indexName", Value: ix.spec.Name},
		{Key: "isMultiKey", Value: ix.Multikey()}, {Key: "multiKeyPaths", Value: paths},
		{Key: "isUnique", Value: ix.spec.Unique}, {Key: "isSparse", Value: ix.spec.Sparse},
		{Key: "isPartial", Value: ix.partial != nil}, {Key: "indexVersion", Value: int32(2)},
	}
}

// multikeyPaths returns the beginnings of a field's path at which there are or were arrays.
func (ix *Index) multikeyPaths(f indexField) bson.A {
	list := bson.A{}
	for n := range f.path {
		if before := strings.Join(f.path[:n+1], "."); slices.Contains(ix.arrays, before) {
			list = append(list, before)
		}
	}
	return list
}
