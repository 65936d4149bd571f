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

// PlanResult is the result of executing a plan.
type PlanResult struct {
	// PlanID is the ID of the last plan that was executed; empty if none was.
	PlanID   string `json:"plan,omitzero"`
	Finished bool   `json:"finished"`
	// DryRun says that no step was executed. Then Applicable says whether all steps could be executed.
	DryRun     bool `json:"dryRun,omitzero"`
	Applicable bool `json:"possible,omitzero"`
	// Stopped says why the run ended early without an error. Error is the text of an error.
	Stopped string `json:"stopped,omitzero"`
	Error   string `json:"error,omitzero"`
	// AlreadyReachedText says which goal was reached before the run, so that there was no plan.
	AlreadyReachedText string `json:"already,omitzero"`
	// Steps is the number of steps of the plan. StepsDone includes the steps of earlier runs.
	Steps     int `json:"steps"`
	StepsDone int `json:"stepsDone"`
	// StepsThisRun is the number of steps of this run.
	StepsThisRun int `json:"stepsHere"`
	// Moves, Bytes and the finished parts of them include earlier plans of the run. For finished moves
	// they contain the amounts that the donors have counted, for other moves the planned amounts.
	Moves         int   `json:"moves"`
	MovesDone     int   `json:"movesDone"`
	Bytes         int64 `json:"bytes"`
	BytesDone     int64 `json:"bytesDone"`
	DocumentsDone int64 `json:"documentsDone"`
	// BytesPlanned is the number of bytes that the plan expected to move.
	BytesPlanned int64 `json:"bytesPlanned"`
	// Replans is the number of times that a new plan was made.
	Replans int `json:"replans"`
	// Collections contains the numbers of chunks of the goal's collections.
	Collections []ChunkCounts `json:"collections,omitempty"`
	// Shard is the drained shard. Removed says whether it has left the cluster.
	Shard   catalog.ShardID `json:"shard,omitzero"`
	Removed *bool           `json:"removed,omitempty"`
	// Left lists what prevents the goal, with remedies.
	Left []string `json:"left,omitempty"`
	// Commands are the commands that a dry run would have sent.
	Commands []UnsentCommand `json:"commands,omitempty"`
	Journal  string          `json:"journal,omitzero"`
	MS       int64           `json:"millis"`

	// Verify says whether the documents are unchanged; nil if that was not requested, or if the run was
	// interrupted.
	Verify *VerifyResult `json:"verify,omitempty"`
	// Warning says what continues after the run, and how to stop it.
	Warning string `json:"warning,omitzero"`

	// Preflight is the whole result of a run that only checks for obstacles.
	Preflight *preflight.Report `json:"-"`

	// Undoes says that the plan undoes another plan. NotUndoable says that the run can't be undone.
	Undoes      bool `json:"-"`
	NotUndoable bool `json:"-"`
}

// ChunkCounts contains the number of chunks of a collection before and after the run.
type ChunkCounts struct {
	Namespace string `json:"ns"`
	Before    int64  `json:"chunksBefore"`
	After     int64  `json:"chunksAfter"`
}

// planResult builds the result of a run.
func planResult(r apply.Result, err error, dryRun bool) PlanResult {
	p := r.Progress
	result := PlanResult{
		PlanID: r.Plan.ID, Finished: r.Finished && err == nil, DryRun: dryRun,
		Applicable: r.Applicable && err == nil, Stopped: r.Stopped, Steps: p.Steps, StepsDone: p.StepsDone,
		StepsThisRun: p.StepsThisRun, Moves: p.Moves, MovesDone: p.MovesDone, Bytes: p.Bytes, BytesDone: p.BytesDone,
		Replans: r.Replans, DocumentsDone: p.DocumentsDone, BytesPlanned: p.BytesPlanned,
		Left: remainingTexts(r), Undoes: r.Plan.Goal.Kind == plan.Undo, MS: r.Ended.Sub(r.Began).Milliseconds(),
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

// unreachedError returns an error that names what prevents the goal although all steps are done; nil if
// the goal is reached.
func unreachedError(r apply.Result) error {
	var errs []error
	for _, text := range remainingTexts(r) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// remainingTexts returns the remaining findings, except those that the end of a drain reports itself.
func remainingTexts(r apply.Result) (list []string) {
	for _, f := range r.RemainingFindings {
		if r.Finished && f.Code != diagnosis.Orphans && f.Code != diagnosis.DrainNeedsOperator &&
			f.Code != diagnosis.DrainComplete {
			list = append(list, f.Text())
		}
	}
	return list
}

// chunkCounts compares the numbers of chunks with those of a plan. It returns nothing if the cluster
// does not answer any more.
func (c Cluster) chunkCounts(ctx context.Context, p *plan.Plan) (list []ChunkCounts) {
	var names []string
	for _, of := range p.Basis.Collections {
		names = append(names, of.Namespace)
	}
	s, err := live.NewCommandReader(live.NewCommandRunner(c.Client), live.ReaderOptions{
		Parts: live.Collections | live.ChunkCounts, Required: live.AllParts, Namespaces: names,
	}).Read(ctx)
	if err != nil {
		return nil
	}
	for _, of := range p.Basis.Collections {
		counts := ChunkCounts{Namespace: of.Namespace, Before: int64(of.Chunks)}
		if now := s.Collection(of.Namespace); now != nil {
			counts.After = now.Count().Chunks
		}
		list = append(list, counts)
	}
	return list
}
