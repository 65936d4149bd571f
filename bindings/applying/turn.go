package applying

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// Turn is a cluster that it is our turn to carry plans out on.
type Turn struct {
	client  *mongo.Client
	cluster apply.Cluster
	turn    *live.Turn // nil in a dry run, which needs none
}

// TakeTurn takes the turn on the cluster behind a client, to do what a few words
// say. A dry run changes nothing, not even a lease. The error is a *live.HeldError
// while somebody else is at work.
func TakeTurn(ctx context.Context, client *mongo.Client, a live.Asker, doing string, dryRun bool) (*Turn, error) {
	t := &Turn{client: client}
	var err error
	if dryRun {
		t.cluster, err = live.NewSteps(ctx, a)
		return t, err
	}
	t.turn, err = live.TakeTurn(ctx, client, a, live.Self(doing))
	t.cluster = t.turn
	return t, err
}

// Run carries out what there is to do, and gives the turn back. New plans are made
// from the cluster as it is. Once the turn is lost nothing is sent any more, and the
// error says so. What finish does, unless it is nil, belongs to the turn and comes
// when all steps are done; a dry run leaves it out.
func (t *Turn) Run(ctx context.Context, w *apply.Work, o apply.Options, finish func(context.Context) error) (
	apply.Result, error) {
	o.Replan = t.replan
	if t.turn == nil {
		return w.Run(ctx, t.cluster, o)
	}
	held := t.turn.Held()
	hard, leave := context.WithCancelCause(held)
	defer leave(nil)
	if o.Hard != nil {
		defer context.AfterFunc(o.Hard, func() { leave(context.Cause(o.Hard)) })()
	}
	o.Hard = hard
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(held, func() { stop(context.Cause(held)) })()
	result, err := w.Run(ctx, t.cluster, o)
	if err == nil && result.Finished && finish != nil {
		err = finish(ctx)
	}
	if lost := context.Cause(held); lost != nil && !errors.Is(err, lost) && (err != nil || !result.Finished) {
		err = errors.Join(lost, err)
	}
	return result, errors.Join(err, t.turn.Leave(ctx, o.Hard))
}

// End gives the turn back.
func (t *Turn) End(ctx context.Context) error {
	if t.turn == nil {
		return nil
	}
	return t.turn.Leave(ctx, nil)
}

// replan makes a plan from the cluster as it is. What is switched off only because
// of us, or of one before us that was killed, counts as on.
func (t *Turn) replan(ctx context.Context, g plan.Goal, l plan.Limits, paused []string) (*plan.Plan, error) {
	s, err := live.NewReader(t.client, live.ReaderOptions{}).Read(ctx)
	if err != nil {
		return nil, live.ServerError(err)
	}
	if t.turn != nil {
		paused = slices.Concat(paused, t.turn.Leftover())
	}
	return plan.Make(apply.Resumed(s, paused), plan.Options{Goal: g, Limits: l, IgnoreWindow: true})
}
