// Package projection compiles and applies the projections of find and $project. The rules are those of
// the manual page on projection in find, and of recorded replies (8.0).
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
	// positional is the path before ".$"; filter is the query that determines the element.
	positional []string
	filter     *filter.Filter
}

type projectionMode uint8

const (
	includeMode projectionMode = iota
	excludeMode
	addFieldsMode // $addFields: keeps all fields
)

// Options are the inputs of a projection besides the document.
type Options struct {
	// Filter is the query of the find, for the positional operator.
	Filter *filter.Filter
	Let    bson.Raw
	Now    time.Time
	// Language is the expression language of the release.
	Language expr.Language
}

// Compile compiles the projection of a find command. An empty projection keeps all fields.
func Compile(spec bson.Raw) (*Projection, error) {
	return CompileWith(spec, Options{})
}

// CompileWith is like Compile, with the query and the variables of the command.
func CompileWith(spec bson.Raw, o Options) (*Projection, error) {
	if document.IsEmpty(spec) {
		return nil, nil
	}
	sc, err := expr.NewScope(o.Language, o.Let)
	if err != nil {
		return nil, err
	}
	p := &Parser{Scope: sc, isFind: true}
	if err := p.Parse(spec); err != nil {
		return nil, err
	}
	return &Projection{
		Root: p.Root, Mode: p.Mode(), Scope: sc, now: o.Now,
		positional: p.positional, filter: o.Filter,
	}, nil
}

// Apply returns the projected document. It fails if an expression fails.
func (p *Projection) Apply(doc bson.Raw) (bson.Raw, error) {
	if p == nil {
		return doc, nil
	}
	return p.ApplyInEvaluation(expr.NewEvaluation(p.Scope, p.now, nil), doc)
}

// Projector returns an Apply for many documents, which fails with the cause of ctx when ctx ends.
func (p *Projection) Projector(ctx context.Context) func(doc bson.Raw) (bson.Raw, error) {
	w := quota.New(ctx)
	if p == nil {
		return func(doc bson.Raw) (bson.Raw, error) { return doc, w.Charge(1) }
	}
	c := expr.NewEvaluation(p.Scope, p.now, w)
	return func(doc bson.Raw) (bson.Raw, error) { return p.ApplyInEvaluation(c, doc) }
}

// ApplyInEvaluation is like Apply, within an evaluation in progress whose variables it uses.
func (p *Projection) ApplyInEvaluation(ctx *expr.Evaluation, doc bson.Raw) (bson.Raw, error) {
	ctx.Root = value.Object(doc)
	source := doc
	if p.positional != nil {
		at, ok := p.filter.Position(ctx.Meter, doc)
		if !ok {
			return nil, servererr.NewCode(51246,
				"Executor error during find command :: caused by :: positional operator '.$' couldn't "+
					"find a matching element in the array")
		}
		source = keepElement(doc, p.positional, at)
	}
	out, err := p.project(ctx, p.Root, source)
	if err != nil || !p.Root.hasComputed {
		return out, err
	}
	return p.applyComputed(ctx, p.Root, out)
}

// fieldNode is one field of a projection: a leaf, which says how to project the field, or an inner node
// with subfields.
type fieldNode struct {
	children    map[string]*fieldNode
	childOrder  []string // of children, as specified
	kind        leafKind
	expr        expr.Expression // for a computed leaf
	slice       *sliceRange
	elementTest filter.ValueTest // for an $elemMatch leaf
	hasComputed bool             // the node or a descendant is computed
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

// project projects all fields except computed ones.
func (p *Projection) project(ctx *expr.Evaluation, n *fieldNode, doc []byte) (bson.Raw, error) {
	b, start := document.Open(make([]byte, 0, len(doc)))
	for name, v := range ctx.Meter.Fields(doc) {
		kid := n.children[string(name)]
		if kid == nil {
			if p.Mode != includeMode {
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
	return document.Close(b, start), ctx.Meter.Charge(1)
}

func (p *Projection) projectField(ctx *expr.Evaluation, kid *fieldNode, v value.Value) (value.Value, error) {
	switch kid.kind {
	case keptLeaf:
		return v, nil
	case droppedLeaf:
		return value.Value{}, nil
	case slicedLeaf:
		return kid.slice.apply(v), nil
	case elemLeaf:
		return firstMatchingElement(ctx, p.Scope, kid.elementTest, v)
	case computedLeaf:
		if p.Mode == addFieldsMode {
			return v, nil // computed later, in place
		}
		return value.Value{}, nil
	}
	return p.projectBelow(ctx, kid, v)
}

// projectBelow descends into a document or into every document of an array.
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
	case p.Mode == includeMode:
		return value.Value{}, nil
	}
	return v, nil
}

// applyComputed adds the computed fields and replaces existing fields of the same name.
func (p *Projection) applyComputed(ctx *expr.Evaluation, n *fieldNode, doc []byte) (bson.Raw, error) {
	computed := map[string]value.Value{}
	finder := paths.Finder{}
	for _, name := range n.childOrder {
		kid := n.children[name]
		if !kid.hasComputed {
			continue
		}
		var v value.Value
		var err error
		if kid.kind == computedLeaf {
			v, err = kid.expr.Eval(ctx)
		} else {
			v, err = p.computeBelow(ctx, kid, finder.Find(ctx.Meter, doc, name))
		}
		if err != nil {
			return nil, err
		}
		computed[name] = v
	}
	return n.mergeComputed(ctx.Meter, doc, computed)
}

// mergeComputed returns a document with the computed values. A value replaces an existing field in
// place; new fields follow in the order of the specification.
func (n *fieldNode) mergeComputed(w *quota.Meter, doc []byte, computed map[string]value.Value) (bson.Raw, error) {
	b, start := document.Open(make([]byte, 0, len(doc)+16*len(computed)))
	for name, old := range w.Fields(doc) {
		if v, ok := computed[string(name)]; ok {
			old = v
			computed[string(name)] = value.Value{}
		}
		b = document.Append(b, name, old)
	}
	for _, name := range n.childOrder {
		b = document.Append(b, name, computed[name])
	}
	return document.Close(b, start), w.ChargeBytes(len(b))
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
	doc, err := p.applyComputed(ctx, n, v.Value)
	return value.Object(doc), err
}

// sliceRange is the range of a $slice in find; a negative skip counts from the end.
type sliceRange struct {
	skip, limit int
	fromEnd     bool // only a negative limit was given
}

func (s *sliceRange) apply(v value.Value) value.Value {
	if !value.IsArray(v) {
		return v
	}
	list := document.Items(v)
	n := len(list)
	from := s.skip
	if s.fromEnd {
		from = -s.limit
	}
	if from < 0 {
		from = max(n+from, 0)
	}
	from = min(from, n)
	return document.Array(list[from:min(from+s.limit, n)])
}

func firstMatchingElement(
	ctx *expr.Evaluation,
	sc *expr.Scope,
	test filter.ValueTest,
	v value.Value,
) (value.Value, error) {
	if !value.IsArray(v) {
		return value.Value{}, nil
	}
	for _, e := range ctx.Meter.Fields(v.Value) {
		m := &filter.MatchState{Evaluation: ctx, Filter: &filter.Filter{Scope: sc}, ElementIndex: -1}
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

// keepElement keeps one element of the first array on the path.
func keepElement(doc []byte, path []string, at int) bson.Raw {
	v := document.Lookup(doc, path[0])
	switch {
	case value.IsArray(v):
		list := document.Items(v)
		if at < len(list) {
			v = document.Array(list[at : at+1])
		}
	case value.IsObject(v) && len(path) > 1:
		v = value.Object(keepElement(v.Value, path[1:], at))
	}
	return document.WithField(doc, path[0], v)
}
