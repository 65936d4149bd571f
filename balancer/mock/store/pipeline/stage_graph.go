package pipeline

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// graphStage implements $graphLookup: it follows connections breadth-first.
type graphStage struct {
	from         string
	start        expr.Expression
	connectFrom  []string
	connectTo    []string
	as           []string
	depthField   []string
	maxDepth     int64 // -1 for no limit
	restrictions *filter.Filter
	// usesOuterDocument: see compiler.
	usesOuterDocument bool
}

func (c *compiler) compileGraphLookup(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.FailedToParse("the $graphLookup stage specification must be an object, but found %s",
			value.TypeName(arg))
	}
	s := &graphStage{maxDepth: -1, usesOuterDocument: c.usesOuterDocument}
	for n, v := range document.Fields(arg.Value) {
		name := string(n)
		switch name {
		case "startWith":
			e, err := expr.Compile(v, c.scope)
			if err != nil {
				return nil, err
			}
			s.start = e
			continue
		case "maxDepth":
			n, ok := value.WholeInteger(v)
			switch {
			case !value.IsNumber(v):
				return nil, servererr.NewCode(40100, "maxDepth requires a numeric argument, found type: %s", value.TypeName(v))
			case n < 0:
				return nil, servererr.NewCode(40101, "maxDepth requires a nonnegative argument, found: %s", v)
			case !ok:
				return nil, servererr.NewCode(40102, "maxDepth could not be represented as a long long: %s", v)
			}
			s.maxDepth = n
			continue
		case "restrictSearchWithMatch":
			if !value.IsObject(v) {
				return nil, servererr.NewCode(40185, "restrictSearchWithMatch must be an object, found %s", value.TypeName(v))
			}
			f, err := filter.CompileIn(v.Value, c.scope, currentTime(c.env))
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
			return nil, servererr.NewCode(40104, "Unknown argument to $graphLookup: %s", name)
		}
		if !value.IsString(v) {
			return nil, servererr.NewCode(40103, "expected string as argument for %s, found: %s", name, value.TypeName(v))
		}
		if name == "from" {
			s.from = value.TextAt(v.Value)
			continue
		}
		path, err := paths.Parse(value.TextAt(v.Value))
		if err != nil {
			return nil, err
		}
		*into = path
	}
	if s.from == "" || s.start == nil || s.as == nil || s.connectFrom == nil || s.connectTo == nil {
		return nil, servererr.NewCode(40105,
			"$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' "+
				"to be specified.")
	}
	return s, nil
}

func (s *graphStage) run(r *execution, in quota.Docs) quota.Docs {
	return perDocumentStage(func(r *execution) func(bson.Raw) (bson.Raw, error) {
		ctx := r.newEvaluation()
		if s.usesOuterDocument {
			delete(r.joins.graphCandidates, s)
			delete(r.joins.indexes, s)
		}
		return func(doc bson.Raw) (bson.Raw, error) {
			others, err := s.candidates(r, ctx)
			if err != nil {
				return nil, err
			}
			byKey := r.joinIndexFor(s, others, s.connectTo)
			ctx.Root = value.Object(doc)
			v, err := s.start.Eval(ctx)
			if err != nil {
				return nil, err
			}
			found, err := s.search(r.meter, byKey, others, v)
			if err != nil {
				return nil, err
			}
			return setPath(doc, s.as, found), nil
		}
	}).run(r, in)
}

// candidates returns the documents that match restrictSearchWithMatch.
func (s *graphStage) candidates(r *execution, ctx *expr.Evaluation) ([]bson.Raw, error) {
	if docs, ok := r.joins.graphCandidates[s]; ok {
		return docs, nil
	}
	all, err := r.readCollection(s.from)
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	for _, d := range all {
		ok, err := s.matchesRestriction(ctx, d)
		if err != nil {
			return nil, err
		}
		if ok {
			docs = append(docs, d)
		}
	}
	r.joins.graphCandidates[s] = docs
	return docs, nil
}

func (s *graphStage) matchesRestriction(ctx *expr.Evaluation, doc bson.Raw) (bool, error) {
	if s.restrictions == nil {
		return true, nil
	}
	return s.restrictions.TestInEvaluation(ctx, doc)
}

func (s *graphStage) search(
	w *quota.Meter, byKey joinIndex, others []bson.Raw, start value.Value,
) (value.Value, error) {
	frontier := []value.Value{start}
	if value.IsArray(start) {
		frontier = w.Items(start)
	}
	held := &quota.Memory{Meter: w, LimitErr: errGraphTooLarge}
	defer held.Release()
	tried := map[string]bool{}
	found := map[int]bool{}
	var out []value.Value
	for depth := int64(0); len(frontier) > 0 && (s.maxDepth < 0 || depth <= s.maxDepth); depth++ {
		var next []value.Value
		for _, v := range frontier {
			if err := w.Charge(1); err != nil {
				return value.Value{}, err
			}
			key := value.EncodedKey(joinKey(v))
			if tried[key] {
				continue
			}
			tried[key] = true
			if err := held.Hold(len(key) + quota.ItemOverheadBytes); err != nil {
				return value.Value{}, err
			}
			for _, i := range byKey[key] {
				if found[i] {
					continue
				}
				found[i] = true
				if err := held.Hold(len(others[i]) + quota.ItemOverheadBytes); err != nil {
					return value.Value{}, err
				}
				if err := w.ChargeBytes(len(others[i])); err != nil {
					return value.Value{}, err
				}
				doc := others[i]
				if s.depthField != nil {
					doc = setPath(doc, s.depthField, value.Int64(depth))
				}
				out = append(out, value.Object(doc))
				next = append(next, localValues(w, others[i], s.connectFrom)...)
			}
		}
		frontier = next
	}
	return document.Array(out), nil
}
