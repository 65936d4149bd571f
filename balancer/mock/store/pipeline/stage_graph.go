package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"
)

// graphStage is $graphLookup: it follows connections breadth first.
type graphStage struct {
	from         string
	start        expression
	connectFrom  []string
	connectTo    []string
	as           []string
	depthField   []string
	maxDepth     int64 // -1 without
	restrictions *Filter
}

func (c *pipelineCompiler) graphLookup(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, failedToParse("the $graphLookup stage specification must be an object, but found %s", typeName(arg))
	}
	s := &graphStage{maxDepth: -1}
	for n, v := range fields(arg.Value) {
		name := string(n)
		switch name {
		case "startWith":
			e, err := compileExpression(v, c.scope)
			if err != nil {
				return nil, err
			}
			s.start = e
			continue
		case "maxDepth":
			n, ok := wholeInteger(v)
			switch {
			case !isNumber(v):
				return nil, fail(40100, "maxDepth requires a numeric argument, found type: %s", typeName(v))
			case n < 0:
				return nil, fail(40101, "maxDepth requires a nonnegative argument, found: %s", v)
			case !ok:
				return nil, fail(40102, "maxDepth could not be represented as a long long: %s", v)
			}
			s.maxDepth = n
			continue
		case "restrictSearchWithMatch":
			if !isObject(v) {
				return nil, fail(40185, "restrictSearchWithMatch must be an object, found %s", typeName(v))
			}
			f, err := compileFilter(v.Value, c.scope, now(c.env))
			if err != nil {
				return nil, err
			}
			s.restrictions = f
			continue
		}
		into := map[string]*[]string{
			"as": &s.as, "connectFromField": &s.connectFrom, "connectToField": &s.connectTo, "depthField": &s.depthField,
		}[name]
		if into == nil && name != "from" {
			return nil, fail(40104, "Unknown argument to $graphLookup: %s", name)
		}
		if !isString(v) {
			return nil, fail(40103, "expected string as argument for %s, found: %s", name, typeName(v))
		}
		if name == "from" {
			s.from = textAt(v.Value)
			continue
		}
		path, err := fieldPath(textAt(v.Value))
		if err != nil {
			return nil, err
		}
		*into = path
	}
	if s.from == "" || s.start == nil || s.as == nil || s.connectFrom == nil || s.connectTo == nil {
		return nil, fail(40105, "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' "+
			"to be specified.")
	}
	return s, nil
}

func (s *graphStage) run(r *execution, in docs) docs {
	return perDocument(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.evaluation()
		return func(doc bson.Raw) (bson.Raw, error) {
			others, err := s.reachable(r, ctx)
			if err != nil {
				return nil, err
			}
			byKey := r.index(s, others, s.connectTo)
			ctx.root = objectValue(doc)
			v, err := s.start.eval(ctx)
			if err != nil {
				return nil, err
			}
			found, err := s.follow(r.work, byKey, others, v)
			if err != nil {
				return nil, err
			}
			return replaceAt(doc, s.as, found), nil
		}
	}).run(r, in)
}

// reachable returns the documents that the search may come to.
func (s *graphStage) reachable(r *execution, ctx *evaluation) ([]bson.Raw, error) {
	if docs, ok := r.seen.reached[s]; ok {
		return docs, nil
	}
	all, err := r.foreign(s.from)
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	for _, d := range all {
		ok, err := s.restricted(ctx, d)
		if err != nil {
			return nil, err
		}
		if ok {
			docs = append(docs, d)
		}
	}
	r.seen.reached[s] = docs
	return docs, nil
}

func (s *graphStage) restricted(ctx *evaluation, doc bson.Raw) (bool, error) {
	if s.restrictions == nil {
		return true, nil
	}
	return s.restrictions.testIn(ctx, doc)
}

func (s *graphStage) follow(w *work, byKey joinIndex, others []bson.Raw, start value) (value, error) {
	frontier := []value{start}
	if isArray(start) {
		frontier = w.items(start)
	}
	held := &memory{work: w, refuse: graphTooLarge}
	defer held.free()
	tried := map[string]bool{}
	found := map[int]bool{}
	var out []value
	for depth := int64(0); len(frontier) > 0 && (s.maxDepth < 0 || depth <= s.maxDepth); depth++ {
		var next []value
		for _, v := range frontier {
			if err := w.step(1); err != nil {
				return value{}, err
			}
			key := encoded(joinKey(v))
			if tried[key] {
				continue
			}
			tried[key] = true
			if err := held.keep(len(key) + itemBytes); err != nil {
				return value{}, err
			}
			for _, i := range byKey[key] {
				if found[i] {
					continue
				}
				found[i] = true
				if err := held.keep(len(others[i]) + itemBytes); err != nil {
					return value{}, err
				}
				if err := w.handle(len(others[i])); err != nil {
					return value{}, err
				}
				doc := others[i]
				if s.depthField != nil {
					doc = replaceAt(doc, s.depthField, int64Value(depth))
				}
				out = append(out, objectValue(doc))
				next = append(next, localValues(w, others[i], s.connectFrom)...)
			}
		}
		frontier = next
	}
	return arrayOf(out), nil
}
