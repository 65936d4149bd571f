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

// Where leases are kept, unless told. Never in config, which is the servers'.
const (
	LeaseDatabase   = "shardsh"
	LeaseCollection = "leases"
)

// LeaseCollectionOf returns the collection of leases as a Lease needs it: what it
// writes can't be rolled back, and what it reads neither.
func LeaseCollectionOf(client *mongo.Client) *mongo.Collection {
	return client.Database(LeaseDatabase).Collection(LeaseCollection, options.Collection().
		SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary()))
}

// Holder is who has a lease, as it tells itself. Times are those of the cluster's
// clock.
type Holder struct {
	Host  string `bson:"host"`
	PID   int    `bson:"pid"`
	Doing string `bson:"doing"` // such as "balance shop.orders"
	// Process tells the process apart from all others, so that one on the same
	// machine can find out that it is gone. Empty where systems don't tell.
	Process string `bson:"process"`
	Since   time.Time
	Expires time.Time
}

// String is "balance shop.orders, process 42 on host, since 2026-01-01T12:00:00Z".
func (h Holder) String() string {
	return fmt.Sprintf("%s, process %d on %s, since %s", h.Doing, h.PID, h.Host, h.Since.UTC().Format(time.RFC3339))
}

// HeldError says that somebody else has the lease.
type HeldError struct {
	Name   string
	Holder Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("somebody else is at work on this cluster: %s; the lease %q ends at %s unless it is renewed",
		e.Holder, e.Name, e.Holder.Expires.UTC().Format(time.RFC3339))
}

// ErrLeaseLost says that a lease is not ours any more: it ran out, and somebody
// else took it or may have taken it.
var ErrLeaseLost error = lostError{}

type lostError struct{}

func (lostError) Error() string { return "the lease was lost" }

// Failure says that nothing is tried again: it is somebody else's turn.
func (lostError) Failure() policy.Failure { return policy.Ask }

// LeaseOptions say what a Lease is for. The zero value of Host and PID is told as
// it is.
type LeaseOptions struct {
	// Name tells leases apart: those who may not work at the same time use one.
	Name string
	// For is how long it lasts from each renewal.
	For    time.Duration
	Holder Holder // but for its times
}

// Lease is the right to be the only one at work. It lasts for a while and has to
// be renewed. Only the cluster's clock tells whether it has run out: those of two
// machines may differ by hours.
type Lease struct {
	leases *mongo.Collection
	// quick has the same leases, and waits for no majority: what it writes may be rolled
	// back.
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

// AcquireLease takes a lease that nobody has, whose holder let it run out, or was a
// process of this machine that is gone. The error is a *HeldError while somebody
// has it.
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

// acquire takes the lease if it has run out, or has a token: ours, as an answer that
// got lost is asked for again, or that of a holder who is gone. It returns the lease
// as it is then.
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

// Holder is this process as the cluster knows it since the last renewal.
func (l *Lease) Holder() Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.is
}

// Fence is a number that grows with each time that somebody takes the lease.
func (l *Lease) Fence() int64 { return l.fence }

// Paused returns the collections that are noted as switched off by holders of the
// lease, of whom the last one may have been killed before it switched them on.
func (l *Lease) Paused() []string { return slices.Clone(l.paused) }

// NotePaused writes down which collections are switched off as long as the lease
// is held. It comes before the switching off and after the switching on: a note
// too many is cheap.
func (l *Lease) NotePaused(ctx context.Context, namespaces []string) error {
	err := inTime(ctx, l.patience(), func(ctx context.Context) error {
		return l.renew(ctx, l.leases, bson.E{Key: "paused", Value: bson.D{{Key: "$literal", Value: namespaces}}})
	})
	if err == nil {
		l.paused = slices.Clone(namespaces)
	}
	return err
}

// Renew makes the lease last from now, on the cluster's clock, as long as at first.
// The error is ErrLeaseLost when somebody took it after it had run out. Where nobody
// did, nothing has happened that it was to keep from happening, and it is ours as
// before: the clock of a cluster may jump. A step that only the holder may do is
// done right after a Renew.
//
// As long as a renewal that can't be rolled back is not old, nobody else can have the
// lease, and the primary's word is enough: who waited for a majority each time would do
// one step in as long as a secondary is behind.
func (l *Lease) Renew(ctx context.Context) error {
	leases := l.leases
	if l.age() < l.o.For/2 {
		leases = l.quick
	}
	return inTime(ctx, l.patience(), func(ctx context.Context) error { return l.renew(ctx, leases) })
}

// secure renews the lease so that it can't be rolled back, however long that takes.
func (l *Lease) secure(ctx context.Context) error { return l.renew(ctx, l.leases) }

// patience is how long a renewal may take.
func (l *Lease) patience() time.Duration { return l.o.For * 2 / 3 }

// age is how long ago the newest renewal was asked for that can't be rolled back.
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

// Release gives the lease back. One that was lost is nobody's business any more.
// One that has collections noted as switched off stays, for whoever takes it next,
// but lasts no longer. No majority is waited for: one that comes back with another
// primary runs out by itself.
func (l *Lease) Release(ctx context.Context) error {
	const tries = 3 // nobody else can give it back
	var err error
	for range tries {
		if err = l.release(ctx); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("giving back the lease %q: %w", l.o.Name, err)
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

// end is the expression for when the lease ends if it is renewed now.
func (l *Lease) end() bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", l.o.For.Milliseconds()}}}
}

// leaseDoc is a lease as it is kept.
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

// change updates a lease by a stage, and returns what it is then.
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
