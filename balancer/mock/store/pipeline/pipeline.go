package store

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Env is what a pipeline needs from outside.
type Env struct {
	// Now is the clock of $$NOW; nil for the wall clock.
	Now func() time.Time
	// Collection gives the documents of a collection of the same database for
	// $lookup, $unionWith and $graphLookup; one that does not exist is empty.
	Collection func(name string) (iter.Seq[bson.Raw], error)
	// Rand gives numbers in [0, 1) for $sample and $rand; nil for random ones.
	Rand func() float64
	// Variables are the command's let.
	Variables bson.Raw
	// NoDisk: stages that keep more than a server's 100 MiB fail.
	NoDisk bool
}

// stage turns the documents before it into those after it. compute holds the
// variables of the run.
type stage interface {
	run(r *execution, in docs) docs
}

// execution is a pipeline being run once.
type execution struct {
	env  *Env
	vars []value
	now  time.Time
	work *work
	seen *joined // shared with the pipelines inside
}

func (r *execution) evaluation() *evaluation {
	return &evaluation{vars: append([]value(nil), r.vars...), now: r.now, rand: r.env.Rand, work: r.work}
}

// Pipeline is a compiled aggregation pipeline.
type Pipeline struct {
	stages []stage
	scope  *scope
	env    Env
}

// CompilePipeline compiles the stages of an aggregation. Stages that produce
// documents of their own or write them ($collStats, $out and so on) belong to
// the caller, who takes them off the ends; here they are out of place.
func CompilePipeline(stages []bson.Raw, env Env) (*Pipeline, error) {
	sc, err := newScope(env.Variables)
	if err != nil {
		return nil, err
	}
	failed := sc.collecting()
	c := &pipelineCompiler{env: &env, scope: sc}
	all, err := c.stages(stages)
	if err == nil {
		err = failed()
	}
	if err != nil {
		return nil, err
	}
	return &Pipeline{all, sc, env}, nil
}

// Filter returns the query of the first stage when that is a $match, otherwise
// nil: documents that do not match need not be fed to Run.
func (p *Pipeline) Filter() *Filter {
	if len(p.stages) > 0 {
		if m, ok := p.stages[0].(matchStage); ok {
			return m.filter
		}
	}
	return nil
}

// Run executes the pipeline over a stream of documents. The first error ends
// the result; ctx ends it early with its cause.
func (p *Pipeline) Run(ctx context.Context, in iter.Seq[bson.Raw]) iter.Seq2[bson.Raw, error] {
	r := p.execution(ctx)
	return r.closing(runStages(r, p.stages, r.watched(in)))
}

// Transform is Run over a stream that may fail, and that ends with ctx.
func (p *Pipeline) Transform(ctx context.Context, in iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	r := p.execution(ctx)
	return r.closing(runStages(r, p.stages, in))
}

func (p *Pipeline) execution(ctx context.Context) *execution {
	return &execution{env: &p.env, vars: p.scope.values, now: now(&p.env), work: newWork(ctx), seen: newJoined()}
}

// RunCounted is Run that counts what each stage gives.
func (p *Pipeline) RunCounted(ctx context.Context, in iter.Seq[bson.Raw], counts []int64) iter.Seq2[bson.Raw, error] {
	r := p.execution(ctx)
	flow := r.watched(in)
	for i, s := range p.stages {
		flow = counted(s.run(r, flow), &counts[i])
	}
	return r.closing(flow)
}

// closing gives back what the stages have kept when the stream ends.
func (r *execution) closing(flow docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		defer r.work.end()
		flow(yield)
	}
}

func counted(in docs, n *int64) docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			*n++
			if !yield(doc, err) {
				return
			}
		}
	}
}

func now(env *Env) time.Time {
	if env.Now == nil {
		return time.Now()
	}
	return env.Now()
}

func runStages(r *execution, stages []stage, in docs) docs {
	for _, s := range stages {
		in = s.run(r, in)
	}
	return in
}

// watched stops a stream when the context ends.
func (r *execution) watched(in iter.Seq[bson.Raw]) docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc := range in {
			if err := r.work.over(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(doc, nil) {
				return
			}
		}
		if err := r.work.over(); err != nil { // what gives them may have stopped
			yield(nil, err)
		}
	}
}

// perDocument is a stage that makes one document, or none (nil), of each.
type perDocument func(r *execution) func(doc bson.Raw) (bson.Raw, error)

func (s perDocument) run(r *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		f := s(r)
		for doc, err := range in {
			if err == nil {
				doc, err = f(doc)
			}
			if err == nil {
				err = r.work.step(1)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if doc != nil && !yield(doc, nil) {
				return
			}
		}
	}
}

// blocking is a stage that must see every document before it gives the first.
type blocking func(r *execution, all docs) ([]bson.Raw, error)

func (s blocking) run(r *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		out, err := s(r, in)
		if err == nil {
			err = r.work.step(1) // loops stop when the work ends
		}
		if err != nil {
			yield(nil, err)
			return
		}
		r.work.documents(out)(yield)
	}
}

// maxPipelineDepth bounds pipelines inside pipelines.
const maxPipelineDepth = 20

type pipelineCompiler struct {
	env   *Env
	scope *scope
	depth int
	facet bool
	other bool // the stage is for the other engine (stage_engine.go)
	table map[string]stageCompiler
}

type stageCompiler func(name string, arg value) (stage, error)

func (c *pipelineCompiler) stages(list []bson.Raw) ([]stage, error) {
	if c.depth > maxPipelineDepth {
		return nil, serverError(mongoerr.MaxSubPipelineDepthExceeded,
			"Maximum number of nested sub-pipelines exceeded. Limit is %d", maxPipelineDepth)
	}
	var out []stage
	for i, spec := range list {
		if fieldCount(spec) != 1 {
			return nil, fail(40323, "A pipeline stage specification object must contain exactly one field.")
		}
		name, arg, _ := first(spec)
		c.other = c.depth == 0 && !c.facet && inOther(list[:i], name, arg)
		s, err := c.stage(name, arg, i, len(list))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// sub compiles a pipeline inside a stage, with more variables perhaps.
func (c *pipelineCompiler) sub(v value, sc *scope, facet bool) ([]stage, error) {
	list, err := pipelineList(v)
	if err != nil {
		return nil, err
	}
	inner := &pipelineCompiler{env: c.env, scope: sc, depth: c.depth + 1, facet: facet}
	return inner.stages(list)
}

// pipelineList checks an array of stages.
func pipelineList(v value) ([]bson.Raw, error) {
	if !isArray(v) {
		return nil, typeMismatch("'pipeline' option must be specified as an array")
	}
	var list []bson.Raw
	for _, s := range fields(v.Value) {
		if !isObject(s) {
			return nil, typeMismatch("Each element of the 'pipeline' array must be an object")
		}
		list = append(list, s.Value)
	}
	return list, nil
}
