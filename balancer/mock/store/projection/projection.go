package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Projection is a compiled projection of find or $project. A nil Projection
// keeps documents whole.
type Projection struct {
	root  *fieldNode
	mode  projectionMode
	scope *scope
	now   time.Time
	// positional is the path before ".$", with the query that finds the place.
	positional []string
	filter     *Filter
}

type projectionMode uint8

const (
	including projectionMode = iota
	excluding
	adding // $addFields: everything stays
)

// ProjectionOptions are what a projection may refer to.
type ProjectionOptions struct {
	// Filter is the query beside the projection, for the positional operator.
	Filter *Filter
	Let    bson.Raw
	Now    time.Time
}

// CompileProjection compiles the projection of a find command. An empty one
// keeps everything.
func CompileProjection(spec bson.Raw) (*Projection, error) {
	return CompileProjectionWith(spec, ProjectionOptions{})
}

// CompileProjectionWith is CompileProjection with the query and the variables
// of the command.
func CompileProjectionWith(spec bson.Raw, o ProjectionOptions) (*Projection, error) {
	if isEmpty(spec) {
		return nil, nil
	}
	sc, err := newScope(o.Let)
	if err != nil {
		return nil, err
	}
	p := &projectionParser{scope: sc, find: true}
	if err := p.parse(spec); err != nil {
		return nil, err
	}
	return &Projection{
		root: p.root, mode: p.mode(), scope: sc, now: o.Now,
		positional: p.positional, filter: o.Filter,
	}, nil
}

// Apply returns the projected document. It fails when an expression does.
func (p *Projection) Apply(doc bson.Raw) (bson.Raw, error) {
	if p == nil {
		return doc, nil
	}
	return p.applyIn(newEvaluation(p.scope, p.now, nil), doc)
}

// Projector returns Apply for many documents, which fails with the cause of ctx
// when that ends.
func (p *Projection) Projector(ctx context.Context) func(doc bson.Raw) (bson.Raw, error) {
	w := newWork(ctx)
	if p == nil {
		return func(doc bson.Raw) (bson.Raw, error) { return doc, w.step(1) }
	}
	c := newEvaluation(p.scope, p.now, w)
	return func(doc bson.Raw) (bson.Raw, error) { return p.applyIn(c, doc) }
}

func (p *Projection) applyIn(ctx *evaluation, doc bson.Raw) (bson.Raw, error) {
	ctx.root = objectValue(doc)
	source := doc
	if p.positional != nil {
		at, ok := p.filter.position(ctx.work, doc)
		if !ok {
			return nil, fail(51246, "Executor error during find command :: caused by :: positional operator '.$' couldn't "+
				"find a matching element in the array")
		}
		source = onlyElement(doc, p.positional, at)
	}
	out, err := p.project(ctx, p.root, source)
	if err != nil || !p.root.computes {
		return out, err
	}
	return p.compute(ctx, p.root, out)
}

// fieldNode is one field of a projection: a leaf that says what becomes of
// it, or fields below it.
type fieldNode struct {
	kids     map[string]*fieldNode
	order    []string // of kids, as specified
	kind     leafKind
	expr     expression // computed
	slice    *sliceRange
	elem     valueTest // elemMatched
	computes bool      // there is a computed leaf at or below
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
func (p *Projection) project(ctx *evaluation, n *fieldNode, doc []byte) (bson.Raw, error) {
	b, start := openDocument(make([]byte, 0, len(doc)))
	for name, v := range ctx.work.fields(doc) {
		kid := n.kids[string(name)]
		if kid == nil {
			if p.mode != including {
				b = appendField(b, name, v)
			}
			continue
		}
		out, err := p.projectField(ctx, kid, v)
		if err != nil {
			return nil, err
		}
		b = appendField(b, name, out)
	}
	return closeDocument(b, start), ctx.work.step(1)
}

func (p *Projection) projectField(ctx *evaluation, kid *fieldNode, v value) (value, error) {
	switch kid.kind {
	case keptLeaf:
		return v, nil
	case droppedLeaf:
		return value{}, nil
	case slicedLeaf:
		return kid.slice.of(v), nil
	case elemLeaf:
		return firstElement(ctx, kid.elem, v)
	case computedLeaf:
		if p.mode == adding {
			return v, nil // replaced where it stands
		}
		return value{}, nil
	}
	return p.projectBelow(ctx, kid, v)
}

// projectBelow goes into documents, and into every document of an array.
func (p *Projection) projectBelow(ctx *evaluation, n *fieldNode, v value) (value, error) {
	switch {
	case isObject(v):
		doc, err := p.project(ctx, n, v.Value)
		return objectValue(doc), err
	case isArray(v):
		var out []value
		for _, e := range ctx.work.fields(v.Value) {
			got, err := p.projectBelow(ctx, n, e)
			if err != nil {
				return value{}, err
			}
			if !isMissing(got) {
				out = append(out, got)
			}
		}
		return arrayOf(out), nil
	case p.mode == including:
		return value{}, nil
	}
	return v, nil
}

// compute adds the computed fields, replacing what is there of that name.
func (p *Projection) compute(ctx *evaluation, n *fieldNode, doc []byte) (bson.Raw, error) {
	computed := map[string]value{}
	was := finder{}
	for _, name := range n.order {
		kid := n.kids[name]
		if !kid.computes {
			continue
		}
		var v value
		var err error
		if kid.kind == computedLeaf {
			v, err = kid.expr.eval(ctx)
		} else {
			v, err = p.computeBelow(ctx, kid, was.find(ctx.work, doc, name))
		}
		if err != nil {
			return nil, err
		}
		computed[name] = v
	}
	return n.with(ctx.work, doc, computed)
}

// with returns a document with what was computed: in place of a field that was
// there, otherwise at the end, in the order of the specification.
func (n *fieldNode) with(w *work, doc []byte, computed map[string]value) (bson.Raw, error) {
	b, start := openDocument(make([]byte, 0, len(doc)+16*len(computed)))
	for name, old := range w.fields(doc) {
		if v, ok := computed[string(name)]; ok {
			old = v
			computed[string(name)] = value{}
		}
		b = appendField(b, name, old)
	}
	for _, name := range n.order {
		b = appendField(b, name, computed[name])
	}
	return closeDocument(b, start), w.handle(len(b))
}

func (p *Projection) computeBelow(ctx *evaluation, n *fieldNode, v value) (value, error) {
	switch {
	case isArray(v):
		list := ctx.work.items(v)
		for i, e := range list {
			got, err := p.computeBelow(ctx, n, e)
			if err != nil {
				return value{}, err
			}
			list[i] = got
		}
		return arrayOf(list), nil
	case !isObject(v):
		v = objectValue(emptyDocument)
	}
	doc, err := p.compute(ctx, n, v.Value)
	return objectValue(doc), err
}

// sliceRange is find's $slice: skip < 0 counts from the end.
type sliceRange struct {
	skip, limit int
	last        bool // only a negative limit was given
}

func (s *sliceRange) of(v value) value {
	if !isArray(v) {
		return v
	}
	list := items(v)
	n := len(list)
	from := s.skip
	if s.last {
		from = -s.limit
	}
	if from < 0 {
		from = max(n+from, 0)
	}
	from = min(from, n)
	return arrayOf(list[from:min(from+s.limit, n)])
}

func firstElement(ctx *evaluation, test valueTest, v value) (value, error) {
	if !isArray(v) {
		return value{}, nil
	}
	for _, e := range ctx.work.fields(v.Value) {
		m := &matching{ctx: ctx, index: -1}
		ok := test.test(arrayOf([]value{e}), m)
		if m.err != nil {
			return value{}, m.err
		}
		if ok {
			return arrayOf([]value{e}), nil
		}
	}
	return value{}, nil
}

// onlyElement keeps one element of the first array on the path.
func onlyElement(doc []byte, path []string, at int) bson.Raw {
	v := lookup(doc, path[0])
	switch {
	case isArray(v):
		list := items(v)
		if at < len(list) {
			v = arrayOf(list[at : at+1])
		}
	case isObject(v) && len(path) > 1:
		v = objectValue(onlyElement(v.Value, path[1:], at))
	}
	return withField(doc, path[0], v)
}
