package store

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/value"
)

// Stage is one stage of a plan in explain.
type Stage struct {
	Name     string
	Filter   bson.Raw // the condition of the stage; nil for none
	Fields   bson.D   // constant fields, such as keyPattern
	Counters bson.D   // further counters
	// Returned is the number of returned documents, Works the number of work units.
	Returned, Works int64
	Inputs          []*Stage
}

// PlannerDoc returns the stage in the format of queryPlanner.
func (s *Stage) PlannerDoc() bson.D {
	doc := append(s.headFields(), s.Fields...)
	return s.appendInputs(doc, (*Stage).PlannerDoc)
}

// ExecutionDoc returns the stage in the format of executionStats.
func (s *Stage) ExecutionDoc() bson.D {
	doc := append(s.headFields(),
		bson.E{Key: "nReturned", Value: document.SmallestInt(s.Returned)},
		bson.E{Key: "executionTimeMillisEstimate", Value: int32(0)},
		bson.E{Key: "works", Value: document.SmallestInt(s.Works)},
		bson.E{Key: "advanced", Value: document.SmallestInt(s.Returned)},
		bson.E{Key: "needTime", Value: document.SmallestInt(max(0, s.Works-s.Returned-1))},
		bson.E{Key: "needYield", Value: int32(0)},
		bson.E{Key: "saveState", Value: int32(0)},
		bson.E{Key: "restoreState", Value: int32(0)},
		bson.E{Key: "isEOF", Value: int32(1)},
	)
	doc = append(append(doc, s.Fields...), s.Counters...)
	return s.appendInputs(doc, (*Stage).ExecutionDoc)
}

func (s *Stage) headFields() bson.D {
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

// AddInput adds an input to a stage.
func (s *Stage) AddInput(input *Stage) *Stage {
	s.Inputs = append(s.Inputs, input)
	return s
}

// ResultShape says what the caller does with the documents of a plan.
type ResultShape struct {
	// ShardKey are the fields of the shard key, for the shard's ownership filter; nil without a filter.
	ShardKey []string
	// Projection is the projection of the find.
	Projection bson.Raw
	// Skip and Limit limit the result; zero means none.
	Skip, Limit int64
	// IsCount marks a count, which needs no documents.
	IsCount bool
}

// RunStats are the counters of a plan's execution.
type RunStats struct {
	Counts
	// Returned is the number of results, Bytes the size of the sorted documents.
	Returned, Bytes int64
}

// Totals are the numbers of index keys and documents that a plan examined, as the server counts them.
type Totals struct{ Keys, Docs int64 }

// Stages describes the plan with the counters of a run, which may be zero.
func (p *Plan) Stages(shape ResultShape, ran RunStats) (*Stage, Totals) {
	if s, ok := p.expressStage(shape, ran); ok {
		return s, Totals{ran.Keys, ran.Docs}
	}
	s, totals := p.sourceStages(shape, ran)
	if !p.IsSorted() {
		s = sortStage(p.query.Sort, shape, ran).AddInput(s)
	}
	if shape.Skip > 0 {
		s = (&Stage{Name: "SKIP", Fields: bson.D{{Key: "skipAmount", Value: document.SmallestInt(shape.Skip)}},
			Returned: ran.Returned, Works: s.Works}).AddInput(s)
	}
	if name := p.projectionStageName(shape); name != "" {
		s = (&Stage{Name: name, Fields: bson.D{{Key: "transformBy", Value: shape.Projection}}, Returned: ran.Returned,
			Works: s.Works}).AddInput(s)
	}
	if shape.Limit > 0 && (p.IsSorted() || shape.Skip > 0) {
		s = (&Stage{Name: "LIMIT", Fields: bson.D{{Key: "limitAmount", Value: document.SmallestInt(shape.Limit)}},
			Returned: ran.Returned, Works: s.Works}).AddInput(s)
	}
	if p.isSubplanned() {
		s = (&Stage{Name: "SUBPLAN", Returned: s.Returned, Works: s.Works}).AddInput(s)
	}
	return s, totals
}

// isSubplanned reports whether the query consists of a single $or, whose branches the server plans
// separately.
func (p *Plan) isSubplanned() bool {
	return len(p.clauses) == 1 && p.clauses[0].Or != nil && value.IsMissing(p.query.Hint)
}

// RejectedPlans returns the other candidate plans in the format of queryPlanner.
func (p *Plan) RejectedPlans(shape ResultShape) bson.A {
	list := bson.A{}
	for _, r := range p.rejected {
		s, _ := r.Stages(shape, RunStats{})
		list = append(list, append(bson.D{{Key: "isCached", Value: false}}, s.PlannerDoc()...))
	}
	return list
}

// expressStage returns the express stage, which reads a document by its _id.
func (p *Plan) expressStage(shape ResultShape, ran RunStats) (*Stage, bool) {
	if !p.query.AllowExpress || p.index == nil || p.index.spec.Name != "_id_" || len(p.clauses) != 1 ||
		!p.exactClauses[0] || !p.bounds[0].isOnePoint() || shape.Skip > 0 || shape.IsCount ||
		!document.IsEmpty(p.query.Sort) {
		return nil, false
	}
	return &Stage{
		Name: "EXPRESS_IXSCAN",
		Fields: bson.D{{Key: "keyPattern", Value: document.Text(value.Object(p.index.spec.Key))},
			{Key: "indexName", Value: "_id_"}},
		Counters: bson.D{{Key: "keysExamined", Value: document.SmallestInt(ran.Keys)},
			{Key: "docsExamined", Value: document.SmallestInt(ran.Docs)}},
		Returned: ran.Returned, Works: ran.Keys + 1,
	}, true
}

// sourceStages returns the stages that find the documents and filter the owned ones.
func (p *Plan) sourceStages(shape ResultShape, ran RunStats) (*Stage, Totals) {
	switch {
	case p.branches != nil:
		return p.shardingFilterStage(shape, ran, p.orStage(ran)), Totals{ran.Keys, ran.Found}
	case p.index == nil:
		s := &Stage{Name: "COLLSCAN", Fields: bson.D{{Key: "direction", Value: directionName(p.explainedBackward)}},
			Counters: bson.D{{Key: "docsExamined", Value: document.SmallestInt(ran.Docs)}},
			Returned: ran.Matched, Works: ran.Docs + 1}
		if len(p.clauses) > 0 {
			s.Filter = filter.ExplainQuery(p.clauses)
		}
		return p.shardingFilterStage(shape, ran, s), Totals{ran.Keys, ran.Docs}
	}
	scan := p.indexScan(ran.Counts)
	residual := p.residualFilter()
	covered := residual == nil && p.covers(shape)
	switch {
	case covered:
		return p.shardingFilterStage(shape, ran, scan), Totals{Keys: ran.Keys}
	case residual == nil && shape.ShardKey != nil && p.coversFields(shape.ShardKey):
		return fetchStage(nil, ran.Owned, ran.Owned, p.shardingFilterStage(shape, ran, scan)), Totals{ran.Keys, ran.Owned}
	}
	fetch := fetchStage(residual, ran.Found, ran.Matched, scan)
	return p.shardingFilterStage(shape, ran, fetch), Totals{ran.Keys, ran.Found}
}

func (p *Plan) shardingFilterStage(shape ResultShape, ran RunStats, input *Stage) *Stage {
	if shape.ShardKey == nil {
		return input
	}
	return (&Stage{Name: "SHARDING_FILTER",
		Counters: bson.D{{Key: "chunkSkips", Value: document.SmallestInt(ran.Matched - ran.Owned)}},
		Returned: ran.Owned, Works: input.Works}).AddInput(input)
}

func fetchStage(filter bson.Raw, examined, returned int64, input *Stage) *Stage {
	return (&Stage{Name: "FETCH", Filter: filter, Returned: returned, Works: input.Works,
		Counters: bson.D{
			{Key: "docsExamined", Value: document.SmallestInt(examined)}, {Key: "alreadyHasObj", Value: int32(0)},
		},
	}).AddInput(input)
}

func (p *Plan) orStage(ran RunStats) *Stage {
	or := &Stage{Name: "OR", Returned: ran.Found, Works: ran.Keys + int64(len(p.branches)),
		Counters: bson.D{{Key: "dupsTested", Value: document.SmallestInt(ran.DupsTested)},
			{Key: "dupsDropped", Value: document.SmallestInt(ran.DupsDropped)}}}
	for i, b := range p.branches {
		counts := Counts{}
		if i < len(ran.branches) {
			counts = *ran.branches[i]
		}
		or.Inputs = append(or.Inputs, b.indexScan(counts))
	}
	return fetchStage(p.orFilter(), ran.Found, ran.Matched, or)
}

// orFilter returns the conditions that the branches do not enforce, nil if there are none.
func (p *Plan) orFilter() bson.Raw {
	if len(p.clauses) == 1 && !slices.ContainsFunc(p.branches, func(b *Plan) bool { return b.residualFilter() != nil }) {
		return nil
	}
	return filter.ExplainQuery(p.clauses)
}

// residualFilter returns the conditions that the bounds do not enforce, nil if there are none.
func (p *Plan) residualFilter() bson.Raw {
	var rest []filter.Clause
	for i, c := range p.clauses {
		if !p.exactClauses[i] {
			rest = append(rest, c)
		}
	}
	if rest == nil {
		return nil
	}
	return filter.ExplainQuery(rest)
}

// covers reports whether the index keys are sufficient, so that no documents are fetched.
func (p *Plan) covers(shape ResultShape) bool {
	if shape.ShardKey != nil && !p.coversFields(shape.ShardKey) {
		return false
	}
	in := includedFields(shape.Projection)
	return shape.IsCount || in.isInclusion && p.coversFields(in.names)
}

func (p *Plan) coversFields(names []string) bool {
	if p.index.IsMultikey() {
		return false
	}
	for _, name := range names {
		if !slices.ContainsFunc(p.index.fields, func(f indexField) bool { return f.name == name && !f.hashed }) {
			return false
		}
	}
	return true
}

// projectionFields are the fields that a projection includes. There are none if the projection computes
// fields or only excludes fields.
type projectionFields struct {
	isInclusion, computed, dotted bool
	names                         []string
}

// IsInclusion reports whether a projection includes fields and computes none.
func IsInclusion(projection bson.Raw) bool { return includedFields(projection).isInclusion }

func includedFields(projection bson.Raw) (in projectionFields) {
	id := true
	for name, v := range document.Fields(projection) {
		switch path := string(name); {
		case !value.IsNumber(v) && v.Type != bson.TypeBoolean:
			return projectionFields{computed: true}
		case path == "_id":
			id = value.IsTruthy(v)
		default:
			in.dotted = in.dotted || strings.Contains(path, ".")
			if value.IsTruthy(v) {
				in.isInclusion = true
				in.names = append(in.names, path)
			}
		}
	}
	if id {
		in.names = append(in.names, "_id")
	}
	return in
}

// CoveredProjection returns a function that builds the part of a document that a query needs from the
// index keys alone. A missing field becomes null. It returns nil if documents are fetched or if the
// projection has dotted paths.
func (p *Plan) CoveredProjection() func(doc bson.Raw) bson.Raw {
	in := includedFields(p.query.Shape.Projection)
	if p.index == nil || p.branches != nil || !in.isInclusion || in.dotted || !p.IsSorted() || p.residualFilter() != nil ||
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
		return document.New(fields...)
	}
}

// projectionStageName returns the name of the projection stage, "" without a projection. A projection
// with dotted paths uses the default stage, even if it is covered by an index.
func (p *Plan) projectionStageName(shape ResultShape) string {
	if document.IsEmpty(shape.Projection) {
		return ""
	}
	switch in := includedFields(shape.Projection); {
	case in.computed || in.dotted:
		return "PROJECTION_DEFAULT"
	case in.isInclusion && p.index != nil && p.branches == nil && p.residualFilter() == nil && p.covers(shape):
		return "PROJECTION_COVERED"
	}
	return "PROJECTION_SIMPLE"
}

func sortStage(pattern bson.Raw, shape ResultShape, ran RunStats) *Stage {
	details := bson.D{{Key: "sortPattern", Value: pattern}, {Key: "memLimit", Value: int32(sortMemory)}}
	returned := ran.Owned
	if shape.Limit > 0 {
		details = append(details, bson.E{Key: "limitAmount", Value: document.SmallestInt(shape.Limit + shape.Skip)})
		returned = min(returned, shape.Limit+shape.Skip)
	}
	return &Stage{
		Name: "SORT", Fields: append(details, bson.E{Key: "type", Value: "simple"}),
		Counters: bson.D{
			{Key: "totalDataSizeSorted", Value: document.SmallestInt(ran.Bytes)}, {Key: "usedDisk", Value: false},
			{Key: "spills", Value: int32(0)}, {Key: "spilledDataStorageSize", Value: int32(0)},
		},
		Returned: returned, Works: ran.Keys + ran.Docs + returned + 2,
	}
}

// sortMemory is the server's memory limit of a sort, in bytes.
const sortMemory = 100 << 20

func directionName(backward bool) string {
	if backward {
		return "backward"
	}
	return "forward"
}

// indexScan returns the stage of an index scan with its bounds.
func (p *Plan) indexScan(counts Counts) *Stage {
	s := &Stage{Name: "IXSCAN", Fields: append(p.index.explainFields(),
		bson.E{Key: "direction", Value: directionName(p.explainedBackward)})}
	all := bson.D{}
	for i, f := range p.index.fields {
		all = append(all, bson.E{Key: f.name, Value: p.explainBounds(i)})
	}
	s.Fields = append(s.Fields, bson.E{Key: "indexBounds", Value: all})
	s.Returned, s.Works = counts.Found, counts.Keys+1
	s.Counters = bson.D{
		{Key: "keysExamined", Value: document.SmallestInt(counts.Keys)},
		{Key: "seeks", Value: document.SmallestInt(counts.Seeks)},
		{Key: "dupsTested", Value: document.SmallestInt(counts.DupsTested)},
		{Key: "dupsDropped", Value: document.SmallestInt(counts.DupsDropped)},
	}
	return s
}

// explainBounds returns the intervals in the order of the scan.
func (p *Plan) explainBounds(i int) bson.A {
	list := bson.A{}
	falling := p.index.isDescending(i) != p.explainedBackward
	for _, one := range p.bounds[i] {
		if falling {
			list = append(list, one.reversedString())
		} else {
			list = append(list, one.String())
		}
	}
	if falling {
		slices.Reverse(list)
	}
	return list
}

// explainFields returns the fields that describe the index in a stage.
func (ix *Index) explainFields() bson.D {
	paths := bson.D{}
	for _, f := range ix.fields {
		paths = append(paths, bson.E{Key: f.name, Value: ix.multikeyPaths(f)})
	}
	return bson.D{
		{Key: "keyPattern", Value: ix.spec.Key}, {Key: "indexName", Value: ix.spec.Name},
		{Key: "isMultiKey", Value: ix.IsMultikey()}, {Key: "multiKeyPaths", Value: paths},
		{Key: "isUnique", Value: ix.spec.Unique}, {Key: "isSparse", Value: ix.spec.Sparse},
		{Key: "isPartial", Value: ix.partialFilter != nil}, {Key: "indexVersion", Value: int32(2)},
	}
}

// multikeyPaths returns the prefixes of a field's path at which there are or were arrays.
func (ix *Index) multikeyPaths(f indexField) bson.A {
	list := bson.A{}
	for n := range f.path {
		if before := strings.Join(f.path[:n+1], "."); slices.Contains(ix.arrayPaths, before) {
			list = append(list, before)
		}
	}
	return list
}
