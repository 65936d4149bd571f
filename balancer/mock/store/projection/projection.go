// Package projection compiles what find and $project give of a document. The
// rules are those of the manual's page on find's projection and of recorded
// replies (8.0).
package projection

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// Projection is a compiled projection of find or $project. A nil Projection
// keeps documents whole.
type Projection struct {
	Root  *fieldNode
	Mode  projectionMode
	Scope *expr.Scope
	now   time.Time
	// positional is the path before ".$", with the query that finds the place.
	positional []string
	filter     *filter.Filter
}

type projectionMode uint8

const (
	including projectionMode = iota
	excluding
	adding // $addFields: everything stays
)

// Options are what a projection may refer to.
type Options struct {
	// Filter is the query beside the projection, for the positional operator.
	Filter *filter.Filter
	Let    bson.Raw
	Now    time.Time
	// Language is that of the release.
	Language expr.Language
}

// Compile compiles the projection of a find command. An empty one
// keeps everything.
func Compile(spec bson.Raw) (*Projection, error) {
	return CompileWith(spec, Options{})
}

// CompileWith is Compile with the query and the variables
// of the command.
func CompileWith(spec bson.Raw, o Options) (*Projection, error) {
	if document.IsEmpty(spec) {
		return nil, nil
	}
	sc, err := expr.NewScope(o.Language, o.Let)
	if err != nil {
		return nil, err
	}
	p := &Parser{Scope: sc, find: true}
	if err := p.Parse(spec); err != nil {
		return nil, err
	}
	return &Projection{
		Root: p.Root, Mode: p.Mode(), Scope: sc, now: o.Now,
		positional: p.positional, filter: o.Filter,
	}, nil
}

// Apply returns the projected document. It fails when an expression does.
func (p *Projection) Apply(doc bson.Raw) (bson.Raw, error) {
	if p == nil {
		return doc, nil
	}
	return p.ApplyIn(expr.NewEvaluation(p.Scope, p.now, nil), doc)
}

// Projector returns Apply for many documents, which fails with the cause of ctx
// when that ends.
func (p *Projection) Projector(ctx context.Context) func(doc bson.Raw) (bson.Raw, error) {
	w := quota.New(ctx)
	if p == nil {
		return func(doc bson.Raw) (bson.Raw, error) { return doc, w.Step(1) }
	}
	c := expr.NewEvaluation(p.Scope, p.now, w)
	return func(doc bson.Raw) (bson.Raw, error) { return p.ApplyIn(c, doc) }
}

// ApplyIn is Apply within an evaluation that is under way, for its variables.
func (p *Projection) ApplyIn(ctx *expr.Evaluation, doc bson.Raw) (bson.Raw, error) {
	ctx.Root = value.Object(doc)
	source := doc
	if p.positional != nil {
		at, ok := p.filter.Position(ctx.Meter, doc)
		if !ok {
			return nil, servererr.Of(51246,
				"Executor error during find command :: caused by :: positional operator '.$' couldn't "+
					"find a matching element in the array")
		}
		source = onlyElement(doc, p.positional, at)
	}
	out, err := p.project(ctx, p.Root, source)
	if err != nil || !p.Root.computes {
		return out, err
	}
	return p.compute(ctx, p.Root, out)
}

// fieldNode is one field of a projection: a leaf that says what becomes of
// it, or fields below it.
type fieldNode struct {
	kids     map[string]*fieldNode
	order    []string // of kids, as specified
	kind     leafKind
	expr     expr.Expression // computed
	slice    *sliceRange
	elem     filter.ValueTest // elemMatched
	computes bool             // there is a computed leaf at or below
}

type leafKind uint8

const (
	noLeaf leafKind = iota
	keptLeaf
	droppedLeaf
	computedLeaf
	slicedLeaf
	elemLeaf
)

// project handles everything but computed fields.
func (p *Projection) project(ctx *expr.Evaluation, n *fieldNode, doc []byte) (bson.Raw, error) {
	b, start := document.Open(make([]byte, 0, len(doc)))
	for name, v := range ctx.Meter.Fields(doc) {
		kid := n.kids[string(name)]
		if kid == nil {
			if p.Mode != including {
				b = document.Append(b, name, v)
			}
			continue
		}
		out, err := p.projectField(ctx, kid, v)
		if err != nil {
			return nil, err
		}
		b = document.Append(b, name, out)
	}
	return document.Close(b, start), ctx.Meter.Step(1)
}

func (p *Projection) projectField(ctx *expr.Evaluation, kid *fieldNode, v value.Value) (value.Value, error) {
	switch kid.kind {
	case keptLeaf:
		return v, nil
	case droppedLeaf:
		return value.Value{}, nil
	case slicedLeaf:
		return kid.slice.of(v), nil
	case elemLeaf:
		return firstElement(ctx, p.Scope, kid.elem, v)
	case computedLeaf:
		if p.Mode == adding {
			return v, nil // replaced where it stands
		}
		return value.Value{}, nil
	}
	return p.projectBelow(ctx, kid, v)
}

// projectBelow goes into documents, and into every document of an array.
func (p *Projection) projectBelow(ctx *expr.Evaluation, n *fieldNode, v value.Value) (value.Value, error) {
	switch {
	case value.IsObject(v):
		doc, err := p.project(ctx, n, v.Value)
		return value.Object(doc), err
	case value.IsArray(v):
		var out []value.Value
		for _, e := range ctx.Meter.Fields(v.Value) {
			got, err := p.projectBelow(ctx, n, e)
			if err != nil {
				return value.Value{}, err
			}
			if !value.IsMissing(got) {
				out = append(out, got)
			}
		}
		return document.Array(out), nil
	case p.Mode == including:
		return value.Value{}, nil
	}
	return v, nil
}

// compute adds the computed fields, replacing what is there of that name.
func (p *Projection) compute(ctx *expr.Evaluation, n *fieldNode, doc []byte) (bson.Raw, error) {
	computed := map[string]value.Value{}
	was := paths.Finder{}
	for _, name := range n.order {
		kid := n.kids[name]
		if !kid.computes {
			continue
		}
		var v value.Value
		var err error
		if kid.kind == computedLeaf {
			v, err = kid.expr.Eval(ctx)
		} else {
			v, err = p.computeBelow(ctx, kid, was.Find(ctx.Meter, doc, name))
		}
		if err != nil {
			return nil, err
		}
		computed[name] = v
	}
	return n.with(ctx.Meter, doc, computed)
}

// with returns a document with what was computed: in place of a field that was
// there, otherwise at the end, in the order of the specification.
func (n *fieldNode) with(w *quota.Meter, doc []byte, computed map[string]value.Value) (bson.Raw, error) {
	b, start := document.Open(make([]byte, 0, len(doc)+16*len(computed)))
	for name, old := range w.Fields(doc) {
		if v, ok := computed[string(name)]; ok {
			old = v
			computed[string(name)] = value.Value{}
		}
		b = document.Append(b, name, old)
	}
	for _, name := range n.order {
		b = document.Append(b, name, computed[name])
	}
	return document.Close(b, start), w.Handle(len(b))
}

func (p *Projection) computeBelow(ctx *expr.Evaluation, n *fieldNode, v value.Value) (value.Value, error) {
	switch {
	case value.IsArray(v):
		list := ctx.Meter.Items(v)
		for i, e := range list {
			got, err := p.computeBelow(ctx, n, e)
			if err != nil {
				return value.Value{}, err
			}
			list[i] = got
		}
		return document.Array(list), nil
	case !value.IsObject(v):
		v = value.Object(document.Empty)
	}
	doc, err := p.compute(ctx, n, v.Value)
	return value.Object(doc), err
}

// sliceRange is find's $slice: skip < 0 counts from the end.
type sliceRange struct {
	skip, limit int
	last        bool // only a negative limit was given
}

func (s *sliceRange) of(v value.Value) value.Value {
	if !value.IsArray(v) {
		return v
	}
	list := document.Items(v)
	n := len(list)
	from := s.skip
	if s.last {
		from = -s.limit
	}
	if from < 0 {
		from = max(n+from, 0)
	}
	from = min(from, n)
	return document.Array(list[from:min(from+s.limit, n)])
}

func firstElement(ctx *expr.Evaluation, sc *expr.Scope, test filter.ValueTest, v value.Value) (value.Value, error) {
	if !value.IsArray(v) {
		return value.Value{}, nil
	}
	for _, e := range ctx.Meter.Fields(v.Value) {
		m := &filter.Matching{Evaluation: ctx, Filter: &filter.Filter{Scope: sc}, Index: -1}
		ok := test.Test(document.Array([]value.Value{e}), m)
		if m.Err != nil {
			return value.Value{}, m.Err
		}
		if ok {
			return document.Array([]value.Value{e}), nil
		}
	}
	return value.Value{}, nil
}

// onlyElement keeps one element of the first array on the path.
func onlyElement(doc []byte, path []string, at int) bson.Raw {
	v := document.Lookup(doc, path[0])
	switch {
	case value.IsArray(v):
		list := document.Items(v)
		if at < len(list) {
			v = document.Array(list[at : at+1])
		}
	case value.IsObject(v) && len(path) > 1:
		v = value.Object(onlyElement(v.Value, path[1:], at))
	}
	return document.With(doc, path[0], v)
}
