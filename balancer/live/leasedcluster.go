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

// LeasedCluster is a cluster for the one process whose turn it is to change it: it holds the
// lease of the cluster's engine. Every command that changes something comes right
// after a renewal of the lease, so that who stood still for too long does nothing
// any more. Collections are switched off with a note in the lease, which outlives
// the process.
type LeasedCluster struct {
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
	_ apply.Cluster          = (*LeasedCluster)(nil)
	_ balancer.SharedCluster = (*LeasedCluster)(nil)
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

// Acquire takes the lease of the cluster behind a client, and waits for nobody: the
// error is a *HeldError while somebody else has it. Commands go through the command runner.
func Acquire(ctx context.Context, client *mongo.Client, a CommandRunner, h Holder) (*LeasedCluster, error) {
	return acquire(ctx, client, a, LeaseOptions{Name: engineLease, For: leaseLasts, Holder: h})
}

func acquire(ctx context.Context, client *mongo.Client, a CommandRunner, o LeaseOptions) (*LeasedCluster, error) {
	steps, err := NewSteps(ctx, a)
	if err != nil {
		return nil, err
	}
	lease, err := AcquireLease(ctx, LeaseCollectionOf(client), o)
	if err != nil {
		return nil, err
	}
	steps.executor.commands = leasedRunner{a, lease}
	steps.executor.comment = "shardsh " + lease.token.Hex()
	t := &LeasedCluster{Steps: steps, lease: lease}
	steps.executor.ready = t.renew
	t.held, t.leave = lease.KeepAlive(context.WithoutCancel(ctx))
	t.held, t.lose = context.WithCancelCause(t.held)
	return t, nil
}

// renew makes sure that it is our turn yet. Once it is not, everything in Held ends.
func (t *LeasedCluster) renew(ctx context.Context) error {
	if err := context.Cause(t.held); err != nil {
		return err
	}
	return t.lost(t.lease.Renew(ctx))
}

// lost returns an error of the lease, after which it may not be our turn any more.
func (t *LeasedCluster) lost(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		t.lose(err)
	}
	return err
}

// Holder is this process, with the times of its lease on the cluster's clock.
func (t *LeasedCluster) Holder() Holder { return t.lease.Holder() }

// Held ends when somebody else has the lease, with ErrLeaseLost for its cause.
func (t *LeasedCluster) Held() context.Context { return t.held }

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
func (t *LeasedCluster) Leftover() []string {
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
func (t *LeasedCluster) Leave(ctx, hard context.Context) error {
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
func (t *LeasedCluster) End(ctx context.Context) error {
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
func (t *LeasedCluster) Do(ctx context.Context, c apply.Command) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	if c.Kind == plan.Move {
		defer t.begun(policy.Migration{Namespace: c.Namespace, From: c.From, To: c.To})()
	}
	return t.Steps.Do(ctx, c)
}

// Release is that of the mongos.
func (t *LeasedCluster) Release() catalog.Release { return t.executor.release }

// Admin sends a command that changes something to the database admin while it is
// our turn.
func (t *LeasedCluster) Admin(ctx context.Context, command bson.D) (bson.Raw, error) {
	if err := t.renew(ctx); err != nil {
		return nil, err
	}
	return t.executor.ask(ctx, "admin", command)
}

// SetBalancing switches the balancing of a collection, with a note in the lease as
// long as it is off.
func (t *LeasedCluster) SetBalancing(ctx context.Context, ns string, on bool) error {
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
func (t *LeasedCluster) With(exchange func(balancer.Cluster)) {
	exchange(leasedExecutor{t.executor, t})
}

// Move is the engine's, while it is our turn.
func (t *LeasedCluster) Move(ctx context.Context, m policy.Migration) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	defer t.begun(m)()
	return t.executor.Move(ctx, m)
}

// Act is the engine's, while it is our turn.
func (t *LeasedCluster) Act(ctx context.Context, a policy.Action) policy.ActionResult {
	if err := t.renew(ctx); err != nil {
		return policy.ActionResult{Err: err}
	}
	return t.executor.Act(ctx, a)
}

// leasedExecutor has the splits of an exchange renew the lease, too.
type leasedExecutor struct {
	*Executor
	cluster *LeasedCluster
}

// Split splits while it is our turn.
func (t leasedExecutor) Split(ctx context.Context, s policy.Split) error {
	if err := t.cluster.renew(ctx); err != nil {
		return err
	}
	return t.Executor.Split(ctx, s)
}
