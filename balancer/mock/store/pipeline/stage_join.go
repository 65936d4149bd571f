package store

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The stages that read other collections: $lookup, $unionWith, $graphLookup.

// joined is what an execution has read of other collections. A stage inside
// another runs once for each document, and reads but once.
type joined struct {
	docs    map[string][]bson.Raw
	byKey   map[stage]joinIndex
	results map[*lookupStage]value // that are the same for every document
	reached map[*graphStage][]bson.Raw
}

func newJoined() *joined {
	return &joined{
		docs: map[string][]bson.Raw{}, byKey: map[stage]joinIndex{}, results: map[*lookupStage]value{},
		reached: map[*graphStage][]bson.Raw{},
	}
}

// foreign reads a whole collection. What it returns must not be changed.
func (r *execution) foreign(name string) ([]bson.Raw, error) {
	if r.env.Collection == nil || name == "" {
		return nil, nil
	}
	if docs, ok := r.seen.docs[name]; ok {
		return docs, nil
	}
	in, err := r.env.Collection(name)
	if err != nil {
		return nil, err
	}
	docs, err := (&memory{work: r.work}).drain(r.watched(in))
	if err == nil {
		r.seen.docs[name] = docs
	}
	return docs, err
}

// index returns the places of documents by what a stage joins by.
func (r *execution) index(s stage, docs []bson.Raw, path []string) joinIndex {
	ix, ok := r.seen.byKey[s]
	if !ok {
		ix = indexDocuments(r.work, docs, path)
		r.seen.byKey[s] = ix
	}
	return ix
}

type lookupStage struct {
	from           string
	as             []string
	local, foreign []string
	let            []expression
	slots          []int
	stages         []stage // nil without a pipeline
	correlated     bool
}

func (c *pipelineCompiler) lookup(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, failedToParse("the $lookup stage specification must be an object, but found %s", typeName(arg))
	}
	s := &lookupStage{}
	var pipeline, let value
	for name, v := range fields(arg.Value) {
		switch string(name) {
		case "pipeline":
			pipeline = v
			continue
		case "let":
			if !isObject(v) {
				return nil, failedToParse("$lookup argument 'let: %s' must be an object, is type %s", v, typeName(v))
			}
			let = v
			continue
		}
		if !isString(v) {
			return nil, failedToParse("$lookup argument '%s: %s' must be a string, is type %s", name, v, typeName(v))
		}
		text := textAt(v.Value)
		var err error
		switch string(name) {
		case "from":
			s.from = text
		case "as":
			s.as, err = fieldPath(text)
		case "localField":
			s.local, err = fieldPath(text)
		case "foreignField":
			s.foreign, err = fieldPath(text)
		default:
			return nil, failedToParse("unknown argument to $lookup: %s", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, c.finishLookup(s, pipeline, let)
}

// makesDocuments reports whether a pipeline needs no collection.
func makesDocuments(pipeline value) bool {
	if !isArray(pipeline) {
		return false
	}
	_, stage, _ := first(pipeline.Value)
	name, _, _ := first(stage.Value)
	return isObject(stage) && name == "$documents"
}

func (c *pipelineCompiler) finishLookup(s *lookupStage, pipeline, let value) error {
	switch {
	case s.as == nil:
		return failedToParse("must specify 'as' field for a $lookup")
	case s.from == "" && isMissing(pipeline):
		return failedToParse("must specify 'pipeline' when 'from' is empty")
	case s.from == "" && !makesDocuments(pipeline):
		return failedToParse("$lookup stage without explicit collection must have a pipeline with $documents as first stage")
	case (s.local == nil) != (s.foreign == nil):
		return failedToParse("$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
	case isMissing(pipeline) && s.local == nil:
		return failedToParse("$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified")
	case isMissing(pipeline) && !isMissing(let):
		return failedToParse("$lookup with a 'let' argument must also specify 'pipeline'")
	case isMissing(pipeline):
		s.correlated = true
		return nil
	}
	var names []string
	for name, v := range fields(let.Value) {
		if err := checkVariable(string(name)); err != nil {
			return err
		}
		e, err := compileExpression(v, c.scope)
		if err != nil {
			return err
		}
		names, s.let = append(names, string(name)), append(s.let, e)
	}
	inner, slots := c.scope.with(names...)
	s.slots = slots
	stages, err := c.sub(pipeline, inner, false)
	if stages == nil {
		stages = []stage{}
	}
	s.stages, s.correlated = stages, len(names) > 0 || s.local != nil
	return err
}

func (s *lookupStage) run(r *execution, in docs) docs {
	return perDocument(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.evaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			if same, ok := r.seen.results[s]; ok {
				return replaceAt(doc, s.as, same), nil
			}
			candidates, err := r.foreign(s.from)
			if err != nil {
				return nil, err
			}
			if s.foreign != nil {
				byKey := r.index(s, candidates, s.foreign)
				candidates = byKey.find(r.work, candidates, localValues(r.work, doc, s.local))
			}
			joined, err := s.join(r, ctx, doc, candidates)
			if err != nil {
				return nil, err
			}
			if !s.correlated {
				r.seen.results[s] = joined
			}
			return replaceAt(doc, s.as, joined), nil
		}
	}).run(r, in)
}

// join puts the candidates through the pipeline, with the document's
// variables.
func (s *lookupStage) join(r *execution, ctx *evaluation, doc bson.Raw, candidates []bson.Raw) (value, error) {
	held := &memory{work: r.work, refuse: joinTooLarge(s.from)}
	defer held.free()
	if s.stages == nil {
		return held.values(r.work.documents(candidates))
	}
	inner := *r
	inner.vars = slices.Clone(r.vars)
	ctx.root = objectValue(doc)
	vs, err := evalAll(s.let, ctx)
	if err != nil {
		return value{}, err
	}
	for i, slot := range s.slots {
		for len(inner.vars) <= slot {
			inner.vars = append(inner.vars, value{})
		}
		inner.vars[slot] = vs[i]
	}
	return held.values(runStages(&inner, s.stages, r.work.documents(candidates)))
}

// joinIndex has the places of documents by the values at a path.
type joinIndex map[string][]int

func indexDocuments(w *work, docs []bson.Raw, path []string) joinIndex {
	ix := joinIndex{}
	for i, doc := range docs {
		walkPath(w, doc, path, true, func(v value, _ int) bool {
			if w.step(1) != nil {
				return true
			}
			key := encoded(joinKey(v))
			if at := ix[key]; len(at) == 0 || at[len(at)-1] != i {
				ix[key] = append(at, i)
			}
			return false
		})
	}
	return ix
}

// joinKey lets null, undefined and missing meet.
func joinKey(v value) value {
	if isNullish(v) {
		return nullValue()
	}
	return v
}

// find returns the documents with one of the values, in their own order.
func (ix joinIndex) find(w *work, docs []bson.Raw, vs []value) []bson.Raw {
	var at []int
	for _, v := range vs {
		if w.step(1) != nil {
			return nil
		}
		at = append(at, ix[encoded(joinKey(v))]...)
	}
	if len(vs) > 1 {
		sortStable(w, at, cmp.Compare[int])
		at = slices.Compact(at)
	}
	out := make([]bson.Raw, len(at))
	for i, j := range at {
		out[i] = docs[j]
	}
	return out
}

// localValues returns the values a document is joined by: an array by its
// elements.
func localValues(w *work, doc bson.Raw, path []string) []value {
	var out []value
	eachValue(w, doc, path, func(v value) { out = append(out, v) })
	if len(out) == 0 { // an empty array meets what has none
		out = append(out, nullValue())
	}
	return out
}

func (c *pipelineCompiler) unionWith(_ string, arg value) (stage, error) {
	var coll string
	var pipeline value
	switch {
	case isString(arg):
		coll = textAt(arg.Value)
	case isObject(arg):
		for name, v := range fields(arg.Value) {
			switch string(name) {
			case "coll":
				if !isString(v) {
					return nil, typeMismatch("BSON field '$unionWith.coll' is the wrong type '%s', expected type 'string'",
						typeName(v))
				}
				coll = textAt(v.Value)
			case "pipeline":
				pipeline = v
			default:
				return nil, fail(40415, "BSON field '$unionWith.%s' is an unknown field.", name)
			}
		}
	default:
		return nil, failedToParse("the $unionWith stage specification must be an object or string, but found %s",
			typeName(arg))
	}
	if coll == "" && !makesDocuments(pipeline) {
		return nil, failedToParse("$unionWith stage without explicit collection must have a pipeline with $documents as " +
			"first stage")
	}
	var stages []stage
	if !isMissing(pipeline) {
		var err error
		if stages, err = c.sub(pipeline, c.scope, false); err != nil {
			return nil, err
		}
	}
	return unionStage{coll, stages}, nil
}

type unionStage struct {
	coll   string
	stages []stage
}

func (s unionStage) run(r *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			if !yield(doc, err) || err != nil {
				return
			}
		}
		all, err := r.foreign(s.coll)
		if err != nil {
			yield(nil, err)
			return
		}
		for doc, err := range runStages(r, s.stages, r.work.documents(all)) {
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
}
