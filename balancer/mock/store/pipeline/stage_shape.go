package pipeline

import (
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The stages that change the number of documents: $unwind, $facet, $sample, $redact, $documents.

type unwindStage struct {
	path     []string
	index    []string
	preserve bool
}

func (c *compiler) compileUnwind(_ string, arg value.Value) (stage, error) {
	s := &unwindStage{}
	path := arg
	switch {
	case value.IsObject(arg):
		path = value.Value{}
		for name, v := range document.Fields(arg.Value) {
			switch string(name) {
			case "path":
				path = v
				if !value.IsString(v) {
					return nil, servererr.NewCode(28808, "expected a string as the path for $unwind stage, got %s", value.TypeName(v))
				}
			case "preserveNullAndEmptyArrays":
				if v.Type != bson.TypeBoolean {
					return nil, servererr.NewCode(28809,
						"expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got %s",
						value.TypeName(v))
				}
				s.preserve = value.IsTruthy(v)
			case "includeArrayIndex":
				name := value.TextAt(v.Value)
				if !value.IsString(v) || name == "" {
					return nil, servererr.NewCode(28810,
						"expected a non-empty string for the includeArrayIndex  option to $unwind stage, got %s",
						value.TypeName(v))
				}
				if document.IsOperator(name) {
					return nil, servererr.NewCode(28822,
						"includeArrayIndex option to $unwind stage should not be prefixed with a '$': %s", name)
				}
				s.index = paths.Split(name)
			default:
				return nil, servererr.NewCode(28811, "unrecognized option to $unwind stage: %s", name)
			}
		}
	case !value.IsString(arg):
		return nil, servererr.NewCode(15981,
			"expected either a string or an object as specification for $unwind stage, got %s", value.TypeName(arg))
	}
	text := value.TextAt(path.Value)
	if value.IsMissing(path) || text == "" {
		return nil, servererr.NewCode(28812, "no path specified to $unwind stage")
	}
	text, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, servererr.NewCode(28818, "path option to $unwind stage should be prefixed with a '$': %s", text)
	}
	var err error
	s.path, err = paths.Parse(text)
	return s, err
}

func (s *unwindStage) run(r *execution, in quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			if err != nil {
				yield(nil, err)
				return
			}
			enough := false
			s.unwindDocument(r.meter, doc, func(d bson.Raw) bool {
				enough = !yield(d, nil)
				return !enough
			})
			if enough {
				return
			}
			if err := r.meter.Charge(1); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

func (s *unwindStage) unwindDocument(w *quota.Meter, doc bson.Raw, yield func(bson.Raw) bool) bool {
	v := paths.LookupPath(doc, s.path)
	with := func(v, index value.Value) bson.Raw {
		out := setPath(doc, s.path, v)
		if s.index != nil {
			out = setPath(out, s.index, index)
		}
		return out
	}
	if !value.IsArray(v) {
		if value.IsNullish(v) && !s.preserve {
			return true
		}
		return yield(with(v, value.Null()))
	}
	i := int64(0)
	for _, e := range w.Fields(v.Value) {
		if !yield(with(e, value.Int64(i))) {
			return false
		}
		i++
	}
	if i == 0 && s.preserve {
		return yield(with(value.Value{}, value.Null()))
	}
	return w.Charge(1) == nil
}

// setPath sets the value at a path through objects and creates missing objects. A missing value removes
// the field.
func setPath(doc []byte, path []string, v value.Value) bson.Raw {
	if len(path) > 1 {
		below := document.Lookup(doc, path[0])
		if !value.IsObject(below) {
			if value.IsMissing(v) {
				return doc
			}
			below = value.Object(document.Empty)
		}
		v = value.Object(setPath(below.Value, path[1:], v))
	}
	return document.WithField(doc, path[0], v)
}

// compileFacet compiles $facet, which runs several pipelines over the same documents.
func (c *compiler) compileFacet(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) || document.IsEmpty(arg.Value) {
		return nil, servererr.NewCode(40169, "the $facet specification must be a non-empty object")
	}
	type branch struct {
		name   string
		stages []stage
	}
	var branches []branch
	for name, v := range document.Fields(arg.Value) {
		if !value.IsArray(v) {
			return nil, servererr.NewCode(40170, "arguments to $facet must be arrays, %s is type %s", name, value.TypeName(v))
		}
		if err := checkFacetName(string(name)); err != nil {
			return nil, err
		}
		stages, err := c.compileSubPipeline(v, c.scope, true)
		if err != nil {
			return nil, err
		}
		branches = append(branches, branch{string(name), stages})
	}
	return blockingStage(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		all, err := (&quota.Memory{Meter: r.meter}).ReadAll(in)
		if err != nil {
			return nil, err
		}
		var out []document.Field
		made := &quota.Memory{Meter: r.meter, LimitErr: errFacetTooLarge}
		for _, b := range branches {
			list, err := made.ReadAllToArray(runStages(r, b.stages, r.meter.Documents(all)))
			if err != nil {
				return nil, err
			}
			out = append(out, document.Field{Name: b.name, Value: list})
		}
		return []bson.Raw{document.New(out...)}, nil
	}), nil
}

func checkFacetName(name string) error {
	if name == "" || document.IsOperator(name) || strings.Contains(name, ".") {
		return servererr.NewCode(16410, "FieldPath field names may not start with '$' or contain '.'.")
	}
	return nil
}

// compileSample compiles $sample, which selects random documents, each at most once.
func (c *compiler) compileSample(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(28745, "the $sample stage specification must be an object")
	}
	size := int64(-1)
	for name, v := range document.Fields(arg.Value) {
		if string(name) != "size" {
			return nil, servererr.NewCode(28748, "unrecognized option to $sample: %s", name)
		}
		if !value.IsNumber(v) {
			return nil, servererr.NewCode(28746, "size argument to $sample must be a number")
		}
		if value.ToDouble(v) < 0 {
			return nil, servererr.NewCode(28747, "size argument to $sample must not be negative")
		}
		size = value.ToInteger(v)
	}
	if size < 0 {
		return nil, servererr.NewCode(28749, "$sample stage must specify a size")
	}
	return blockingStage(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		if size == 0 {
			return nil, nil // the input is not needed
		}
		all, err := (&quota.Memory{Meter: r.meter}).ReadAll(in)
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

// compileRedact compiles $redact, which keeps or removes each level of a document.
func (c *compiler) compileRedact(_ string, arg value.Value) (stage, error) {
	inner, slots := c.scope.WithVariables("CURRENT")
	e, err := expr.Compile(arg, inner)
	if err != nil {
		return nil, err
	}
	var level func(ctx *expr.Evaluation, doc value.Value) (value.Value, error)
	var below func(ctx *expr.Evaluation, v value.Value) (value.Value, error)
	level = func(ctx *expr.Evaluation, doc value.Value) (value.Value, error) {
		ctx.Set(slots[0], doc)
		verdict, err := e.Eval(ctx)
		if err != nil {
			return value.Value{}, err
		}
		switch {
		case value.IsString(verdict) && value.TextAt(verdict.Value) == "keep":
			return doc, nil
		case value.IsString(verdict) && value.TextAt(verdict.Value) == "prune":
			return value.Value{}, nil
		case value.IsString(verdict) && value.TextAt(verdict.Value) == "descend":
		default:
			return value.Value{}, servererr.NewCode(17053,
				"$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but "+
					"returned %s", verdict)
		}
		b, start := document.Open(nil)
		for name, v := range ctx.Meter.Fields(doc.Value) {
			got, err := below(ctx, v)
			if err != nil {
				return value.Value{}, err
			}
			b = document.Append(b, name, got)
		}
		return value.Object(document.Close(b, start)), ctx.Meter.Charge(1)
	}
	below = func(ctx *expr.Evaluation, v value.Value) (value.Value, error) {
		switch {
		case value.IsObject(v):
			return level(ctx, v)
		case value.IsArray(v):
			var kept []value.Value
			for _, item := range ctx.Meter.Fields(v.Value) {
				got, err := below(ctx, item)
				if err != nil {
					return value.Value{}, err
				}
				if !value.IsMissing(got) {
					kept = append(kept, got)
				}
			}
			return document.Array(kept), ctx.Meter.Charge(1)
		}
		return v, nil
	}
	return perDocumentStage(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.newEvaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			ctx.Root = value.Object(doc)
			v, err := level(ctx, ctx.Root)
			if value.IsMissing(v) {
				return nil, err
			}
			return v.Value, err
		}
	}), nil
}

// compileDocuments compiles $documents, a source stage. It does not read its input.
func (c *compiler) compileDocuments(_ string, arg value.Value) (stage, error) {
	e, err := expr.Compile(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return documentsStage{e}, nil
}

type documentsStage struct{ list expr.Expression }

func (s documentsStage) run(r *execution, _ quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		v, err := s.list.Eval(r.newEvaluation())
		if err == nil && !value.IsArray(v) {
			err = servererr.NewCode(5858203, "an array is expected")
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, d := range r.meter.Fields(v.Value) {
			if !value.IsObject(d) {
				yield(nil,
					servererr.NewCode(40228, "'newRoot' expression  must evaluate to an object, but resulting value was: %s", d))
				return
			}
			if !yield(d.Value, nil) {
				return
			}
		}
	}
}
