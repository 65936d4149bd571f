package live

import (
	"context"
	"errors"
	"fmt"
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
	return withMajority(client, LeaseCollection)
}

func withMajority(client *mongo.Client, collection string) *mongo.Collection {
	return client.Database(LeaseDatabase).Collection(collection, options.Collection().
		SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary()))
}

// Holder is the process that holds a lease, as it describes itself. Times are cluster times.
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
func (lostError) Failure() policy.Failure { return policy.AskOperator }

// LeaseOptions are the options of AcquireLease.
type LeaseOptions struct {
	// Name identifies the lease: processes that exclude each other use the same name.
	Name string
	// Duration is how long it lasts from each renewal.
	Duration time.Duration
	Holder   Holder // but for its times
	// OnWatch, if not nil, allows taking over a lease that is not renewed while this process watches
	// it, for as long as it lasts, whatever any clock says. Watch is called before that.
	OnWatch func(*HeldError)
}

// Lease is the exclusive right to change a cluster. It expires unless it is renewed.
// Clocks of two machines, routers too, may differ by hours, so none of them decides
// whether it has expired. The cluster time does: the servers pass it on with each message,
// and it never goes back. A process that watches a lease needs no clock but its own.
type Lease struct {
	leases *mongo.Collection
	// w1Leases is the same collection with write concern 1: what it writes may be rolled back.
	w1Leases *mongo.Collection
	options  LeaseOptions
	token    bson.ObjectID
	fence    int64

	mu         sync.Mutex // holds what follows
	self       Holder     // this process, as the cluster has it
	renewedAt  time.Time  // for the newest renewal that a majority has, on the clock here
	certainCtx context.Context
	endCertain context.CancelFunc // of sure
}

// AcquireLease takes a lease that is free, has expired, or is held by a process of this
// machine that has ended. The error is a *HeldError while another process holds it.
func AcquireLease(ctx context.Context, leases *mongo.Collection, o LeaseOptions) (*Lease, error) {
	quick := leases.Clone(options.Collection().SetWriteConcern(writeconcern.W1()))
	l := &Lease{leases: leases, w1Leases: quick, options: o, token: bson.NewObjectID(), renewedAt: time.Now()}
	l.certainCtx, l.endCertain = context.WithCancel(context.Background())
	held, err := l.acquire(ctx, leaseDoc{})
	if err == nil && held.Token != l.token && processGone(held.holder()) {
		held, err = l.acquire(ctx, held)
	}
	if err == nil && held.Token != l.token && o.OnWatch != nil {
		o.OnWatch(&HeldError{o.Name, held.holder()})
		held, err = l.watch(ctx, held)
	}
	if err != nil {
		return nil, fmt.Errorf("taking the lease %q: %w", o.Name, err)
	}
	if held.Token != l.token {
		return nil, &HeldError{o.Name, held.holder()}
	}
	l.fence, l.self = held.Fence, held.holder()
	return l, nil
}

// watch takes a lease that was not renewed for its whole duration. It returns the lease as
// soon as that has changed.
func (l *Lease) watch(ctx context.Context, before leaseDoc) (leaseDoc, error) {
	const looks = 60
	for began := time.Now(); time.Since(began) < l.options.Duration; {
		select {
		case <-ctx.Done():
			return before, context.Cause(ctx)
		case <-time.After(l.options.Duration / looks):
		}
		var now leaseDoc
		err := l.leases.FindOne(ctx, bson.D{{Key: "_id", Value: l.options.Name}}).Decode(&now)
		switch {
		case errors.Is(err, mongo.ErrNoDocuments):
			return l.acquire(ctx, leaseDoc{})
		case err != nil:
			return before, err
		case now.Token != before.Token || now.Beat != before.Beat:
			return l.acquire(ctx, leaseDoc{}) // another one's, unless it was released
		}
	}
	return l.acquire(ctx, before)
}

// acquire takes the lease if it has expired, is our own, when the first answer was lost, or
// is still that of a holder that has ended. It returns the lease as it is then.
func (l *Lease) acquire(ctx context.Context, ended leaseDoc) (leaseDoc, error) {
	h := l.options.Holder
	ours := bson.D{
		{Key: "_id", Value: "$_id"},
		{Key: "fence", Value: bson.D{{Key: "$add", Value: bson.A{ifNull("$fence", int64(0)), int64(1)}}}},
		{Key: "token", Value: l.token},
		{Key: "holder", Value: bson.D{{Key: "$literal", Value: bson.D{
			{Key: "host", Value: h.Host}, {Key: "pid", Value: h.PID}, {Key: "doing", Value: h.Doing},
			{Key: "process", Value: h.Process},
		}}}},
		{Key: "since", Value: clusterTime}, {Key: "renewed", Value: clusterTime}, {Key: "expires", Value: l.expiresExpr()},
		{Key: "beat", Value: nextBeat},
	}
	equal := func(field string, value any) bson.D { return bson.D{{Key: "$eq", Value: bson.A{field, value}}} }
	free := bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "$lte", Value: bson.A{ifNull("$expires", time.Time{}), clusterTime}}},
		equal("$token", l.token),
		bson.D{{Key: "$and", Value: bson.A{
			equal("$token", ended.Token), bson.D{{Key: "$eq", Value: bson.A{ifNull("$beat", int64(0)), ended.Beat}}}}}},
	}}}
	return updateLease(ctx, l.leases, bson.D{{Key: "_id", Value: l.options.Name}}, true,
		bson.D{{Key: "$replaceWith", Value: bson.D{{Key: "$cond", Value: bson.A{free, ours, "$$ROOT"}}}}})
}

// Holder returns this process as the cluster knows it since the last renewal.
func (l *Lease) Holder() Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.self
}

// Fence returns the fencing token: a number that grows each time the lease is taken.
func (l *Lease) Fence() int64 { return l.fence }

// Renew extends the lease from now, in cluster time. The error is ErrLeaseLost if
// another process took it after it had expired. An expired lease that was not taken is
// renewed as well, since a cluster's clock may jump. Renew comes right before a step that
// only the holder may do.
//
// While a renewal by a majority is recent, no other process can have the lease, and write
// concern 1 is enough: otherwise each step would wait for the slowest secondary.
func (l *Lease) Renew(ctx context.Context) error {
	leases := l.leases
	if l.renewedRecently() {
		leases = l.w1Leases
	}
	return withTimeout(ctx, l.renewTimeout(), func(ctx context.Context) error { return l.renew(ctx, leases) })
}

// renewWithMajority renews the lease with a majority, however long that takes.
func (l *Lease) renewWithMajority(ctx context.Context) error { return l.renew(ctx, l.leases) }

// renewTimeout returns the time limit of a renewal.
func (l *Lease) renewTimeout() time.Duration { return l.options.Duration * 2 / 3 }

// renewedRecently reports whether a majority has renewed the lease so lately that no other process
// can have it.
func (l *Lease) renewedRecently() bool { return l.age() < l.options.Duration/2 }

// age returns how long ago the newest renewal by a majority was requested. The clock for
// durations stands still while a machine sleeps, the wall clock may be set: the
// larger value counts.
func (l *Lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Since(l.renewedAt), time.Now().Round(0).Sub(l.renewedAt.Round(0)))
}

func (l *Lease) renew(ctx context.Context, leases *mongo.Collection) error {
	set := bson.D{
		{Key: "renewed", Value: clusterTime},
		{Key: "expires", Value: l.expiresExpr()},
		{Key: "beat", Value: nextBeat},
	}
	asked := time.Now()
	held, err := updateLease(ctx, leases, l.ownFilter(), false, bson.D{{Key: "$set", Value: set}})
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return ErrLeaseLost
	case err != nil:
		return fmt.Errorf("renewing the lease %q: %w", l.options.Name, ServerError(err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if is := held.holder(); is.Expires.After(l.self.Expires) { // renewals may be answered in another order
		l.self = is
	}
	if leases == l.leases && asked.After(l.renewedAt) {
		l.renewedAt = asked
	}
	return nil
}

// Release releases the lease, unless it was lost. If collections are recorded as switched
// off, the document stays, to name the process, but expires at once. Release does not wait for a
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
		return fmt.Errorf("releasing the lease %q: %w", l.options.Name, err)
	}
	return nil
}

func (l *Lease) release(ctx context.Context) error {
	left, err := l.leases.CountDocuments(ctx, pausedFilter(), options.Count().SetLimit(1))
	if err == nil && left == 0 {
		_, err = l.w1Leases.DeleteOne(ctx, l.ownFilter())
	}
	if err != nil || left == 0 {
		return err
	}
	_, err = updateLease(ctx, l.w1Leases, l.ownFilter(), false,
		bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: clusterTime}, {Key: "beat", Value: nextBeat}}}})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

func (l *Lease) ownFilter() bson.D {
	return bson.D{{Key: "_id", Value: l.options.Name}, {Key: "token", Value: l.token}, {Key: "fence", Value: l.fence}}
}

// expiresExpr returns the expression for when the lease expires if it is renewed now.
func (l *Lease) expiresExpr() bson.D {
	return bson.D{{Key: "$add", Value: bson.A{clusterTime, l.options.Duration.Milliseconds()}}}
}

// readClusterTime is the expression for the cluster time as the router knows it, as a date.
// Each reply that a router gets brings it up to date. One that hears nothing is behind,
// so leases expire late there, never early.
var clusterTime = bson.D{{Key: "$toDate", Value: "$$CLUSTER_TIME"}}

// activeFilter selects the lease or pause with an id, if it has not expired.
func activeFilter(id string) bson.D {
	return bson.D{
		{Key: "_id", Value: id}, {Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$expires", clusterTime}}}},
	}
}

// nextBeat is the expression for the number of a renewal.
var nextBeat = bson.D{{Key: "$add", Value: bson.A{ifNull("$beat", int64(0)), int64(1)}}}

// leaseDoc is the stored document of a lease.
type leaseDoc struct {
	Fence   int64         `bson:"fence"`
	Token   bson.ObjectID `bson:"token"`
	Holder  Holder        `bson:"holder"`
	Since   time.Time     `bson:"since"`
	Expires time.Time     `bson:"expires"`
	Beat    int64         `bson:"beat"`
}

func (d leaseDoc) holder() Holder {
	h := d.Holder
	h.Since, h.Expires = d.Since, d.Expires
	return h
}

// updateLease updates a lease with a pipeline stage, and returns the new document.
func updateLease(
	ctx context.Context, leases *mongo.Collection, which bson.D, upsert bool, stage bson.D,
) (doc leaseDoc, err error) {
	err = leases.FindOneAndUpdate(ctx, which, mongo.Pipeline{stage},
		options.FindOneAndUpdate().SetUpsert(upsert).SetReturnDocument(options.After)).Decode(&doc)
	return doc, err
}

func ifNull(field string, or any) bson.D {
	return bson.D{{Key: "$ifNull", Value: bson.A{field, or}}}
}
