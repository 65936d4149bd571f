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

// LeasedCluster is a cluster that only this process may change: it holds the cluster's
// engine lease. It renews the lease right before each command that changes something, so
// that a process that was suspended for too long changes nothing. The lease records the
// collections whose balancing is switched off, and outlives the process.
type LeasedCluster struct {
	*Steps
	lease *Lease
	held  context.Context
	lose  context.CancelCauseFunc
	leave func(context.Context) error

	mu sync.Mutex // holds what is noted in the lease

	moving   sync.Mutex // holds what follows
	moves    []*moveUnderWay
	stopping func(StoppedMove) // hears of what is stopped; nil until that is asked for
}

var (
	_ apply.Cluster          = (*LeasedCluster)(nil)
	_ balancer.SharedCluster = (*LeasedCluster)(nil)
)

// engineLease is the name of the only lease of a cluster: a shard takes part in one
// migration at a time, whatever the collection.
const engineLease = "engine"

// leaseLasts is how long a lease lasts from each renewal.
const leaseLasts = time.Minute

// Self returns this process as the holder of a lease.
func Self(doing string) Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return Holder{Host: host, PID: os.Getpid(), Doing: doing, Process: thisProcess()}
}

// Acquire takes the lease of a client's cluster, without waiting: the error is a *HeldError
// while another process holds it. Commands go through the command runner.
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

// renew renews the lease. If it was lost, the context Held ends.
func (t *LeasedCluster) renew(ctx context.Context) error {
	if err := context.Cause(t.held); err != nil {
		return err
	}
	return t.lost(t.lease.Renew(ctx))
}

// lost returns an error of the lease, and ends Held if the lease was lost.
func (t *LeasedCluster) lost(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		t.lose(err)
	}
	return err
}

// Holder returns this process, with the times of its lease on the cluster's clock.
func (t *LeasedCluster) Holder() Holder { return t.lease.Holder() }

// Held returns a context that ends when another process has the lease, with the cause
// ErrLeaseLost.
func (t *LeasedCluster) Held() context.Context { return t.held }

// PausedByUs returns the collections whose balancing shardsh has switched off, by the
// cluster's lease: by a process that is running or was killed. It returns none if the user
// may not read the lease.
func PausedByUs(ctx context.Context, client *mongo.Client) []string {
	var doc leaseDoc
	if LeaseCollectionOf(client).FindOne(ctx, bson.D{{Key: "_id", Value: engineLease}}).Decode(&doc) != nil {
		return nil
	}
	return doc.Paused
}

// Leftover returns the collections whose balancing is switched off by this process, or by
// an earlier one that ended before it switched them on.
func (t *LeasedCluster) Leftover() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease.Paused()
}

// ending limits how long Leave takes, hurried how long after a hard stop. The lease
// expires by itself, and records what is switched off.
const (
	ending  = 30 * time.Second
	hurried = 200 * time.Millisecond
)

// Leave is End after a run, whose ctx may have ended. hard, if not nil, is a context that
// ends when the user does not want to wait any more.
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

// End switches the balancing of collections on again, and releases the lease. After the
// lease was lost, its new holder does so.
func (t *LeasedCluster) End(ctx context.Context) error {
	var errs []error
	for _, ns := range t.Leftover() {
		if t.held.Err() != nil {
			break
		}
		if err := t.SetBalancing(ctx, ns, true); err != nil {
			errs = append(errs, fmt.Errorf("re-enabling balancing of %s: %w; run sh.enableBalancing(%q)", ns, err, ns))
		}
	}
	return errors.Join(append(errs, t.leave(ctx))...)
}

// Do sends one command, after a renewal of the lease.
func (t *LeasedCluster) Do(ctx context.Context, c apply.Command) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	if c.Kind != plan.Move {
		return t.Steps.Do(ctx, c)
	}
	ended, err := t.begin(policy.Migration{Namespace: c.Namespace, From: c.From, To: c.To})
	if err != nil {
		return err
	}
	return ended(t.Steps.Do(ctx, c))
}

// Release returns the release of the mongos.
func (t *LeasedCluster) Release() catalog.Release { return t.executor.release }

// Admin sends a command that changes something to the database admin, after a renewal of
// the lease.
func (t *LeasedCluster) Admin(ctx context.Context, command bson.D) (bson.Raw, error) {
	if err := t.renew(ctx); err != nil {
		return nil, err
	}
	return t.executor.ask(ctx, "admin", command)
}

// SetBalancing switches the balancing of a collection. The lease records the collection
// while its balancing is off.
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

// Move moves a chunk for the engine, after a renewal of the lease.
func (t *LeasedCluster) Move(ctx context.Context, m policy.Migration) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	ended, err := t.begin(m)
	if err != nil {
		return err
	}
	return ended(t.executor.Move(ctx, m))
}

// Act runs an action for the engine, after a renewal of the lease.
func (t *LeasedCluster) Act(ctx context.Context, a policy.Action) policy.ActionResult {
	if err := t.renew(ctx); err != nil {
		return policy.ActionResult{Err: err}
	}
	return t.executor.Act(ctx, a)
}

// leasedExecutor is an Executor whose splits renew the lease.
type leasedExecutor struct {
	*Executor
	cluster *LeasedCluster
}

// Split splits a chunk, after a renewal of the lease.
func (t leasedExecutor) Split(ctx context.Context, s policy.Split) error {
	if err := t.cluster.renew(ctx); err != nil {
		return err
	}
	return t.Executor.Split(ctx, s)
}
