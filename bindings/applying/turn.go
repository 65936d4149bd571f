package applying

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/balancing"
)

// Turn is a cluster that it is our turn to carry plans out on.
type Turn struct {
	client  *mongo.Client
	cluster apply.Cluster
	turn    *live.LeasedCluster // nil in a dry run, which needs none
}

// TakeTurn takes the turn on the cluster behind a client, to do what a few words
// say. A dry run changes nothing, not even a lease. The error is a *live.HeldError
// while somebody else is at work.
func TakeTurn(
	ctx context.Context, client *mongo.Client, a live.CommandRunner, doing string, dryRun bool,
) (*Turn, error) {
	t := &Turn{client: client}
	var err error
	if dryRun {
		t.cluster, err = live.NewSteps(ctx, a)
		return t, err
	}
	t.turn, err = live.Acquire(ctx, client, a, live.Self(doing))
	t.cluster = t.turn
	return t, err
}

// TidyUp gives back the turn of a run that was killed when all was done but that: who
// finds nothing left to do takes none. One of somebody who is at work stays.
func TidyUp(ctx context.Context, client *mongo.Client) error {
	// Whoever may not read the lease has none to give back.
	if n, _ := live.LeaseCollectionOf(client).CountDocuments(ctx, bson.D{}); n == 0 {
		return nil
	}
	t, err := TakeTurn(ctx, client, live.NewCommandRunner(client), "tidying up", false)
	if errors.As(err, new(*live.HeldError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.End(ctx)
}

// Holder is who holds the lease; false in a dry run.
func (t *Turn) Holder() (live.Holder, bool) {
	if t.turn == nil {
		return live.Holder{}, false
	}
	return t.turn.Holder(), true
}

// Errand is what is to be done in a turn.
type Errand struct {
	Work    *apply.Execution
	Options apply.Options
	// Insist is closed when the move under way is not to be waited for: the servers
	// are asked to stop it. Nil never is.
	Insist <-chan struct{}
	// Note tells people something in a line.
	Note func(string)
}

// Run does what there is to do, and gives the turn back. New plans are made from the
// cluster as it is. Once the turn is lost nothing is sent any more, and the error
// says so.
func (t *Turn) Run(ctx context.Context, e Errand) (apply.Result, error) {
	o := e.Options
	o.Replan = t.replan
	if t.turn == nil {
		return e.Work.Run(ctx, t.cluster, o)
	}
	held := t.turn.Held()
	hard, leave := context.WithCancelCause(held)
	defer leave(nil)
	if o.Hard != nil {
		defer context.AfterFunc(o.Hard, func() { leave(context.Cause(o.Hard)) })()
	}
	given := o.Hard
	o.Hard = hard
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(held, func() { stop(context.Cause(held)) })()
	insisted := t.insist(cmp.Or(given, context.WithoutCancel(ctx)), e)
	result, err := e.Work.Run(running, t.cluster, o)
	insisted()
	if given != nil && given.Err() != nil && e.Insist != nil {
		e.Note(balancing.GoesOn(t.turn))
	}
	if lost := context.Cause(held); lost != nil && !errors.Is(err, lost) && (err != nil || !result.Finished) {
		err = errors.Join(lost, err)
	}
	return result, errors.Join(err, t.turn.Leave(ctx, given))
}

// insist waits until the servers are to stop what is under way, or until the
// function that it returns is called.
func (t *Turn) insist(hard context.Context, e Errand) (done func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-e.Insist:
			balancing.Interrupt(hard, t.turn, e.Note)
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// Counts returns how many chunks collections have.
func (t *Turn) Counts(ctx context.Context, namespaces []string) (map[string]int64, error) {
	s, err := live.NewCommandReader(live.NewCommandRunner(t.client), live.ReaderOptions{
		Parts: live.Collections | live.Counts, Required: live.All, Namespaces: namespaces,
	}).Read(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, ns := range namespaces {
		if c := s.Collection(ns); c != nil {
			counts[ns] = c.Count().Chunks
		}
	}
	return counts, nil
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
