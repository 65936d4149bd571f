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

// LeaseDatabase and LeaseCollection are where leases are stored. The config database is not used, since
// it belongs to the servers.
const (
	LeaseDatabase   = "shardsh"
	LeaseCollection = "leases"
)

// LeaseCollectionOf returns the collection of leases with read and write concern majority, which a
// Lease needs, because its writes must not be rolled back.
func LeaseCollectionOf(client *mongo.Client) *mongo.Collection {
	return withMajority(client, LeaseCollection)
}

func withMajority(client *mongo.Client, collection string) *mongo.Collection {
	return client.Database(LeaseDatabase).Collection(collection, options.Collection().
		SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Majority()).SetReadPreference(readpref.Primary()))
}

// Holder describes the process that holds a lease. Times are cluster times.
type Holder struct {
	Host  string `bson:"host"`
	PID   int    `bson:"pid"`
	Doing string `bson:"doing"` // such as "balance shop.orders"
	// Process identifies the process, so that another process on the same machine can detect its end.
	// It is empty if the operating system has no such id.
	Process string `bson:"process"`
	Since   time.Time
	Expires time.Time
}

// String returns a description such as "balance shop.orders, process 42 on host, since
// 2026-01-01T12:00:00Z".
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

// ErrLeaseLost says that the lease has expired and that another process has taken it, or may have taken
// it.
var ErrLeaseLost error = lostError{}

type lostError struct{}

func (lostError) Error() string { return "the lease was lost" }

// Failure returns policy.AskOperator, since a retry does not help while another process holds the
// lease.
func (lostError) Failure() policy.FailureClass { return policy.AskOperator }

// LeaseOptions are the options of AcquireLease.
type LeaseOptions struct {
	// Name identifies the lease. Processes that exclude each other use the same name.
	Name string
	// Duration is the time for which each renewal extends the lease.
	Duration time.Duration
	Holder   Holder // without its times
	// OnWatch, if not nil, permits taking over a lease that is not renewed while this process watches
	// it for its whole duration, whatever any clock says. OnWatch is called before the watch.
	OnWatch func(*HeldError)
}

// Lease is the exclusive right to change a cluster. It expires unless it is renewed. The clocks of two
// machines, including routers, may differ by hours, so no clock decides whether the lease has expired.
// The cluster time does: servers pass it on with each message, and it never decreases. A process that
// watches a lease needs only its own clock to measure durations.
type Lease struct {
	leases *mongo.Collection
	// w1Leases is the same collection with write concern 1, whose writes may be rolled back.
	w1Leases *mongo.Collection
	options  LeaseOptions
	token    bson.ObjectID
	fence    int64

	mu   sync.Mutex // guards the fields below
	self Holder     // this process, as stored in the cluster
	// when the newest renewal that a majority has acknowledged was requested, by the local clock
	renewedAt       time.Time
	unexpiredCtx    context.Context
	cancelUnexpired context.CancelFunc // ends unexpiredCtx
}

// AcquireLease takes a lease that is free, has expired, or is held by a process of this machine that
// has ended. The error is a *HeldError while another process holds the lease.
func AcquireLease(ctx context.Context, leases *mongo.Collection, o LeaseOptions) (*Lease, error) {
	quick := leases.Clone(options.Collection().SetWriteConcern(writeconcern.W1()))
	l := &Lease{leases: leases, w1Leases: quick, options: o, token: bson.NewObjectID(), renewedAt: time.Now()}
	l.unexpiredCtx, l.cancelUnexpired = context.WithCancel(context.Background())
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

// watch takes a lease that was not renewed for its whole duration. If the lease has changed in the
// meantime, watch returns the new state immediately.
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
			return l.acquire(ctx, leaseDoc{}) // held by another process, unless it was released
		}
	}
	return l.acquire(ctx, before)
}

// acquire takes the lease if it has expired, if this process holds it already because an answer was
// lost, or if it still is the lease of a holder that has ended. acquire returns the resulting state of
// the lease.
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

// Holder returns this process with the times of the last renewal.
func (l *Lease) Holder() Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.self
}

// Fence returns the fencing token, a number that increases each time the lease is taken from a holder. It
// begins at 1 again after the lease was released.
func (l *Lease) Fence() int64 { return l.fence }

// Renew extends the lease from the current cluster time. The error is ErrLeaseLost if another process
// has taken the lease after it had expired. An expired lease that was not taken is renewed as well,
// since a cluster's clock may jump. Renew is called immediately before a step that only the holder may
// execute.
//
// While a renewal by a majority is recent, no other process can have taken the lease, and write concern
// 1 is sufficient. Otherwise each step would wait for the slowest secondary.
func (l *Lease) Renew(ctx context.Context) error {
	leases := l.leases
	if l.renewedRecently() {
		leases = l.w1Leases
	}
	return withTimeout(ctx, l.renewTimeout(), func(ctx context.Context) error { return l.renew(ctx, leases) })
}

// renewWithMajority renews the lease with write concern majority.
func (l *Lease) renewWithMajority(ctx context.Context) error { return l.renew(ctx, l.leases) }

// renewTimeout returns the time limit of a renewal.
func (l *Lease) renewTimeout() time.Duration { return l.options.Duration * 2 / 3 }

// renewedRecently reports whether the last renewal by a majority is so recent that no other process can
// have taken the lease.
func (l *Lease) renewedRecently() bool { return l.age() < l.options.Duration/2 }

// age returns the time since the newest renewal by a majority was requested.
func (l *Lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return elapsedSince(l.renewedAt)
}

// elapsedSince returns the time since a time. The monotonic clock stops while a machine sleeps, and the
// wall clock may be set, so the larger of the two durations is used.
func elapsedSince(t time.Time) time.Duration {
	return max(time.Since(t), time.Now().Round(0).Sub(t.Round(0)))
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

// Release releases the lease, unless it was lost. If collections are recorded as switched off, the
// document stays, in order to name the process, but expires immediately. Release does not wait for a
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

// expiresExpr returns the expression for the time at which the lease expires if it is renewed now.
func (l *Lease) expiresExpr() bson.D {
	return bson.D{{Key: "$add", Value: bson.A{clusterTime, l.options.Duration.Milliseconds()}}}
}

// clusterTime is the expression for the cluster time, as known by the router, as a date. Each reply
// that a router receives updates that time. On a router without messages, the time is behind, so that
// leases expire late, never early.
var clusterTime = bson.D{{Key: "$toDate", Value: "$$CLUSTER_TIME"}}

// activeFilter selects the lease or pause with an id, if it has not expired.
func activeFilter(id string) bson.D {
	return bson.D{
		{Key: "_id", Value: id}, {Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$expires", clusterTime}}}},
	}
}

// nextBeat is the expression for the next renewal number.
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

// updateLease updates a lease with a pipeline stage, and returns the updated document.
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
