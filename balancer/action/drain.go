package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// Drain empties a shard.
type Drain struct {
	// Shard is required, unless Resume has it.
	Shard catalog.ShardID
	// Remove takes the shard out of the cluster once it is empty. Only then it is
	// marked as draining.
	Remove bool
	// MovePrimaries moves the databases whose primary the shard is, and the
	// unsharded collections on it.
	MovePrimaries bool
	RunOptions
}

// Validate refuses options that exclude each other.
func (d Drain) Validate() error {
	if d.Shard == "" && d.Resume == "" {
		return refuse("drain needs {shard}")
	}
	return d.RunOptions.validate()
}

// alreadyError says that a goal was reached before there was a plan.
type alreadyError struct{ what string }

func (e *alreadyError) Error() string { return e.what }

// Run makes a plan and carries it out. A shard that was to be removed and has been is
// a success.
func (d Drain) Run(ctx context.Context, c Cluster, r Reporter) (PlanResult, error) {
	if err := d.Validate(); err != nil {
		return PlanResult{}, err
	}
	reporter := &serial{next: r}
	result, err := aim{
		kind: plan.Drain, RunOptions: d.RunOptions,
		goal: func(ctx context.Context, s *catalog.Snapshot) (plan.Goal, error) { return d.goal(ctx, c, s) },
		fits: (&d).fits,
		around: func(l *leased, p *plan.Plan) (before, after func(context.Context) error) {
			end := drainEnd{l, p.Goal.Shard, d.Remove, d.MovePrimaries, reporter.note}
			return end.start, end.finish
		},
	}.run(ctx, c, reporter)
	already, is := errors.AsType[*alreadyError](err)
	if is {
		result, err = PlanResult{Finished: true, Already: already.what}, nil
		if !d.DryRun && !c.Guarded {
			err = c.releaseLeftover(ctx)
		}
	}
	if result.Shard = d.Shard; result.Finished || result.Plan != "" {
		removed := d.Remove && result.Finished
		result.Removed = &removed
	}
	return result, err
}

func (d *Drain) fits(p *plan.Plan) error {
	if of := p.Goal.Shard; d.Shard != "" && d.Shard != of {
		return refuse("the journal is for {shard} %s, not %s", of, d.Shard)
	}
	d.Shard = p.Goal.Shard
	return nil
}

func (d Drain) goal(ctx context.Context, c Cluster, s *catalog.Snapshot) (plan.Goal, error) {
	if _, there := s.Shard(d.Shard); !there && d.Remove && WasRemoved(ctx, c.Client, d.Shard) {
		return plan.Goal{}, &alreadyError{fmt.Sprintf("Shard %s has been removed already.", d.Shard)}
	}
	return plan.Goal{Kind: plan.Drain, Shard: d.Shard}, nil
}

// WasRemoved reports whether the cluster's log says that a shard was removed.
func WasRemoved(ctx context.Context, client *mongo.Client, id catalog.ShardID) bool {
	entry := bson.D{{Key: "what", Value: "removeShard"}, {Key: "details.shard", Value: string(id)}}
	return client.Database("config").Collection("changelog").FindOne(ctx, entry).Err() == nil
}

// drainEnd is what belongs to the emptying of a shard besides its ranges.
type drainEnd struct {
	*leased
	shard                 catalog.ShardID
	remove, movePrimaries bool
	note                  func(text string)
}

// start marks the shard as draining, where it is to be removed: from then on nothing
// new comes to it.
func (d drainEnd) start(ctx context.Context) error {
	if !d.remove {
		return nil
	}
	state, found, err := d.lease.Drain(ctx, d.shard)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("the cluster has no shard %s any more", d.shard)
	case state.State != diagnosis.DrainOff:
		return nil // once more would remove it before 8.3, when it is empty
	}
	_, err = d.lease.Admin(ctx, live.StartDrainCommand(d.lease.Release(), d.shard))
	if err == nil {
		d.note(fmt.Sprintf("Shard %s is marked as draining.", d.shard))
	}
	return err
}

// finish moves what is left on a shard without ranges, as far as it may, and removes
// the shard. The error says what is to be moved by hand.
func (d drainEnd) finish(ctx context.Context) error {
	left, others, err := d.left(ctx)
	if err != nil {
		return err
	}
	move := left
	if !d.movePrimaries {
		move, left = splitOwn(left)
	}
	if d.movePrimaries || d.remove {
		if err := MoveUnsharded(ctx, d.lease.Admin, move, others, d.note); err != nil {
			return err
		}
	}
	if !d.movePrimaries && len(left.Commands()) > 0 {
		return refuse("%s; {movePrimaries} moves it", left.Remainder().Text())
	}
	if !d.remove {
		return nil
	}
	if err := d.start(ctx); err != nil { // somebody may have stopped it
		return err
	}
	return d.leaveCluster(ctx)
}

// left reads what is on the shard, and which shards can take it.
func (d drainEnd) left(ctx context.Context) (left diagnosis.Drain, others Takers, err error) {
	s, err := live.NewReader(d.Client, live.ReaderOptions{Parts: live.Current}).Read(ctx)
	if err != nil {
		return left, nil, err
	}
	s = apply.Resumed(s, d.lease.Leftover())
	others = TakersOf(s, d.shard)
	shard, _ := s.Shard(d.shard)
	shard.Draining, shard.Reported = true, nil // as if it had to be empty
	return diagnosis.DrainOf(s, shard), others, nil
}

// removalPause is how long to wait before a shard is looked at again that is not
// ready to go.
const removalPause = 2 * time.Second

// leaveCluster removes the shard. Config servers that leave must have deleted what
// they gave away, which is waited for. A chunk whose migration had begun before the
// shard was marked as draining is an *apply.ChangedError.
func (d drainEnd) leaveCluster(ctx context.Context) error {
	noted := false
	for {
		state, found, err := d.lease.Drain(ctx, d.shard)
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
		if state.Done() {
			reply, err := d.lease.Admin(ctx, live.CommitDrainCommand(d.lease.Release(), d.shard))
			if err != nil {
				return err
			}
			if text, _ := reply.Lookup("state").StringValueOK(); text == "completed" ||
				d.lease.Release().AtLeast(catalog.Release83) {
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
	return nil
}
