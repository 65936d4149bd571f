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

// LeasedCluster is a cluster that only this process may change, because it holds the cluster's engine
// lease. Before each command that changes something, LeasedCluster makes sure that the lease was
// renewed recently, and it renews the lease before each move, so that a process that was suspended for
// too long changes nothing. The collections whose balancing is disabled are recorded beside the lease.
// Both records survive the process.
type LeasedCluster struct {
	*StepExecutor
	lease        *Lease
	heldCtx      context.Context
	cancelHeld   context.CancelCauseFunc
	releaseLease func(context.Context) error

	// OnRestoreProgress, if not nil, is called at intervals while balancing is being enabled again.
	OnRestoreProgress func(done, of int)

	balancingMu  sync.Mutex // held while balancing is switched
	mu           sync.Mutex // guards the fields below
	paused       map[string]PausedCollection
	leftDisabled []string

	reportMu sync.Mutex // held while the callback for stopped moves runs

	movesMu    sync.Mutex // guards the fields below
	moves      []*moveUnderWay
	onMoveStop func(MoveStop) // callback for stopped moves; nil until Interrupt
}

var (
	_ apply.Cluster              = (*LeasedCluster)(nil)
	_ balancer.ConcurrentCluster = (*LeasedCluster)(nil)
)

// engineLease is the name of the only engine lease of a cluster: a shard takes part in one migration at
// a time, whatever the collection.
const engineLease = "engine"

// leaseDuration is the time for which each renewal extends a lease.
const leaseDuration = time.Minute

// NewHolder returns this process as the holder of a lease.
func NewHolder(doing string) Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return Holder{Host: host, PID: os.Getpid(), Doing: doing, Process: thisProcess()}
}

// Acquire takes the lease of a client's cluster, without waiting. The error is a *HeldError while
// another process holds it. Commands are sent through a.
func Acquire(ctx context.Context, client *mongo.Client, a CommandRunner, h Holder) (*LeasedCluster, error) {
	return acquire(ctx, client, a, LeaseOptions{Name: engineLease, Duration: leaseDuration, Holder: h})
}

// AcquireAbandoned is like Acquire, but it watches a held lease for its whole duration, and takes it if it
// is not renewed. It calls waits before the watch.
func AcquireAbandoned(
	ctx context.Context, client *mongo.Client, a CommandRunner, h Holder, waits func(*HeldError),
) (*LeasedCluster, error) {
	return acquire(ctx, client, a, LeaseOptions{Name: engineLease, Duration: leaseDuration, Holder: h, OnWatch: waits})
}

func acquire(ctx context.Context, client *mongo.Client, a CommandRunner, o LeaseOptions) (*LeasedCluster, error) {
	steps, err := NewStepExecutor(ctx, a)
	if err != nil {
		return nil, err
	}
	lease, err := AcquireLease(ctx, LeaseCollectionOf(client), o)
	if err != nil {
		return nil, err
	}
	steps.executor.commands = abortableRunner{a, lease}
	steps.executor.comment = "shardsh " + lease.token.Hex()
	t := &LeasedCluster{StepExecutor: steps, lease: lease, paused: map[string]PausedCollection{}}
	steps.executor.beforeMove = t.renew
	paused, err := readPausedCollections(ctx, lease.leases)
	if err != nil {
		leaving, cancel := releaseContext(ctx)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("reading what is paused: %w", err), lease.Release(leaving))
	}
	for _, p := range paused {
		t.paused[p.Namespace] = p
	}
	t.heldCtx, t.releaseLease = lease.KeepAlive(context.WithoutCancel(ctx))
	t.heldCtx, t.cancelHeld = context.WithCancelCause(t.heldCtx)
	return t, nil
}

// renew renews the lease. If the lease was lost, LeaseContext ends.
func (l *LeasedCluster) renew(ctx context.Context) error {
	if err := context.Cause(l.heldCtx); err != nil {
		return err
	}
	return l.endIfLost(l.lease.Renew(ctx))
}

// ensureRenewed renews the lease unless it was renewed recently.
func (l *LeasedCluster) ensureRenewed(ctx context.Context) error {
	if l.heldCtx.Err() == nil && l.lease.renewedRecently() {
		return nil
	}
	return l.renew(ctx)
}

// endIfLost returns err, and ends LeaseContext if err says that the lease was lost.
func (l *LeasedCluster) endIfLost(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		l.cancelHeld(err)
	}
	return err
}

// Holder returns this process, with the times of its lease on the cluster's clock.
func (l *LeasedCluster) Holder() Holder { return l.lease.Holder() }

// SetIdle records in the lease whether this process is waiting without running operations, for a
// quiesce that waits for this process.
func (l *LeasedCluster) SetIdle(ctx context.Context, on bool) error {
	if err := l.ensureRenewed(ctx); err != nil {
		return err
	}
	_, err := updateLease(ctx, l.lease.leases, l.lease.ownFilter(), false,
		bson.D{{Key: "$set", Value: bson.D{{Key: "resting", Value: on}}}})
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = l.endIfLost(ErrLeaseLost)
	}
	return ServerError(err)
}

// LeaseContext returns a context that ends with the cause ErrLeaseLost when another process has the lease.
func (l *LeasedCluster) LeaseContext() context.Context { return l.heldCtx }

// Do sends one command, after a renewal of the lease.
func (l *LeasedCluster) Do(ctx context.Context, c apply.Command) error {
	renew := l.ensureRenewed
	if c.Kind == plan.Move {
		renew = l.renew
	}
	if err := renew(ctx); err != nil {
		return err
	}
	if c.Kind != plan.Move {
		return l.StepExecutor.Do(ctx, c)
	}
	ended, err := l.registerMove(policy.Migration{Namespace: c.Namespace, From: c.From, To: c.To})
	if err != nil {
		return err
	}
	return ended(l.StepExecutor.Do(ctx, c))
}

// RunAdminCommand sends a command that changes something to the database admin, after a renewal of
// the lease.
func (l *LeasedCluster) RunAdminCommand(ctx context.Context, command bson.D) (bson.Raw, error) {
	if err := l.ensureRenewed(ctx); err != nil {
		return nil, err
	}
	return l.executor.runCommand(ctx, "admin", command)
}

// WithCluster calls exchange with the cluster for the engine.
func (l *LeasedCluster) WithCluster(exchange func(balancer.Cluster)) {
	exchange(leasedExecutor{l.executor, l})
}

// Move moves a chunk for the engine, after a renewal of the lease.
func (l *LeasedCluster) Move(ctx context.Context, m policy.Migration) error {
	if err := l.renew(ctx); err != nil {
		return err
	}
	ended, err := l.registerMove(m)
	if err != nil {
		return err
	}
	return ended(l.executor.Move(ctx, m))
}

// Act runs an action for the engine, after a renewal of the lease.
func (l *LeasedCluster) Act(ctx context.Context, a policy.StreamAction) policy.StreamActionResult {
	if err := l.ensureRenewed(ctx); err != nil {
		return policy.StreamActionResult{Err: err}
	}
	return l.executor.Act(ctx, a)
}

// leasedExecutor is an Executor that renews the lease before splits.
type leasedExecutor struct {
	*Executor
	cluster *LeasedCluster
}

// Split splits a chunk, after a renewal of the lease.
func (l leasedExecutor) Split(ctx context.Context, s policy.Split) error {
	if err := l.cluster.ensureRenewed(ctx); err != nil {
		return err
	}
	return l.Executor.Split(ctx, s)
}
