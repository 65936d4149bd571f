package action

import (
	"context"
	"errors"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
)

// PlanResult is how the carrying out of a plan ended.
type PlanResult struct {
	// Plan is the ID of the plan that was carried out at last; empty when none was.
	Plan     string `json:"plan,omitzero"`
	Finished bool   `json:"finished"`
	// A dry run has nothing done or finished: it says whether all could be.
	DryRun   bool `json:"dryRun,omitzero"`
	Possible bool `json:"possible,omitzero"`
	// Stopped says why the run ended early without a mistake, Error with one.
	Stopped string `json:"stopped,omitzero"`
	Error   string `json:"error,omitzero"`
	// Already says what was found done, so that there was no plan.
	Already string `json:"already,omitzero"`
	// Steps are those of the plan; done ones count those of earlier runs.
	Steps     int `json:"steps"`
	StepsDone int `json:"stepsDone"`
	// StepsHere were done by this run.
	StepsHere int `json:"stepsHere"`
	// What was done is as the donors have counted it, what is left as it was planned. What
	// earlier plans of the run have moved counts.
	Moves         int   `json:"moves"`
	MovesDone     int   `json:"movesDone"`
	Bytes         int64 `json:"bytes"`
	BytesDone     int64 `json:"bytesDone"`
	DocumentsDone int64 `json:"documentsDone"`
	// BytesPlanned is what the plan expected to move.
	BytesPlanned int64 `json:"bytesPlanned"`
	// Replans is how often another plan took over.
	Replans int `json:"replans"`
	// Collections are how many chunks those of the goal had and have.
	Collections []Chunks `json:"collections,omitempty"`
	// Shard is the one that was drained, Removed whether it has left the cluster.
	Shard   catalog.ShardID `json:"shard,omitzero"`
	Removed *bool           `json:"removed,omitempty"`
	// Left is what keeps the goal from being reached, with what to do.
	Left []string `json:"left,omitempty"`
	// Commands are what a dry run would have sent.
	Commands []Command `json:"commands,omitempty"`
	Journal  string    `json:"journal,omitzero"`
	MS       int64     `json:"millis"`

	// Verify says whether the documents are the same as before; nil where that was not asked
	// for, or the run was interrupted.
	Verify *VerifyResult `json:"verify,omitempty"`
	// Warning says what goes on after the run, and how to stop it.
	Warning string `json:"warning,omitzero"`

	// Preflight is all that a run has which was only to look at what is in its way.
	Preflight *preflight.Report `json:"-"`

	// Undoes says that the plan undoes another one, Kept that it can't be undone.
	Undoes bool `json:"-"`
	Kept   bool `json:"-"`
}

// Chunks is how many chunks a collection had and has.
type Chunks struct {
	Namespace string `json:"ns"`
	Before    int64  `json:"chunksBefore"`
	After     int64  `json:"chunksAfter"`
}

// planResult puts together how a run ended.
func planResult(r apply.Result, err error, dryRun bool) PlanResult {
	p := r.Progress
	result := PlanResult{
		Plan: r.Plan.ID, Finished: r.Finished && err == nil, DryRun: dryRun,
		Possible: r.Possible && err == nil, Stopped: r.Stopped, Steps: p.Steps, StepsDone: p.StepsDone,
		StepsHere: p.StepsHere, Moves: p.Moves, MovesDone: p.MovesDone, Bytes: p.Bytes, BytesDone: p.BytesDone,
		Replans: r.Replans, DocumentsDone: p.DocumentsDone, BytesPlanned: p.BytesPlanned,
		Left: remainingTexts(r), Undoes: r.Plan.Goal.Kind == plan.Undo, MS: r.Ended.Sub(r.Began).Milliseconds(),
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

// unreachedError returns an error naming what keeps the goal from being reached although all
// steps are done; nil when nothing does.
func unreachedError(r apply.Result) error {
	var errs []error
	for _, text := range remainingTexts(r) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// remainingTexts returns the remaining findings, except those that the end of a drain reports itself.
func remainingTexts(r apply.Result) (list []string) {
	for _, f := range r.Left {
		if r.Finished && f.Code != diagnosis.Orphans && f.Code != diagnosis.DrainNeedsOperator &&
			f.Code != diagnosis.DrainComplete {
			list = append(list, f.Text())
		}
	}
	return list
}

// chunkCounts compares numbers of chunks with those of a plan. When the cluster can't
// be asked any more there is nothing to compare.
func (c Cluster) chunkCounts(ctx context.Context, p *plan.Plan) (list []Chunks) {
	var names []string
	for _, of := range p.Basis.Collections {
		names = append(names, of.Namespace)
	}
	s, err := live.NewCommandReader(live.NewCommandRunner(c.Client), live.ReaderOptions{
		Parts: live.Collections | live.Counts, Required: live.AllParts, Namespaces: names,
	}).Read(ctx)
	if err != nil {
		return nil
	}
	for _, of := range p.Basis.Collections {
		counts := Chunks{Namespace: of.Namespace, Before: int64(of.Chunks)}
		if now := s.Collection(of.Namespace); now != nil {
			counts.After = now.Count().Chunks
		}
		list = append(list, counts)
	}
	return list
}
