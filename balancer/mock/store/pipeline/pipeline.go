// Package pipeline compiles and runs aggregation pipelines. Each file implements one stage or a group of
// related stages; others implement the reordering of stages. The rules are those of the stages' manual
// pages and of recorded replies (8.0).
//
// The caller implements stages with their own sources or targets ($collStats, $currentOp, $out, $merge
// and others).
package pipeline

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Env is the environment of a pipeline.
type Env struct {
	// Now is the clock of $$NOW; nil for the wall clock.
	Now func() time.Time
	// Collection returns the documents of another collection of the same database, for $lookup,
	// $unionWith and $graphLookup. A collection that does not exist is empty.
	Collection func(name string) (iter.Seq[bson.Raw], error)
	// Rand returns numbers in [0, 1) for $sample and $rand; nil for a random generator.
	Rand func() float64
	// Variables are the command's let.
	Variables bson.Raw
	// NoDisk makes stages fail that hold more than 100 MiB in memory (allowDiskUse: false).
	NoDisk bool
	// Language is the expression language of the release.
	Language expr.Language
}

// stage transforms a stream of documents. r holds the variables of the run.
type stage interface {
	run(r *execution, in quota.Docs) quota.Docs
}

// execution is one run of a pipeline.
type execution struct {
	env   *Env
	vars  []value.Value
	now   time.Time
	meter *quota.Meter
	joins *joinCache // shared with sub-pipelines
}

func (e *execution) newEvaluation() *expr.Evaluation {
	return &expr.Evaluation{Vars: append([]value.Value(nil), e.vars...), Now: e.now, Rand: e.env.Rand, Meter: e.meter,
		Language: e.env.Language}
}

// Pipeline is a compiled aggregation pipeline.
type Pipeline struct {
	stages []stage
	scope  *expr.Scope
	env    Env
}

// Compile compiles the stages of an aggregation. The caller must remove stages that generate or write
// documents ($collStats, $out and so on) from the beginning and the end. Compile rejects them.
func Compile(stages []bson.Raw, env Env) (*Pipeline, error) {
	sc, err := expr.NewScope(env.Language, env.Variables)
	if err != nil {
		return nil, err
	}
	failed := sc.DeferConstantErrors()
	c := &compiler{env: &env, scope: sc}
	all, err := c.compileStages(stages)
	if err == nil {
		err = failed()
	}
	if err != nil {
		return nil, err
	}
	return &Pipeline{all, sc, env}, nil
}

// Run executes the pipeline over a stream of documents. The result ends at the first error, or with the
// cause of ctx when ctx ends.
func (p *Pipeline) Run(ctx context.Context, in iter.Seq[bson.Raw]) iter.Seq2[bson.Raw, error] {
	r := p.newExecution(ctx)
	return r.releaseAtEnd(runStages(r, p.stages, r.stopWithContext(in)))
}

// Transform is like Run, over a stream that may fail and that ends with ctx.
func (p *Pipeline) Transform(ctx context.Context, in iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	r := p.newExecution(ctx)
	return r.releaseAtEnd(runStages(r, p.stages, in))
}

func (p *Pipeline) newExecution(ctx context.Context) *execution {
	return &execution{
		env:   &p.env,
		vars:  p.scope.InitialValues,
		now:   currentTime(&p.env),
		meter: quota.New(ctx),
		joins: newJoinCache(),
	}
}

// RunCounted is like Run and counts the results of each stage.
func (p *Pipeline) RunCounted(ctx context.Context, in iter.Seq[bson.Raw], counts []int64) iter.Seq2[bson.Raw, error] {
	r := p.newExecution(ctx)
	flow := r.stopWithContext(in)
	for i, s := range p.stages {
		flow = countDocs(s.run(r, flow), &counts[i])
	}
	return r.releaseAtEnd(flow)
}

// releaseAtEnd releases the memory of the stages when the stream ends.
func (e *execution) releaseAtEnd(flow quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		defer e.meter.ReleaseAll()
		flow(yield)
	}
}

func countDocs(in quota.Docs, n *int64) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc, err := range in {
			*n++
			if !yield(doc, err) {
				return
			}
		}
	}
}

func currentTime(env *Env) time.Time {
	if env.Now == nil {
		return time.Now()
	}
	return env.Now()
}

func runStages(r *execution, stages []stage, in quota.Docs) quota.Docs {
	for _, s := range stages {
		in = s.run(r, in)
	}
	return in
}

// stopWithContext stops a stream when the context ends.
func (e *execution) stopWithContext(in iter.Seq[bson.Raw]) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		for doc := range in {
			if err := e.meter.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(doc, nil) {
				return
			}
		}
		if err := e.meter.Err(); err != nil { // the source may have stopped because of an error
			yield(nil, err)
		}
	}
}

// perDocumentStage is a stage that returns one document or none (nil) for each document.
type perDocumentStage func(r *execution) func(doc bson.Raw) (bson.Raw, error)

func (s perDocumentStage) run(r *execution, in quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		f := s(r)
		for doc, err := range in {
			if err == nil {
				doc, err = f(doc)
			}
			if err == nil {
				err = r.meter.Charge(1)
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

// blockingStage is a stage that reads all documents before it returns the first result.
type blockingStage func(r *execution, all quota.Docs) ([]bson.Raw, error)

func (s blockingStage) run(r *execution, in quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		out, err := s(r, in)
		if err == nil {
			err = r.meter.Charge(1) // loops stop when the meter ends
		}
		if err != nil {
			yield(nil, err)
			return
		}
		r.meter.Documents(out)(yield)
	}
}

// maxPipelineDepth is the maximum nesting depth of pipelines.
const maxPipelineDepth = 20

type compiler struct {
	env     *Env
	scope   *expr.Scope
	depth   int
	inFacet bool
	// usesOuterDocument: an enclosing $lookup binds variables, whose values differ for each of its documents. So what
	// a stage caches holds only for one run of its pipeline.
	usesOuterDocument bool
	sbe               bool // the stage is for SBE (expr/sbe.go)
	table             map[string]stageCompiler
}

type stageCompiler func(name string, arg value.Value) (stage, error)

func (c *compiler) compileStages(list []bson.Raw) ([]stage, error) {
	if c.depth > maxPipelineDepth {
		return nil, servererr.New(mongoerr.MaxSubPipelineDepthExceeded,
			"Maximum number of nested sub-pipelines exceeded. Limit is %d", maxPipelineDepth)
	}
	var out []stage
	for i, spec := range list {
		if document.Count(spec) != 1 {
			return nil, servererr.New(mongoerr.NotOneStageField,
				"A pipeline stage specification object must contain exactly one field.")
		}
		name, arg, _ := document.FirstField(spec)
		c.sbe = c.depth == 0 && !c.inFacet && runsInSBE(list[:i], name, arg)
		s, err := c.compileStage(name, arg, i, len(list))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// compileSubPipeline compiles a pipeline inside a stage, which may have additional variables.
func (c *compiler) compileSubPipeline(v value.Value, sc *expr.Scope, facet bool) ([]stage, error) {
	list, err := parseStages(v)
	if err != nil {
		return nil, err
	}
	inner := &compiler{env: c.env, scope: sc, depth: c.depth + 1, inFacet: facet,
		usesOuterDocument: c.usesOuterDocument || sc.VariableCount() > c.scope.VariableCount()}
	return inner.compileStages(list)
}

// parseStages checks an array of stages.
func parseStages(v value.Value) ([]bson.Raw, error) {
	if !value.IsArray(v) {
		return nil, servererr.TypeMismatch("'pipeline' option must be specified as an array")
	}
	var list []bson.Raw
	for _, s := range document.Fields(v.Value) {
		if !value.IsObject(s) {
			return nil, servererr.TypeMismatch("Each element of the 'pipeline' array must be an object")
		}
		list = append(list, s.Value)
	}
	return list, nil
}
