package pipeline

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

func (c *compiler) compileMatch(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(15959, "the match filter must be an expression in an object")
	}
	f, err := filter.CompileIn(arg.Value, c.scope, currentTime(c.env))
	if err != nil {
		return nil, err
	}
	return matchStage{f}, nil
}

type matchStage struct{ filter *filter.Filter }

func (s matchStage) run(r *execution, in quota.Docs) quota.Docs {
	return perDocumentStage(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.newEvaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			ok, err := s.filter.TestInEvaluation(ctx, doc)
			if !ok {
				return nil, err
			}
			return doc, err
		}
	}).run(r, in)
}

func (c *compiler) compileProject(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(15969, "$project specification must be an object")
	}
	if document.IsEmpty(arg.Value) {
		return nil, servererr.NewCode(51272,
			"Invalid $project :: caused by :: projection specification must have at least one field")
	}
	return c.newProjectionStage("$project", &projection.Parser{Scope: c.scope}, arg.Value)
}

func (c *compiler) compileAddFields(name string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(40272, "%s specification stage must be an object, got %s", name, value.TypeName(arg))
	}
	return c.newProjectionStage(name, &projection.Parser{Scope: c.scope, AddFields: true}, arg.Value)
}

func (c *compiler) newProjectionStage(name string, p *projection.Parser, spec []byte) (stage, error) {
	if err := p.Parse(spec); err != nil {
		return nil, mongoerr.Wrap(err, "Invalid "+name)
	}
	proj := &projection.Projection{Root: p.Root, Mode: p.Mode(), Scope: c.scope}
	return perDocumentStage(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.newEvaluation()
		return func(doc bson.Raw) (bson.Raw, error) { return proj.ApplyInEvaluation(ctx, doc) }
	}), nil
}

func (c *compiler) compileUnset(_ string, arg value.Value) (stage, error) {
	names := []value.Value{arg}
	switch {
	case value.IsArray(arg):
		if names = document.Items(arg); len(names) == 0 {
			return nil, servererr.NewCode(31119, "$unset specification must be a string or an array with at least one field")
		}
	case !value.IsString(arg):
		return nil, servererr.NewCode(31002, "$unset specification must be a string or an array")
	}
	var spec []document.Field
	for _, n := range names {
		if !value.IsString(n) {
			return nil, servererr.NewCode(31120,
				"$unset specification must be a string or an array containing only string values")
		}
		spec = append(spec, document.Field{Name: value.TextAt(n.Value), Value: value.Bool(false)})
	}
	return c.newProjectionStage("$unset", &projection.Parser{Scope: c.scope}, document.New(spec...))
}

func (c *compiler) compileSort(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(15973, "the $sort key specification must be an object")
	}
	if document.IsEmpty(arg.Value) {
		return nil, servererr.NewCode(15976, "$sort stage must have at least one sort key")
	}
	s, err := order.Compile(arg.Value)
	if err != nil {
		return nil, err
	}
	return newSortStage(s), nil
}

// parseIntegerArgument checks the argument of $limit or $skip. Each has a single code for all its
// errors.
func parseIntegerArgument(name string, code int32, arg value.Value) (int64, error) {
	if !value.IsNumber(arg) {
		return 0, servererr.NewCode(code, "invalid argument to %s stage: Expected a number in: %s: %s", name, name, arg)
	}
	n, ok := value.WholeInteger(arg)
	if !ok {
		return 0, servererr.NewCode(code, "invalid argument to %s stage: Expected an integer: %s: %s", name, name, arg)
	}
	if n < 0 {
		return 0, servererr.NewCode(code, "invalid argument to %s stage: Expected a non-negative number in: %s: %d", name,
			name, n)
	}
	return n, nil
}

type limitStage int64

func (c *compiler) compileLimit(name string, arg value.Value) (stage, error) {
	n, err := parseIntegerArgument(name, 5107201, arg)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, servererr.NewCode(15958, "the limit must be positive")
	}
	return limitStage(n), nil
}

func (s limitStage) run(_ *execution, in quota.Docs) quota.Docs {
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

func (c *compiler) compileSkip(name string, arg value.Value) (stage, error) {
	n, err := parseIntegerArgument(name, 5107200, arg)
	return skipStage(n), err
}

func (s skipStage) run(_ *execution, in quota.Docs) quota.Docs {
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

func (c *compiler) compileCount(_ string, arg value.Value) (stage, error) {
	if !value.IsString(arg) {
		return nil, servererr.NewCode(40156, "the count field must be a non-empty string")
	}
	name := value.TextAt(arg.Value)
	switch {
	case name == "":
		return nil, servererr.NewCode(40157, "the count field must be a non-empty string")
	case name[0] == '$':
		return nil, servererr.NewCode(40158, "the count field cannot be a $-prefixed path")
	case strings.ContainsRune(name, 0):
		return nil, servererr.NewCode(40159, "the count field cannot contain a null byte")
	case strings.Contains(name, "."):
		return nil, servererr.NewCode(40160, "the count field cannot contain '.'")
	case name == "_id": // $count becomes a $group, which has an _id already
		return nil, servererr.NewCode(15948, "a group's _id may only be specified once")
	}
	return blockingStage(func(_ *execution, in quota.Docs) ([]bson.Raw, error) {
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
		return []bson.Raw{document.New(document.Field{Name: name, Value: value.SmallestInt(n)})}, nil
	}), nil
}

func (c *compiler) compileReplaceRoot(name string, arg value.Value) (stage, error) {
	what := "'replacement document'"
	if name == "$replaceRoot" {
		what = "'newRoot' expression"
		if !value.IsObject(arg) {
			return nil, servererr.NewCode(40229, "expected an object as specification for $replaceRoot stage, got %s",
				value.TypeName(arg))
		}
		spec := arg.Value
		for key, v := range document.Fields(spec) {
			if string(key) != "newRoot" {
				return nil, servererr.NewCode(40415, "BSON field '$replaceRoot.%s' is an unknown field.", key)
			}
			arg = v
		}
		if document.IsEmpty(spec) {
			return nil, servererr.NewCode(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field")
		}
	}
	e, err := expr.Compile(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return perDocumentStage(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.newEvaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			ctx.Root = value.Object(doc)
			v, err := e.Eval(ctx)
			if err == nil && !value.IsObject(v) {
				err = servererr.NewCode(40228,
					"%s must evaluate to an object, but resulting value was: %s. Type of resulting value: '%s'. "+
						"Input document: %s",
					what, v, value.TypeName(v), doc)
			}
			return v.Value, err
		}
	}), nil
}
