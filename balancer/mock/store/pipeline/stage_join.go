package pipeline

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The stages that read other collections: $lookup and $unionWith. $graphLookup is in a separate file.

// joinCache caches the documents that an execution has read from other collections. A stage in a
// sub-pipeline runs once for each document, but reads the collection only once.
type joinCache struct {
	docs            map[string][]bson.Raw
	indexes         map[stage]joinIndex
	results         map[*lookupStage]value.Value // of uncorrelated sub-pipelines, equal for all documents
	graphCandidates map[*graphStage][]bson.Raw
}

func newJoinCache() *joinCache {
	return &joinCache{
		docs: map[string][]bson.Raw{}, indexes: map[stage]joinIndex{}, results: map[*lookupStage]value.Value{},
		graphCandidates: map[*graphStage][]bson.Raw{},
	}
}

// readCollection reads a whole collection. The caller must not change the result.
func (e *execution) readCollection(name string) ([]bson.Raw, error) {
	if e.env.Collection == nil || name == "" {
		return nil, nil
	}
	if docs, ok := e.joins.docs[name]; ok {
		return docs, nil
	}
	in, err := e.env.Collection(name)
	if err != nil {
		return nil, err
	}
	docs, err := (&quota.Memory{Meter: e.meter}).ReadAll(e.stopWithContext(in))
	if err == nil {
		e.joins.docs[name] = docs
	}
	return docs, err
}

// joinIndexFor returns the index of docs on the path that a stage joins by.
func (e *execution) joinIndexFor(s stage, docs []bson.Raw, path []string) joinIndex {
	ix, ok := e.joins.indexes[s]
	if !ok {
		ix = indexDocuments(paths.Walker{Meter: e.meter, NullInArrays: e.env.Language.NullInArrays}, docs, path)
		e.joins.indexes[s] = ix
	}
	return ix
}

type lookupStage struct {
	from                     string
	as                       []string
	localField, foreignField []string
	let                      []expr.Expression
	slots                    []int
	stages                   []stage // nil without a pipeline
	correlated               bool
	usesOuterDocument        bool // see compiler
}

func (c *compiler) compileLookup(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.FailedToParse("the $lookup stage specification must be an object, but found %s",
			value.TypeName(arg))
	}
	s := &lookupStage{}
	var pipeline, let value.Value
	for name, v := range document.Fields(arg.Value) {
		switch string(name) {
		case "pipeline":
			pipeline = v
			continue
		case "let":
			if !value.IsObject(v) {
				return nil, servererr.FailedToParse("$lookup argument 'let: %s' must be an object, is type %s", v,
					value.TypeName(v))
			}
			let = v
			continue
		}
		if !value.IsString(v) {
			return nil, servererr.FailedToParse("$lookup argument '%s: %s' must be a string, is type %s", name, v,
				value.TypeName(v))
		}
		text := value.TextAt(v.Value)
		var err error
		switch string(name) {
		case "from":
			s.from = text
		case "as":
			s.as, err = paths.Parse(text)
		case "localField":
			s.localField, err = paths.Parse(text)
		case "foreignField":
			s.foreignField, err = paths.Parse(text)
		default:
			return nil, servererr.FailedToParse("unknown argument to $lookup: %s", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, c.finishLookup(s, pipeline, let)
}

// makesDocuments reports whether a pipeline generates its documents and needs no collection.
func makesDocuments(pipeline value.Value) bool {
	if !value.IsArray(pipeline) {
		return false
	}
	_, stage, _ := document.FirstField(pipeline.Value)
	name, _, _ := document.FirstField(stage.Value)
	return value.IsObject(stage) && name == "$documents"
}

func (c *compiler) finishLookup(s *lookupStage, pipeline, let value.Value) error {
	switch {
	case s.as == nil:
		return servererr.FailedToParse("must specify 'as' field for a $lookup")
	case s.from == "" && value.IsMissing(pipeline):
		return servererr.FailedToParse("must specify 'pipeline' when 'from' is empty")
	case s.from == "" && !makesDocuments(pipeline):
		return servererr.FailedToParse(
			"$lookup stage without explicit collection must have a pipeline with $documents as first stage")
	case (s.localField == nil) != (s.foreignField == nil):
		return servererr.FailedToParse("$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
	case value.IsMissing(pipeline) && s.localField == nil:
		return servererr.FailedToParse(
			"$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified")
	case value.IsMissing(pipeline) && !value.IsMissing(let):
		return servererr.FailedToParse("$lookup with a 'let' argument must also specify 'pipeline'")
	case value.IsMissing(pipeline):
		s.correlated = true
		return nil
	}
	var names []string
	for name, v := range document.Fields(let.Value) {
		if err := expr.CheckVariable(string(name)); err != nil {
			return err
		}
		e, err := expr.Compile(v, c.scope)
		if err != nil {
			return err
		}
		names, s.let = append(names, string(name)), append(s.let, e)
	}
	inner, slots := c.scope.WithVariables(names...)
	s.slots = slots
	stages, err := c.compileSubPipeline(pipeline, inner, false)
	if stages == nil {
		stages = []stage{}
	}
	s.stages, s.correlated = stages, len(names) > 0 || s.localField != nil
	s.usesOuterDocument = c.usesOuterDocument
	return err
}

func (s *lookupStage) run(r *execution, in quota.Docs) quota.Docs {
	return perDocumentStage(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.newEvaluation()
		if s.usesOuterDocument {
			delete(r.joins.results, s)
		}
		return func(doc bson.Raw) (bson.Raw, error) {
			if same, ok := r.joins.results[s]; ok {
				return setPath(doc, s.as, same), nil
			}
			candidates, err := r.readCollection(s.from)
			if err != nil {
				return nil, err
			}
			if s.foreignField != nil {
				byKey := r.joinIndexFor(s, candidates, s.foreignField)
				candidates = byKey.find(r.meter, candidates, localValues(r.meter, doc, s.localField))
			}
			joined, err := s.joinValue(r, ctx, doc, candidates)
			if err != nil {
				return nil, err
			}
			if !s.correlated {
				r.joins.results[s] = joined
			}
			return setPath(doc, s.as, joined), nil
		}
	}).run(r, in)
}

// joinValue runs the candidates through the pipeline, with the document's variables.
func (s *lookupStage) joinValue(r *execution, ctx *expr.Evaluation, doc bson.Raw, candidates []bson.Raw,
) (value.Value, error) {
	held := &quota.Memory{Meter: r.meter, LimitErr: errJoinTooLarge(s.from)}
	defer held.Release()
	if s.stages == nil {
		return held.ReadAllToArray(r.meter.Documents(candidates))
	}
	inner := *r
	inner.vars = slices.Clone(r.vars)
	ctx.Root = value.Object(doc)
	vs, err := expr.EvalAll(s.let, ctx)
	if err != nil {
		return value.Value{}, err
	}
	for i, slot := range s.slots {
		for len(inner.vars) <= slot {
			inner.vars = append(inner.vars, value.Value{})
		}
		inner.vars[slot] = vs[i]
	}
	return held.ReadAllToArray(runStages(&inner, s.stages, r.meter.Documents(candidates)))
}

// joinIndex maps values at a path to the indexes of the documents that have them.
type joinIndex map[string][]int

func indexDocuments(w paths.Walker, docs []bson.Raw, path []string) joinIndex {
	ix := joinIndex{}
	for i, doc := range docs {
		w.Walk(doc, path, true, func(v value.Value, _ int) bool {
			if w.Meter.Charge(1) != nil {
				return true
			}
			key := value.EncodedKey(joinKey(v))
			if at := ix[key]; len(at) == 0 || at[len(at)-1] != i {
				ix[key] = append(at, i)
			}
			return false
		})
	}
	return ix
}

// joinKey maps undefined and missing to null, so that they join with null.
func joinKey(v value.Value) value.Value {
	if value.IsNullish(v) {
		return value.Null()
	}
	return v
}

// find returns the documents that have one of the values, in their original order.
func (ji joinIndex) find(w *quota.Meter, docs []bson.Raw, vs []value.Value) []bson.Raw {
	var at []int
	for _, v := range vs {
		if w.Charge(1) != nil {
			return nil
		}
		at = append(at, ji[value.EncodedKey(joinKey(v))]...)
	}
	if len(vs) > 1 {
		quota.SortStable(w, at, cmp.Compare[int])
		at = slices.Compact(at)
	}
	out := make([]bson.Raw, len(at))
	for i, j := range at {
		out[i] = docs[j]
	}
	return out
}

// localValues returns the values that a document is joined by: for an array, its elements.
func localValues(w *quota.Meter, doc bson.Raw, path []string) []value.Value {
	var out []value.Value
	paths.EachValue(w, doc, path, func(v value.Value) { out = append(out, v) })
	if len(out) == 0 { // an empty array joins with documents without the field
		out = append(out, value.Null())
	}
	return out
}

func (c *compiler) compileUnionWith(_ string, arg value.Value) (stage, error) {
	var coll string
	var pipeline value.Value
	switch {
	case value.IsString(arg):
		coll = value.TextAt(arg.Value)
	case value.IsObject(arg):
		for name, v := range document.Fields(arg.Value) {
			switch string(name) {
			case "coll":
				if !value.IsString(v) {
					return nil, servererr.TypeMismatch("BSON field '$unionWith.coll' is the wrong type '%s', expected type 'string'",
						value.TypeName(v))
				}
				coll = value.TextAt(v.Value)
			case "pipeline":
				pipeline = v
			default:
				return nil, servererr.NewCode(40415, "BSON field '$unionWith.%s' is an unknown field.", name)
			}
		}
	default:
		return nil, servererr.FailedToParse("the $unionWith stage specification must be an object or string, but found %s",
			value.TypeName(arg))
	}
	if coll == "" && !makesDocuments(pipeline) {
		return nil, servererr.FailedToParse(
			"$unionWith stage without explicit collection must have a pipeline with $documents as " +
				"first stage")
	}
	var stages []stage
	if !value.IsMissing(pipeline) {
		var err error
		if stages, err = c.compileSubPipeline(pipeline, c.scope, false); err != nil {
			return nil, err
		}
	}
	return unionStage{coll, stages}, nil
}

type unionStage struct {
	coll   string
	stages []stage
}

func (s unionStage) run(r *execution, in quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			if !yield(doc, err) || err != nil {
				return
			}
		}
		all, err := r.readCollection(s.coll)
		if err != nil {
			yield(nil, err)
			return
		}
		for doc, err := range runStages(r, s.stages, r.meter.Documents(all)) {
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
}
