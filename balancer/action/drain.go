package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
)

// Drain empties a shard.
type Drain struct {
	// Shard is required, except with ResumeJournal.
	Shard catalog.ShardID
	// Remove removes the shard from the cluster once the shard is empty. Without Remove, the shard is
	// not marked as draining.
	Remove bool
	// MovePrimaries moves the databases whose primary is the shard, and the unsharded collections on
	// the shard.
	MovePrimaries bool
	RunOptions
}

// Validate refuses options that exclude each other.
func (d Drain) Validate() error {
	if d.Shard == "" && d.ResumeJournal == "" {
		return refuse("drain needs {shard}")
	}
	return d.RunOptions.validate()
}

// goalReachedError says that the goal was already reached when the run began.
type goalReachedError struct{ what string }

func (e *goalReachedError) Error() string { return e.what }

// Run makes a plan and executes it. If the shard was to be removed and is removed already, Run
// succeeds.
func (d Drain) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := d.Validate(); err != nil {
		return PlanResult{}, err
	}
	reporter := &serialReporter{next: r}
	var end *drainHooks
	result, err := d.newGoalRun(c, reporter, &end).run(ctx, c, reporter)
	already, ok := errors.AsType[*goalReachedError](err)
	if d.PreflightOnly && result.Preflight != nil {
		return result, err
	}
	if ok {
		result, err = PlanResult{Finished: true, AlreadyReachedText: already.what}, nil
		if !d.DryRun && !c.SimulatesChanges {
			err = c.releaseLeftoverLease(ctx)
		}
	}
	if end != nil {
		result.Warning = end.warning
		result.NotUndoable = end.warning != "" || d.Remove && result.Finished
	}
	if result.Shard = d.Shard; result.Finished || result.PlanID != "" {
		removed := d.Remove && result.Finished
		result.Removed = &removed
	}
	return result, err
}

// newGoalRun returns the goal of a run. The run sets *completion when it begins.
func (d *Drain) newGoalRun(c Cluster, r *serialReporter, completion **drainHooks) goalRun {
	var alsoMoves func(context.Context) ([]string, error)
	if d.MovePrimaries {
		alsoMoves = func(ctx context.Context) ([]string, error) { return d.unshardedOn(ctx, c) }
	}
	return goalRun{
		kind: plan.Drain, RunOptions: d.RunOptions, otherMovedNamespaces: alsoMoves,
		goal:         func(ctx context.Context, s *catalog.Snapshot) (plan.Goal, error) { return d.goal(ctx, c, s) },
		checkPlan:    d.adoptPlanShard,
		preflightRun: preflight.Run{Shard: d.Shard, Remove: d.Remove, MovePrimaries: d.MovePrimaries},
		addHooks: func(l *leasedRun, work *apply.Execution, o *apply.Options) {
			*completion = &drainHooks{
				leasedRun: l, shard: work.Plan.Goal.Shard, remove: d.Remove, movePrimaries: d.MovePrimaries,
				limited: l.pace.mayEndAtLimit(work.Plan.Totals), journal: work, note: r.note,
				gate: o.Gate, retries: readRetry{l.Clock, r},
			}
			o.OnReady, o.BeforeBalancingResumes = (*completion).markBeforeSteps, (*completion).markDraining
			o.OnAllDone, o.OnUnfinished = (*completion).finish, (*completion).unmarkOrWarn
		},
	}
}

func (d *Drain) adoptPlanShard(p *plan.Plan) error {
	if of := p.Goal.Shard; d.Shard != "" && d.Shard != of {
		return refuse("the journal is for {shard} %s, not %s", of, d.Shard)
	}
	d.Shard = p.Goal.Shard
	return nil
}

func (d Drain) goal(ctx context.Context, c Cluster, s *catalog.Snapshot) (plan.Goal, error) {
	if _, ok := s.Shard(d.Shard); !ok && d.Remove && WasRemoved(ctx, c.Client, d.Shard) {
		return plan.Goal{}, &goalReachedError{fmt.Sprintf("Shard %s has been removed already.", d.Shard)}
	}
	return plan.Goal{Kind: plan.Drain, Shard: d.Shard}, nil
}

// WasRemoved reports whether config.changelog says that a shard was removed.
func WasRemoved(ctx context.Context, client *mongo.Client, id catalog.ShardID) bool {
	entry := bson.D{{Key: "what", Value: "removeShard"}, {Key: "details.shard", Value: string(id)}}
	return client.Database("config").Collection("changelog").FindOne(ctx, entry).Err() == nil
}

// drainHooks handles the parts of a drain besides moving ranges: the draining mark, unsharded
// data, and the removal of the shard.
type drainHooks struct {
	*leasedRun
	shard                 catalog.ShardID
	remove, movePrimaries bool
	limited               bool // the run may end at a limit
	gate                  *pace.Gate
	journal               *apply.Execution
	note                  func(text string)
	retries               readRetry
	removalUnanswered     bool // a command to remove the shard had no answer
	// marked says that this run, or an earlier run with the same journal, has marked the shard. warning
	// is the text about a shard that remains marked.
	marked  bool
	warning string
}

// markBeforeSteps marks the shard before the first step, so that no new data arrive. If the run ends
// early, the cluster's balancer continues to drain the shard without limits. Therefore a run with
// limits sets the mark at the end if no command can remove it.
func (d *drainHooks) markBeforeSteps(ctx context.Context) error {
	if d.limited && !d.canUnmark() {
		return nil
	}
	return d.markDraining(ctx)
}

// canUnmark reports whether the release has a command that removes the mark.
func (d *drainHooks) canUnmark() bool { return d.lease.RouterRelease().HasDrainCommands() }

// markDraining marks the shard as draining if the shard is to be removed.
func (d *drainHooks) markDraining(ctx context.Context) error {
	if !d.remove {
		return nil
	}
	state, found, err := d.lease.ReadDrain(ctx, d.shard)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("the cluster has no shard %s any more", d.shard)
	case state.State != diagnosis.DrainOff:
		return nil // before 8.3, repeating the command would remove an empty shard
	}
	if err := d.record(apply.RecordDraining); err != nil {
		return err
	}
	_, err = d.lease.RunAdminCommand(ctx, live.StartDrainCommand(d.lease.RouterRelease(), d.shard))
	if err == nil {
		d.note(fmt.Sprintf("Shard %s is marked as draining.", d.shard))
	}
	return err
}

// record writes a change of the shard to the journal.
func (d *drainHooks) record(what apply.RecordKind) error {
	d.marked = what == apply.RecordDraining
	if d.journal == nil {
		return nil
	}
	return d.journal.RecordShard(what, d.shard, d.Clock.Now())
}

// unmarkOrWarn removes the mark that this run has set, or warns that the cluster's balancer continues
// to drain the shard.
func (d *drainHooks) unmarkOrWarn(ctx context.Context) error {
	state, found, err := d.lease.ReadDrain(ctx, d.shard)
	if err != nil || !found || state.State == diagnosis.DrainOff {
		return err
	}
	if d.journal != nil {
		earlier, _ := d.journal.DrainingShard()
		d.marked = d.marked || earlier == d.shard
	}
	if d.marked && d.canUnmark() {
		if _, err := d.lease.RunAdminCommand(ctx, live.StopDrainCommand(d.shard)); err != nil {
			return err
		}
		d.note(fmt.Sprintf("Shard %s is not marked as draining any more: it is not empty yet.", d.shard))
		return d.record(apply.RecordDrainStopped)
	}
	d.warning = fmt.Sprintf("Shard %s is still marked as draining: the cluster's balancer keeps moving data off it, "+
		"without the limits of this run, unless it is stopped: sh.stopBalancer()", d.shard)
	if d.canUnmark() {
		d.warning += fmt.Sprintf(", or sh.stopDrain(%q)", string(d.shard))
	} else {
		d.warning += "; servers before 8.3 have no command that takes the mark back"
	}
	d.warning += "."
	return nil
}

// finish calls finishOnce again after temporary failures.
func (d *drainHooks) finish(ctx context.Context) error {
	_, err := retryRead(ctx, d.retries, func() (any, error) { return nil, d.finishOnce(ctx) })
	return err
}

// finishOnce moves the unsharded data that the run may move off the shard, and removes the shard. The error
// says what has to be moved by hand.
func (d *drainHooks) finishOnce(ctx context.Context) error {
	if d.removalUnanswered {
		return d.removeShard(ctx)
	}
	left, others, err := d.readRemaining(ctx)
	if err != nil {
		return err
	}
	move := left
	if !d.movePrimaries {
		move, left = separateShardshData(left)
	}
	if d.movePrimaries || d.remove {
		if err := MoveUnsharded(ctx, d.sendAdmin, move, others, d.note); err != nil {
			return err
		}
	}
	if !d.movePrimaries && len(left.Commands()) > 0 {
		return newUnshardedLeftError(left.OperatorFinding().Text())
	}
	if !d.remove {
		return nil
	}
	if err := d.markDraining(ctx); err != nil { // another client may have stopped the draining
		return err
	}
	return d.removeShard(ctx)
}

// unshardedLeftError says what a drain leaves on its shard as it is not sharded; an option moves it.
type unshardedLeftError struct{ OptionError }

func newUnshardedLeftError(left string) *unshardedLeftError {
	return &unshardedLeftError{OptionError{"%s; {movePrimaries} moves it", []any{left}}}
}

// sendAdmin sends a command that moves data, once the gate is open.
func (d *drainHooks) sendAdmin(ctx context.Context, command bson.D) (bson.Raw, error) {
	for d.gate != nil {
		if err := d.gate.AwaitUnheld(ctx); err != nil {
			return nil, err
		}
		if reply, err := d.lease.RunAdminCommand(ctx, command); err == nil || !d.gate.MustReenter(ctx, err) {
			return reply, err
		}
	}
	return d.lease.RunAdminCommand(ctx, command)
}

// readRemaining reads the remaining data of the shard, and which shards can take them.
func (d *drainHooks) readRemaining(ctx context.Context) (left diagnosis.Drain, others TargetShards, err error) {
	s, err := live.NewReader(d.Client, live.ReaderOptions{Parts: live.BalancerParts}).Read(ctx)
	if err != nil {
		return left, nil, err
	}
	s = apply.WithBalancingResumed(s, d.lease.PausedCollections())
	others = TargetShardsFor(s, d.shard)
	left = remainingOn(s, d.shard)
	left.JumboToForce, left.ForceCommands = 0, nil // the plan is done and has reported the chunks that it left
	return left, others, nil
}

// remainingOn returns the data that would have to leave a shard if the shard were drained.
func remainingOn(s *catalog.Snapshot, id catalog.ShardID) diagnosis.Drain {
	shard, _ := s.Shard(id)
	marked := shard.Draining
	shard.Draining, shard.ReportedDrain = true, nil
	left := diagnosis.DrainOf(s, shard)
	left.NotMarked = !marked
	return left
}

// unshardedOn returns the unsharded collections that leave a shard together with its databases.
func (d *Drain) unshardedOn(ctx context.Context, c Cluster) (names []string, err error) {
	s, err := live.NewReader(c.Client, live.ReaderOptions{Parts: live.BalancerParts}).Read(ctx)
	if err != nil {
		return nil, err
	}
	left := remainingOn(s, d.Shard)
	_, others := separateShardshData(left)
	names = others.Collections
	for _, db := range others.Databases {
		list, err := c.Client.Database(db).ListCollectionSpecifications(ctx, bson.D{{Key: "type", Value: "collection"}})
		if err != nil {
			return nil, err
		}
		for _, spec := range list {
			ns := db + "." + spec.Name
			of := s.Collection(ns)
			if (of == nil || of.Unsplittable) && !strings.HasPrefix(spec.Name, "system.") && !slices.Contains(names, ns) {
				names = append(names, ns)
			}
		}
	}
	return names, nil
}

// removalPause is the wait before the state of a shard that can't be removed yet is read again.
const removalPause = 2 * time.Second

// removeShard removes the shard. A config server that leaves must have deleted the ranges it has given
// away; removeShard waits for that. If a chunk has arrived whose migration had begun before the shard
// was marked as draining, the error is an *apply.ChangedError.
func (d *drainHooks) removeShard(ctx context.Context) error {
	noted := false
	for {
		state, found, err := d.lease.ReadDrain(ctx, d.shard)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if state.Chunks > 0 {
			return &apply.ChangedError{What: state.String()}
		}
		why := string(state.State)
		if state.IsDone() {
			reply, err := d.lease.RunAdminCommand(ctx, live.CommitDrainCommand(d.lease.RouterRelease(), d.shard))
			if d.removalUnanswered = errors.As(err, new(*mongoerr.UnansweredError)); err != nil {
				return err
			}
			if text, _ := reply.Lookup("state").StringValueOK(); text == "completed" ||
				d.lease.RouterRelease().HasDrainCommands() {
				break
			}
			why = reply.String()
		}
		if !noted {
			noted = true
			d.note(fmt.Sprintf("Shard %s can't be removed yet (%s): waiting.", d.shard, why))
		}
		if err := d.Clock.Sleep(ctx, removalPause); err != nil {
			return context.Cause(ctx)
		}
	}
	d.note(fmt.Sprintf("Shard %s is removed.", d.shard))
	return d.record(apply.RecordShardRemoved)
}
