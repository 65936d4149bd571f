package action

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// Apply executes, resumes or undoes a plan.
type Apply struct {
	// Plan is the plan to execute; nil with ResumeJournal or UndoJournal.
	Plan *plan.Plan
	// PlanFile is the file of the plan. The journal is created beside it. It is empty if there is no
	// file.
	PlanFile string
	// UndoJournal is the journal of the run to be undone.
	UndoJournal string
	// ChangePolicy says how the run proceeds when the cluster has changed since the plan was made; empty is
	// apply.RefuseChanges.
	ChangePolicy apply.ChangePolicy
	// ApprovedHash is the hash of the approved plan, or the first digits of the hash. No other plan is
	// executed, and no command that is not in the plan. The run does not ask for confirmation.
	ApprovedHash string
	RunOptions
}

// Validate refuses options that exclude each other.
func (a Apply) Validate() error {
	switch {
	case a.ResumeJournal != "" && a.UndoJournal != "":
		return refuse("{resume} and {undo} exclude each other")
	case a.Plan != nil && a.ResumeJournal != "":
		return refuse("a plan and {resume} exclude each other: the journal has its plan")
	case a.Plan != nil && a.UndoJournal != "":
		return refuse("a plan and {undo} exclude each other: the journal has its plan")
	case a.Journal != "" && (a.ResumeJournal != "" || a.UndoJournal != ""):
		return refuse("{journal} is for a new plan: {resume} and {undo} name their journal")
	case a.ApprovedHash != "" && a.ChangePolicy == apply.ReplanOnChange:
		return refuse("{approve} and {onChange} replan exclude each other: a new plan is not approved")
	case a.ApprovedHash != "" && a.ForceJumbo:
		return refuse("{approve} and {forceJumbo} exclude each other: a plan does not say what is to be forced")
	case a.ChangePolicy != "" && a.ChangePolicy != apply.RefuseChanges && a.ChangePolicy != apply.ReplanOnChange:
		return refuse("{onChange} must be refuse or replan, not %q", a.ChangePolicy)
	}
	if a.ApprovedHash != "" {
		if err := plan.CheckApprovalFormat(a.ApprovedHash); err != nil {
			return refuse("{approve}: %v", err)
		}
	}
	return a.RunOptions.validate()
}

// Run executes the plan.
func (a Apply) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := a.Validate(); err != nil {
		return PlanResult{}, err
	}
	if a.Plan == nil && a.ResumeJournal == "" && a.UndoJournal == "" {
		return PlanResult{}, refuse("give a plan, or {resume} or {undo} with a journal")
	}
	if a.Journal == "" && a.PlanFile != "" {
		a.Journal = strings.TrimSuffix(a.PlanFile, filepath.Ext(a.PlanFile)) + ".journal"
	}
	if a.ApprovedHash != "" {
		a.Confirm = nil
	}
	return planRun{
		verb: "apply", RunOptions: a.RunOptions, changePolicy: a.ChangePolicy, approvedHash: a.ApprovedHash,
		openJournal: func() (*apply.Execution, error) { return a.open(ctx, c) }, addHooks: addUnmarkDrainingHook,
	}.run(ctx, c, &serialReporter{next: r})
}

func (a Apply) open(ctx context.Context, c Cluster) (*apply.Execution, error) {
	id, isJob := strings.CutPrefix(cmp.Or(a.UndoJournal, a.ResumeJournal), live.JobPrefix)
	switch {
	case isJob:
		return c.prepareJobUndo(ctx, id, a.ResumeJournal != "")
	case a.ResumeJournal != "":
		return apply.Resume(a.ResumeJournal)
	case a.UndoJournal != "":
		return apply.PrepareUndo(a.UndoJournal)
	}
	return a.createJournal(c, a.Plan)
}

// addUnmarkDrainingHook first removes the draining mark that the run to be undone has set: as long as
// the mark is set, nothing can move to the shard.
func addUnmarkDrainingHook(l *leasedRun, work *apply.Execution, o *apply.Options) {
	if work.Plan.Goal.Kind != plan.Undo {
		return
	}
	shard, removed := work.DrainingShard()
	if shard == "" && !removed {
		return
	}
	o.NoLongerDraining = shard
	o.BeforeRun = func(ctx context.Context) error {
		read := func(o live.ReaderOptions) (*catalog.Snapshot, error) {
			s, err := live.NewCommandReader(l.runner, o).Read(ctx)
			return s, live.ServerError(err)
		}
		release := l.steps.RouterRelease()
		state, found, err := live.ReadDrain(read, release, shard)
		switch {
		case err != nil:
			return err
		case !found:
			return &apply.BlockedError{
				What:   "the shard to which the undo moves ranges was removed from the cluster",
				Remedy: "add it again under its name (sh.addShard)",
			}
		case state.State == diagnosis.DrainOff:
			return nil
		case !release.HasDrainCommands():
			return &apply.BlockedError{
				What: fmt.Sprintf("shard %s is marked as draining, and servers before 8.3 have no command that takes that back",
					shard),
				Remedy: fmt.Sprintf("an administrator unsets the field: db.getSiblingDB(\"config\").shards.updateOne({ _id: %q }, "+
					"{ $unset: { draining: 1 } })", string(shard)),
			}
		}
		admin := l.runner.RunCommand // of a dry run, which sends no command
		if l.lease != nil {
			admin = func(ctx context.Context, _ string, command bson.D) (bson.Raw, error) {
				return l.lease.RunAdminCommand(ctx, command)
			}
		}
		if _, err := admin(ctx, "admin", live.StopDrainCommand(shard)); err != nil || l.lease == nil {
			return live.ServerError(err)
		}
		return work.RecordShard(apply.RecordDrainStopped, shard, l.Clock.Now())
	}
}
