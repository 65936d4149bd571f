package store

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

func (c *pipelineCompiler) match(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, fail(15959, "the match filter must be an expression in an object")
	}
	f, err := compileFilter(arg.Value, c.scope, now(c.env))
	if err != nil {
		return nil, err
	}
	return matchStage{f}, nil
}

type matchStage struct{ filter *Filter }

func (s matchStage) run(r *execution, in docs) docs {
	return perDocument(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.evaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			ok, err := s.filter.testIn(ctx, doc)
			if !ok {
				return nil, err
			}
			return doc, err
		}
	}).run(r, in)
}

func (c *pipelineCompiler) project(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, fail(15969, "$project specification must be an object")
	}
	if isEmpty(arg.Value) {
		return nil, fail(51272, "Invalid $project :: caused by :: projection specification must have at least one field")
	}
	return c.projection("$project", &projectionParser{scope: c.scope}, arg.Value)
}

func (c *pipelineCompiler) addFields(name string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, fail(40272, "%s specification stage must be an object, got %s", name, typeName(arg))
	}
	return c.projection(name, &projectionParser{scope: c.scope, add: true}, arg.Value)
}

func (c *pipelineCompiler) projection(name string, p *projectionParser, spec []byte) (stage, error) {
	if err := p.parse(spec); err != nil {
		return nil, mongoerr.Wrap(err, "Invalid "+name)
	}
	proj := &Projection{root: p.root, mode: p.mode(), scope: c.scope}
	return perDocument(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.evaluation()
		return func(doc bson.Raw) (bson.Raw, error) { return proj.applyIn(ctx, doc) }
	}), nil
}

func (c *pipelineCompiler) unset(_ string, arg value) (stage, error) {
	names := []value{arg}
	switch {
	case isArray(arg):
		if names = items(arg); len(names) == 0 {
			return nil, fail(31119, "$unset specification must be a string or an array with at least one field")
		}
	case !isString(arg):
		return nil, fail(31002, "$unset specification must be a string or an array")
	}
	var spec []field
	for _, n := range names {
		if !isString(n) {
			return nil, fail(31120, "$unset specification must be a string or an array containing only string values")
		}
		spec = append(spec, field{textAt(n.Value), boolValue(false)})
	}
	return c.projection("$unset", &projectionParser{scope: c.scope}, documentOf(spec...))
}

func (c *pipelineCompiler) sort(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, fail(15973, "the $sort key specification must be an object")
	}
	if isEmpty(arg.Value) {
		return nil, fail(15976, "$sort stage must have at least one sort key")
	}
	s, err := CompileSort(arg.Value)
	if err != nil {
		return nil, err
	}
	return sorting(s), nil
}

// wholeArgument checks the argument of $limit and $skip, each of which has a code of its
// own for all that is wrong with it.
func wholeArgument(name string, code int32, arg value) (int64, error) {
	if !isNumber(arg) {
		return 0, fail(code, "invalid argument to %s stage: Expected a number in: %s: %s", name, name, arg)
	}
	n, ok := wholeInteger(arg)
	if !ok {
		return 0, fail(code, "invalid argument to %s stage: Expected an integer: %s: %s", name, name, arg)
	}
	if n < 0 {
		return 0, fail(code, "invalid argument to %s stage: Expected a non-negative number in: %s: %d", name, name, n)
	}
	return n, nil
}

type limitStage int64

func (c *pipelineCompiler) limit(name string, arg value) (stage, error) {
	n, err := wholeArgument(name, 5107201, arg)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fail(15958, "the limit must be positive")
	}
	return limitStage(n), nil
}

func (s limitStage) run(_ *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		left := int64(s)
		for doc, err := range in {
			left--
			if !yield(doc, err) || left == 0 {
				return
			}
		}
	}
}

type skipStage int64

func (c *pipelineCompiler) skip(name string, arg value) (stage, error) {
	n, err := wholeArgument(name, 5107200, arg)
	return skipStage(n), err
}

func (s skipStage) run(_ *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		left := int64(s)
		for doc, err := range in {
			if err == nil && left > 0 {
				left--
				continue
			}
			if !yield(doc, err) {
				return
			}
		}
	}
}

func (c *pipelineCompiler) count(_ string, arg value) (stage, error) {
	if !isString(arg) {
		return nil, fail(40156, "the count field must be a non-empty string")
	}
	name := textAt(arg.Value)
	switch {
	case name == "":
		return nil, fail(40157, "the count field must be a non-empty string")
	case name[0] == '$':
		return nil, fail(40158, "the count field cannot be a $-prefixed path")
	case strings.ContainsRune(name, 0):
		return nil, fail(40159, "the count field cannot contain a null byte")
	case strings.Contains(name, "."):
		return nil, fail(40160, "the count field cannot contain '.'")
	case name == "_id": // $count is a $group that has one already
		return nil, fail(15948, "a group's _id may only be specified once")
	}
	return blocking(func(_ *execution, in docs) ([]bson.Raw, error) {
		n := int64(0)
		for _, err := range in {
			if err != nil {
				return nil, err
			}
			n++
		}
		if n == 0 {
			return nil, nil
		}
		return []bson.Raw{documentOf(field{name, smallestInt(n)})}, nil
	}), nil
}

func (c *pipelineCompiler) replaceRoot(name string, arg value) (stage, error) {
	what := "'replacement document'"
	if name == "$replaceRoot" {
		what = "'newRoot' expression"
		if !isObject(arg) {
			return nil, fail(40229, "expected an object as specification for $replaceRoot stage, got %s", typeName(arg))
		}
		spec := arg.Value
		for key, v := range fields(spec) {
			if string(key) != "newRoot" {
				return nil, fail(40415, "BSON field '$replaceRoot.%s' is an unknown field.", key)
			}
			arg = v
		}
		if isEmpty(spec) {
			return nil, fail(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field")
		}
	}
	e, err := compileExpression(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return perDocument(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.evaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			ctx.root = objectValue(doc)
			v, err := e.eval(ctx)
			if err == nil && !isObject(v) {
				err = fail(40228, "%s must evaluate to an object, but resulting value was: %s. Type of resulting value: '%s'. "+
					"Input document: %s",
					what, v, typeName(v), doc)
			}
			return v.Value, err
		}
	}), nil
}
