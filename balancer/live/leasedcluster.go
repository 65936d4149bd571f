package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer"
	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// LeasedCluster is a cluster that only this process may change: it holds the cluster's
// engine lease. Before each command that changes something it makes sure that the lease was
// renewed lately, and before each move it renews it, so that a process that was suspended
// for too long changes nothing. Beside the lease stand the collections whose balancing is
// disabled, and both outlive the process.
type LeasedCluster struct {
	*Steps
	lease *Lease
	held  context.Context
	lose  context.CancelCauseFunc
	leave func(context.Context) error

	// OnGiveBack, if not nil, is called from time to time while balancing is enabled again.
	OnGiveBack func(done, of int)

	switching sync.Mutex // held while balancing is switched
	mu        sync.Mutex // holds what follows
	paused    map[string]Paused
	kept      []string

	telling sync.Mutex // held while a caller hears of a move that is to stop

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

// AcquireDead is Acquire that watches a lease for as long as it lasts, and takes it if
// nobody renews it meanwhile. It calls waits before that.
func AcquireDead(
	ctx context.Context, client *mongo.Client, a CommandRunner, h Holder, waits func(*HeldError),
) (*LeasedCluster, error) {
	return acquire(ctx, client, a, LeaseOptions{Name: engineLease, For: leaseLasts, Holder: h, Watch: waits})
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
	t := &LeasedCluster{Steps: steps, lease: lease, paused: map[string]Paused{}}
	steps.executor.ready = t.renew
	paused, err := readPaused(ctx, lease.leases)
	if err != nil {
		leaving, cancel := toRelease(ctx)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("reading what is paused: %w", err), lease.Release(leaving))
	}
	for _, p := range paused {
		t.paused[p.Namespace] = p
	}
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

// ensure renews the lease unless that was done lately.
func (t *LeasedCluster) ensure(ctx context.Context) error {
	if t.held.Err() == nil && t.lease.recent() {
		return nil
	}
	return t.renew(ctx)
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

// Rest notes in the lease whether this process waits and has nothing under way, for a quiesce
// that waits for that.
func (t *LeasedCluster) Rest(ctx context.Context, on bool) error {
	if err := t.ensure(ctx); err != nil {
		return err
	}
	_, err := change(ctx, t.lease.leases, t.lease.mine(), false,
		bson.D{{Key: "$set", Value: bson.D{{Key: "resting", Value: on}}}})
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = t.lost(ErrLeaseLost)
	}
	return ServerError(err)
}

// Held returns a context that ends when another process has the lease, with the cause
// ErrLeaseLost.
func (t *LeasedCluster) Held() context.Context { return t.held }

// Do sends one command, after a renewal of the lease.
func (t *LeasedCluster) Do(ctx context.Context, c apply.Command) error {
	renew := t.ensure
	if c.Kind == plan.Move {
		renew = t.renew
	}
	if err := renew(ctx); err != nil {
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

// Admin sends a command that changes something to the database admin, after a renewal of
// the lease.
func (t *LeasedCluster) Admin(ctx context.Context, command bson.D) (bson.Raw, error) {
	if err := t.ensure(ctx); err != nil {
		return nil, err
	}
	return t.executor.ask(ctx, "admin", command)
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
func (t *LeasedCluster) Act(ctx context.Context, a policy.StreamAction) policy.ActionResult {
	if err := t.ensure(ctx); err != nil {
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
	if err := t.cluster.ensure(ctx); err != nil {
		return err
	}
	return t.Executor.Split(ctx, s)
}
