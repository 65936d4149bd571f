package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"shardsh/balancer/policy"
)

// Where leases are kept. Never in config, which belongs to the servers.
const (
	LeaseDatabase   = "shardsh"
	LeaseCollection = "leases"
)

// LeaseCollectionOf returns the collection of leases with the read and write concern
// majority, which a Lease needs: nothing of it can be rolled back.
func LeaseCollectionOf(client *mongo.Client) *mongo.Collection {
	return client.Database(LeaseDatabase).Collection(LeaseCollection, options.Collection().
		SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary()))
}

// Holder is the process that holds a lease, by its own account. Times are those of the
// cluster's clock.
type Holder struct {
	Host  string `bson:"host"`
	PID   int    `bson:"pid"`
	Doing string `bson:"doing"` // such as "balance shop.orders"
	// Process identifies the process, so that another one on the same machine can find
	// out that it has ended. Empty if the operating system has no such id.
	Process string `bson:"process"`
	Since   time.Time
	Expires time.Time
}

// String is "balance shop.orders, process 42 on host, since 2026-01-01T12:00:00Z".
func (h Holder) String() string {
	return fmt.Sprintf("%s, process %d on %s, since %s", h.Doing, h.PID, h.Host, h.Since.UTC().Format(time.RFC3339))
}

// HeldError says that another process holds the lease.
type HeldError struct {
	Name   string
	Holder Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another process is changing this cluster: %s; its lease %q expires at %s unless it is renewed",
		e.Holder, e.Name, e.Holder.Expires.UTC().Format(time.RFC3339))
}

// ErrLeaseLost says that the lease expired and another process has taken it, or may have.
var ErrLeaseLost error = lostError{}

type lostError struct{}

func (lostError) Error() string { return "the lease was lost" }

// Failure says that nothing is retried: another process holds the lease.
func (lostError) Failure() policy.Failure { return policy.Ask }

// LeaseOptions say what a Lease is for.
type LeaseOptions struct {
	// Name identifies the lease: processes that exclude each other use the same name.
	Name string
	// For is how long it lasts from each renewal.
	For    time.Duration
	Holder Holder // but for its times
}

// Lease is the exclusive right to change a cluster. It expires unless it is renewed. Only
// the cluster's clock decides whether it has expired: clocks of two machines may differ by
// hours.
type Lease struct {
	leases *mongo.Collection
	// quick is the same collection with write concern 1: what it writes may be rolled back.
	quick  *mongo.Collection
	o      LeaseOptions
	token  bson.ObjectID
	fence  int64
	paused []string

	mu     sync.Mutex // holds what follows
	is     Holder     // this process, as the cluster has it
	asked  time.Time  // for the newest renewal that a majority has, on the clock here
	sure   context.Context
	unsure context.CancelFunc // of sure
}

// AcquireLease takes a lease that is free, has expired, or is held by a process of this
// machine that has ended. The error is a *HeldError while another process holds it.
func AcquireLease(ctx context.Context, leases *mongo.Collection, o LeaseOptions) (*Lease, error) {
	quick := leases.Clone(options.Collection().SetWriteConcern(writeconcern.W1()))
	l := &Lease{leases: leases, quick: quick, o: o, token: bson.NewObjectID(), asked: time.Now()}
	l.sure, l.unsure = context.WithCancel(context.Background())
	held, err := l.acquire(ctx, l.token)
	if err == nil && held.Token != l.token && processGone(held.Holder.Process) {
		held, err = l.acquire(ctx, held.Token)
	}
	if err != nil {
		return nil, fmt.Errorf("taking the lease %q: %w", o.Name, err)
	}
	if held.Token != l.token {
		return nil, &HeldError{o.Name, held.holder()}
	}
	l.fence, l.paused, l.is = held.Fence, held.Paused, held.holder()
	return l, nil
}

// acquire takes the lease if it has expired, or has a token: our own, when the first answer
// was lost, or that of a holder that has ended. It returns the lease as it is then.
func (l *Lease) acquire(ctx context.Context, token bson.ObjectID) (leaseDoc, error) {
	h := l.o.Holder
	ours := bson.D{
		{Key: "_id", Value: "$_id"},
		{Key: "fence", Value: bson.D{{Key: "$add", Value: bson.A{ifNull("$fence", int64(0)), int64(1)}}}},
		{Key: "token", Value: l.token},
		{Key: "holder", Value: bson.D{{Key: "$literal", Value: bson.D{
			{Key: "host", Value: h.Host}, {Key: "pid", Value: h.PID}, {Key: "doing", Value: h.Doing},
			{Key: "process", Value: h.Process},
		}}}},
		{Key: "since", Value: "$$NOW"}, {Key: "renewed", Value: "$$NOW"}, {Key: "expires", Value: l.end()},
		{Key: "paused", Value: ifNull("$paused", bson.A{})},
	}
	free := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "$lte", Value: bson.A{ifNull("$expires", time.Time{}), "$$NOW"}}},
		bson.D{{Key: "$in", Value: bson.A{"$token", bson.A{l.token, token}}}},
	}}}
	return change(ctx, l.leases, bson.D{{Key: "_id", Value: l.o.Name}}, true,
		bson.D{{Key: "$replaceWith", Value: bson.D{{Key: "$cond", Value: bson.A{free, ours, "$$ROOT"}}}}})
}

// Holder returns this process as the cluster knows it since the last renewal.
func (l *Lease) Holder() Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.is
}

// Fence returns the fencing token: a number that grows each time the lease is taken.
func (l *Lease) Fence() int64 { return l.fence }

// Paused returns the collections whose balancing holders of the lease have switched off,
// including one that was killed before it switched them on.
func (l *Lease) Paused() []string { return slices.Clone(l.paused) }

// NotePaused records which collections have their balancing switched off. Call it before
// switching off and after switching on: a record too many does no harm.
func (l *Lease) NotePaused(ctx context.Context, namespaces []string) error {
	err := withTimeout(ctx, l.patience(), func(ctx context.Context) error {
		return l.renew(ctx, l.leases, bson.E{Key: "paused", Value: bson.D{{Key: "$literal", Value: namespaces}}})
	})
	if err == nil {
		l.paused = slices.Clone(namespaces)
	}
	return err
}

// Renew extends the lease from now, on the cluster's clock. The error is ErrLeaseLost if
// another process took it after it had expired. An expired lease that was not taken is
// renewed as well, since a cluster's clock may jump. Renew comes right before a step that
// only the holder may do.
//
// While a renewal by a majority is recent, no other process can have the lease, and write
// concern 1 is enough: otherwise each step would wait for the slowest secondary.
func (l *Lease) Renew(ctx context.Context) error {
	leases := l.leases
	if l.age() < l.o.For/2 {
		leases = l.quick
	}
	return withTimeout(ctx, l.patience(), func(ctx context.Context) error { return l.renew(ctx, leases) })
}

// secure renews the lease with a majority, however long that takes.
func (l *Lease) secure(ctx context.Context) error { return l.renew(ctx, l.leases) }

// patience limits how long a renewal may take.
func (l *Lease) patience() time.Duration { return l.o.For * 2 / 3 }

// age returns how long ago the newest renewal by a majority was requested.
func (l *Lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.asked)
}

func (l *Lease) renew(ctx context.Context, leases *mongo.Collection, more ...bson.E) error {
	set := append(bson.D{{Key: "renewed", Value: "$$NOW"}, {Key: "expires", Value: l.end()}}, more...)
	asked := time.Now()
	held, err := change(ctx, leases, l.mine(), false, bson.D{{Key: "$set", Value: set}})
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return ErrLeaseLost
	case err != nil:
		return fmt.Errorf("renewing the lease %q: %w", l.o.Name, ServerError(err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if is := held.holder(); is.Expires.After(l.is.Expires) { // renewals may be answered in another order
		l.is = is
	}
	if leases == l.leases && asked.After(l.asked) {
		l.asked = asked
	}
	return nil
}

// Release releases the lease, unless it was lost. If it records collections as switched
// off, it stays for the next holder, but expires at once. Release does not wait for a
// majority: if it is rolled back, the lease expires by itself.
func (l *Lease) Release(ctx context.Context) error {
	const tries = 3 // no other process can release it
	var err error
	for range tries {
		if err = l.release(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("releasing the lease %q: %w", l.o.Name, err)
	}
	return nil
}

func (l *Lease) release(ctx context.Context) error {
	if len(l.paused) == 0 {
		_, err := l.quick.DeleteOne(ctx, l.mine())
		return err
	}
	_, err := change(ctx, l.quick, l.mine(), false, bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: "$$NOW"}}}})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

func (l *Lease) mine() bson.D {
	return bson.D{{Key: "_id", Value: l.o.Name}, {Key: "token", Value: l.token}, {Key: "fence", Value: l.fence}}
}

// end returns the expression for when the lease expires if it is renewed now.
func (l *Lease) end() bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", l.o.For.Milliseconds()}}}
}

// leaseDoc is the stored document of a lease.
type leaseDoc struct {
	Fence   int64         `bson:"fence"`
	Token   bson.ObjectID `bson:"token"`
	Holder  Holder        `bson:"holder"`
	Since   time.Time     `bson:"since"`
	Expires time.Time     `bson:"expires"`
	Paused  []string      `bson:"paused"`
}

func (d leaseDoc) holder() Holder {
	h := d.Holder
	h.Since, h.Expires = d.Since, d.Expires
	return h
}

// change updates a lease with a pipeline stage, and returns the new document.
func change(
	ctx context.Context, leases *mongo.Collection, which bson.D, upsert bool, stage bson.D,
) (doc leaseDoc, err error) {
	err = leases.FindOneAndUpdate(ctx, which, mongo.Pipeline{stage},
		options.FindOneAndUpdate().SetUpsert(upsert).SetReturnDocument(options.After)).Decode(&doc)
	return doc, err
}

func ifNull(field string, or any) bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{field, or}}}
}
