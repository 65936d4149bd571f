package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// Turn is a cluster for the one process whose turn it is to change it: it holds the
// lease of the cluster's engine. Every command that changes something comes right
// after a renewal of the lease, so that who stood still for too long does nothing
// any more. Collections are switched off with a note in the lease, which outlives
// the process.
type Turn struct {
	*Steps
	lease *Lease
	held  context.Context
	lose  context.CancelCauseFunc
	leave func(context.Context) error

	mu sync.Mutex // holds what is noted in the lease

	moving sync.Mutex          // holds
	moves  []*policy.Migration // those of the engine that are under way
}

var (
	_ apply.Cluster          = (*Turn)(nil)
	_ balancer.SharedCluster = (*Turn)(nil)
)

// engineLease is the name of the one lease of a cluster: a shard takes part in one
// migration at a time, whatever collection it is of.
const engineLease = "engine"

// leaseLasts is how long a lease lasts from each renewal.
const leaseLasts = time.Minute

// Self is this process as the holder of a lease.
func Self(doing string) Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	return Holder{Host: host, PID: os.Getpid(), Doing: doing, Process: thisProcess()}
}

// TakeTurn takes the lease of the cluster behind a client, and waits for nobody: the
// error is a *HeldError while somebody else has it. Commands go through the Asker.
func TakeTurn(ctx context.Context, client *mongo.Client, a Asker, h Holder) (*Turn, error) {
	return takeTurn(ctx, client, a, LeaseOptions{Name: engineLease, For: leaseLasts, Holder: h})
}

func takeTurn(ctx context.Context, client *mongo.Client, a Asker, o LeaseOptions) (*Turn, error) {
	steps, err := NewSteps(ctx, a)
	if err != nil {
		return nil, err
	}
	lease, err := AcquireLease(ctx, LeaseCollectionOf(client), o)
	if err != nil {
		return nil, err
	}
	steps.doer.asker = sureAsker{a, lease}
	steps.doer.comment = "shardsh " + lease.token.Hex()
	t := &Turn{Steps: steps, lease: lease}
	steps.doer.ready = t.renew
	t.held, t.leave = lease.Keep(context.WithoutCancel(ctx))
	t.held, t.lose = context.WithCancelCause(t.held)
	return t, nil
}

// renew makes sure that it is our turn yet. Once it is not, everything in Held ends.
func (t *Turn) renew(ctx context.Context) error {
	if err := context.Cause(t.held); err != nil {
		return err
	}
	return t.lost(t.lease.Renew(ctx))
}

// lost returns an error of the lease, after which it may not be our turn any more.
func (t *Turn) lost(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		t.lose(err)
	}
	return err
}

// Holder is this process, with the times of its lease on the cluster's clock.
func (t *Turn) Holder() Holder { return t.lease.Holder() }

// Held ends when somebody else has the lease, with ErrLeaseLost for its cause.
func (t *Turn) Held() context.Context { return t.held }

// PausedByUs returns the collections that are noted in the cluster's lease as switched
// off by an engine of ours, which is at work or has been killed. Whoever may not read
// the lease learns of none.
func PausedByUs(ctx context.Context, client *mongo.Client) []string {
	var doc leaseDoc
	if LeaseCollectionOf(client).FindOne(ctx, bson.D{{Key: "_id", Value: engineLease}}).Decode(&doc) != nil {
		return nil
	}
	return doc.Paused
}

// Leftover returns the collections that are switched off by this turn, or by one
// before it that ended without switching them on.
func (t *Turn) Leftover() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease.Paused()
}

// ending is how long giving the turn back may take. The lease runs out by itself, and
// says what is switched off. Who does not wait for a step under way does not wait for
// that either.
const (
	ending  = 30 * time.Second
	hurried = 200 * time.Millisecond
)

// Leave ends the turn after a run, whose ctx may have ended, as may have hard, which
// is nil or ends what is under way.
func (t *Turn) Leave(ctx, hard context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	timer := time.AfterFunc(ending, cancel)
	defer timer.Stop()
	if hard != nil && t.held.Err() == nil {
		defer context.AfterFunc(hard, func() { timer.Reset(hurried) })()
	}
	return t.End(ctx)
}

// End switches on what is still switched off, and gives the lease back. What was
// lost is the business of who has it now.
func (t *Turn) End(ctx context.Context) error {
	var errs []error
	for _, ns := range t.Leftover() {
		if t.held.Err() != nil {
			break
		}
		if err := t.SetBalancing(ctx, ns, true); err != nil {
			errs = append(errs, fmt.Errorf("switching the balancing of %s on again: %w; sh.enableBalancing(%q)", ns, err, ns))
		}
	}
	return errors.Join(append(errs, t.leave(ctx))...)
}

// Do sends one command while it is our turn.
func (t *Turn) Do(ctx context.Context, c apply.Command) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	if c.Kind == plan.Move {
		defer t.begun(policy.Migration{Namespace: c.Namespace, From: c.From, To: c.To})()
	}
	return t.Steps.Do(ctx, c)
}

// Release is that of the mongos.
func (t *Turn) Release() catalog.Release { return t.doer.release }

// Admin sends a command that changes something to the database admin while it is
// our turn.
func (t *Turn) Admin(ctx context.Context, command bson.D) (bson.Raw, error) {
	if err := t.renew(ctx); err != nil {
		return nil, err
	}
	return t.doer.ask(ctx, "admin", command)
}

// SetBalancing switches the balancing of a collection, with a note in the lease as
// long as it is off.
func (t *Turn) SetBalancing(ctx context.Context, ns string, on bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	noted := slices.DeleteFunc(t.lease.Paused(), func(n string) bool { return n == ns })
	if !on {
		if err := t.lost(t.lease.NotePaused(ctx, append(noted, ns))); err != nil {
			return err
		}
	} else if err := t.renew(ctx); err != nil {
		return err
	}
	if err := t.Steps.SetBalancing(ctx, ns, on); err != nil || !on {
		return err
	}
	return t.lost(t.lease.NotePaused(ctx, noted))
}

// With gives the cluster to an exchange of the engine.
func (t *Turn) With(exchange func(balancer.Cluster)) { exchange(turnDoer{t.doer, t}) }

// Move is the engine's, while it is our turn.
func (t *Turn) Move(ctx context.Context, m policy.Migration) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	defer t.begun(m)()
	return t.doer.Move(ctx, m)
}

// Act is the engine's, while it is our turn.
func (t *Turn) Act(ctx context.Context, a policy.Action) policy.ActionResult {
	if err := t.renew(ctx); err != nil {
		return policy.ActionResult{Err: err}
	}
	return t.doer.Act(ctx, a)
}

// turnDoer has the splits of an exchange renew the lease, too.
type turnDoer struct {
	*Doer
	turn *Turn
}

// Split splits while it is our turn.
func (t turnDoer) Split(ctx context.Context, s policy.Split) error {
	if err := t.turn.renew(ctx); err != nil {
		return err
	}
	return t.Doer.Split(ctx, s)
}
