package action

import (
	"context"
	"path/filepath"
	"strings"

	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
)

// Apply carries a plan out, goes on with one, or undoes one.
type Apply struct {
	// Plan is what to carry out; nil with Resume or Undo.
	Plan *plan.Plan
	// PlanFile is the file that it was in, beside which the journal lies; empty for
	// none.
	PlanFile string
	// Undo is the journal of what is to be undone.
	Undo string
	// OnChange is what becomes of the run when the cluster has moved on; empty is
	// apply.Refuse.
	OnChange apply.OnChange
	RunOptions
}

// Validate refuses options that exclude each other.
func (a Apply) Validate() error {
	switch {
	case a.Resume != "" && a.Undo != "":
		return refuse("{resume} and {undo} exclude each other")
	case a.Plan != nil && a.Resume != "":
		return refuse("a plan and {resume} exclude each other: the journal has its plan")
	case a.Plan != nil && a.Undo != "":
		return refuse("a plan and {undo} exclude each other: the journal has its plan")
	case a.Journal != "" && (a.Resume != "" || a.Undo != ""):
		return refuse("{journal} is for a new plan: {resume} and {undo} name their journal")
	case a.OnChange != "" && a.OnChange != apply.Refuse && a.OnChange != apply.Replan:
		return refuse("{onChange} must be refuse or replan, not %q", a.OnChange)
	}
	return a.RunOptions.validate()
}

// Run carries the plan out.
func (a Apply) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := a.Validate(); err != nil {
		return PlanResult{}, err
	}
	if a.Plan == nil && a.Resume == "" && a.Undo == "" {
		return PlanResult{}, refuse("give a plan, or {resume} or {undo} with a journal")
	}
	if a.Journal == "" && a.PlanFile != "" {
		a.Journal = strings.TrimSuffix(a.PlanFile, filepath.Ext(a.PlanFile)) + ".journal"
	}
	return job{
		verb: "apply", RunOptions: a.RunOptions, onChange: a.OnChange,
		open: func() (*apply.Execution, error) { return a.open(c) },
	}.run(ctx, c, &serial{next: r})
}

func (a Apply) open(c Cluster) (*apply.Execution, error) {
	switch {
	case a.Resume != "":
		return apply.Resume(a.Resume)
	case a.Undo != "":
		return apply.PrepareUndo(a.Undo)
	}
	return a.begin(c, a.Plan)
}
