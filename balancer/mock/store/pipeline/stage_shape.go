package store

import (
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The stages that give more or fewer documents than they get: $unwind,
// $facet, $sample, $redact, $documents.

type unwindStage struct {
	path     []string
	index    []string
	preserve bool
}

func (c *pipelineCompiler) unwind(_ string, arg value) (stage, error) {
	s := &unwindStage{}
	path := arg
	switch {
	case isObject(arg):
		path = value{}
		for name, v := range fields(arg.Value) {
			switch string(name) {
			case "path":
				path = v
				if !isString(v) {
					return nil, fail(28808, "expected a string as the path for $unwind stage, got %s", typeName(v))
				}
			case "preserveNullAndEmptyArrays":
				if v.Type != bson.TypeBoolean {
					return nil, fail(28809, "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got %s",
						typeName(v))
				}
				s.preserve = truthy(v)
			case "includeArrayIndex":
				name := textAt(v.Value)
				if !isString(v) || name == "" {
					return nil, fail(28810, "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got %s",
						typeName(v))
				}
				if isOperator(name) {
					return nil, fail(28822, "includeArrayIndex option to $unwind stage should not be prefixed with a '$': %s", name)
				}
				s.index = splitPath(name)
			default:
				return nil, fail(28811, "unrecognized option to $unwind stage: %s", name)
			}
		}
	case !isString(arg):
		return nil, fail(15981, "expected either a string or an object as specification for $unwind stage, got %s",
			typeName(arg))
	}
	text := textAt(path.Value)
	if isMissing(path) || text == "" {
		return nil, fail(28812, "no path specified to $unwind stage")
	}
	text, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fail(28818, "path option to $unwind stage should be prefixed with a '$': %s", text)
	}
	var err error
	s.path, err = fieldPath(text)
	return s, err
}

func (s *unwindStage) run(r *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			if err != nil {
				yield(nil, err)
				return
			}
			enough := false
			s.each(r.work, doc, func(d bson.Raw) bool {
				enough = !yield(d, nil)
				return !enough
			})
			if enough {
				return
			}
			if err := r.work.step(1); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

func (s *unwindStage) each(w *work, doc bson.Raw, yield func(bson.Raw) bool) bool {
	v := valueAt(doc, s.path)
	with := func(v, index value) bson.Raw {
		out := replaceAt(doc, s.path, v)
		if s.index != nil {
			out = replaceAt(out, s.index, index)
		}
		return out
	}
	if !isArray(v) {
		if isNullish(v) && !s.preserve {
			return true
		}
		return yield(with(v, nullValue()))
	}
	i := int64(0)
	for _, e := range w.fields(v.Value) {
		if !yield(with(e, int64Value(i))) {
			return false
		}
		i++
	}
	if i == 0 && s.preserve {
		return yield(with(value{}, nullValue()))
	}
	return w.step(1) == nil
}

// replaceAt sets the value at a path through objects, making those that are
// missing; a missing value removes the field.
func replaceAt(doc []byte, path []string, v value) bson.Raw {
	if len(path) > 1 {
		below := lookup(doc, path[0])
		if !isObject(below) {
			if isMissing(v) {
				return doc
			}
			below = objectValue(emptyDocument)
		}
		v = objectValue(replaceAt(below.Value, path[1:], v))
	}
	return withField(doc, path[0], v)
}

// facetStage runs several pipelines over the same documents.
func (c *pipelineCompiler) facetStage(_ string, arg value) (stage, error) {
	if !isObject(arg) || isEmpty(arg.Value) {
		return nil, fail(40169, "the $facet specification must be a non-empty object")
	}
	type branch struct {
		name   string
		stages []stage
	}
	var branches []branch
	for name, v := range fields(arg.Value) {
		if !isArray(v) {
			return nil, fail(40170, "arguments to $facet must be arrays, %s is type %s", name, typeName(v))
		}
		if err := checkFacetName(string(name)); err != nil {
			return nil, err
		}
		stages, err := c.sub(v, c.scope, true)
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch{string(name), stages})
	}
	return blocking(func(r *execution, in docs) ([]bson.Raw, error) {
		all, err := (&memory{work: r.work}).drain(in)
		if err != nil {
			return nil, err
		}
		var out []field
		made := &memory{work: r.work, refuse: facetTooLarge}
		for _, b := range branches {
			list, err := made.values(runStages(r, b.stages, r.work.documents(all)))
			if err != nil {
				return nil, err
			}
			out = append(out, field{b.name, list})
		}
		return []bson.Raw{documentOf(out...)}, nil
	}), nil
}

func checkFacetName(name string) error {
	if name == "" || isOperator(name) || strings.Contains(name, ".") {
		return fail(16410, "FieldPath field names may not start with '$' or contain '.'.")
	}
	return nil
}

// sample picks documents at random, each at most once.
func (c *pipelineCompiler) sample(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, fail(28745, "the $sample stage specification must be an object")
	}
	size := int64(-1)
	for name, v := range fields(arg.Value) {
		if string(name) != "size" {
			return nil, fail(28748, "unrecognized option to $sample: %s", name)
		}
		if !isNumber(v) {
			return nil, fail(28746, "size argument to $sample must be a number")
		}
		if toDouble(v) < 0 {
			return nil, fail(28747, "size argument to $sample must not be negative")
		}
		size = toInteger(v)
	}
	if size < 0 {
		return nil, fail(28749, "$sample stage must specify a size")
	}
	return blocking(func(r *execution, in docs) ([]bson.Raw, error) {
		if size == 0 {
			return nil, nil // nobody reads what comes before
		}
		all, err := (&memory{work: r.work}).drain(in)
		random := r.env.Rand
		if random == nil {
			random = rand.Float64
		}
		n := int(min(size, int64(len(all))))
		for i := range n {
			j := i + int(random()*float64(len(all)-i))
			all[i], all[j] = all[j], all[i]
		}
		return all[:n], err
	}), nil
}

// redact keeps or drops each level of a document.
func (c *pipelineCompiler) redact(_ string, arg value) (stage, error) {
	inner, slots := c.scope.with("CURRENT")
	e, err := compileExpression(arg, inner)
	if err != nil {
		return nil, err
	}
	var level func(ctx *evaluation, doc value) (value, error)
	var below func(ctx *evaluation, v value) (value, error)
	level = func(ctx *evaluation, doc value) (value, error) {
		ctx.set(slots[0], doc)
		verdict, err := e.eval(ctx)
		if err != nil {
			return value{}, err
		}
		switch {
		case isString(verdict) && textAt(verdict.Value) == "keep":
			return doc, nil
		case isString(verdict) && textAt(verdict.Value) == "prune":
			return value{}, nil
		case isString(verdict) && textAt(verdict.Value) == "descend":
		default:
			return value{}, fail(17053,
				"$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but "+
					"returned %s", verdict)
		}
		b, start := openDocument(nil)
		for name, v := range ctx.work.fields(doc.Value) {
			got, err := below(ctx, v)
			if err != nil {
				return value{}, err
			}
			b = appendField(b, name, got)
		}
		return objectValue(closeDocument(b, start)), ctx.work.step(1)
	}
	below = func(ctx *evaluation, v value) (value, error) {
		switch {
		case isObject(v):
			return level(ctx, v)
		case isArray(v):
			var kept []value
			for _, item := range ctx.work.fields(v.Value) {
				got, err := below(ctx, item)
				if err != nil {
					return value{}, err
				}
				if !isMissing(got) {
					kept = append(kept, got)
				}
			}
			return arrayOf(kept), ctx.work.step(1)
		}
		return v, nil
	}
	return perDocument(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.evaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			ctx.root = objectValue(doc)
			v, err := level(ctx, ctx.root)
			if isMissing(v) {
				return nil, err
			}
			return v.Value, err
		}
	}), nil
}

// documents returns a source of its own: what comes before it is not read.
func (c *pipelineCompiler) documents(_ string, arg value) (stage, error) {
	e, err := compileExpression(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return documentsStage{e}, nil
}

type documentsStage struct{ list expression }

func (s documentsStage) run(r *execution, _ docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		v, err := s.list.eval(r.evaluation())
		if err == nil && !isArray(v) {
			err = fail(5858203, "an array is expected")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, d := range r.work.fields(v.Value) {
			if !isObject(d) {
				yield(nil, fail(40228, "'newRoot' expression  must evaluate to an object, but resulting value was: %s", d))
				return
			}
			if !yield(d.Value, nil) {
				return
			}
		}
	}
}
