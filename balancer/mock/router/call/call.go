package call

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// Call is one command in progress.
type Call struct {
	Ctx          context.Context
	Node         *Node // the node that received it
	Cluster      *mock.Cluster
	DB           string
	Body         Body
	fieldBuf     [16]fieldOffsets // the buffer for the index of Body
	Args         args.Values
	Cmd          *Command
	PreparedFind PreparedQuery
	Client       *wire.ClientConn
	Conn         *ConnState
	Now          time.Time // cluster time at which the command arrived
	// Request is the command as the cluster's nodes receive it.
	Request   *mock.Request
	InvokedAs string // the name that the client used
	// Deadline is set from maxTimeMS in the cluster's time; zero without one. limit is the same limit
	// for the command's computations, in real time.
	Deadline     time.Time
	computeLimit time.Duration
	limitedCtx   context.Context // Ctx with limit; set by the first computation
	cancelLimit  context.CancelFunc
	LetVariables *bson.Raw     // the command's let variables, once evaluated
	computeTime  time.Duration // real time spent in WithoutLock
	// LSID and Session are nil without a session. TxnNumber is nil outside of a retryable write.
	LSID      *SessionID
	LSIDErr   error
	Session   *Session
	TxnNumber *int64
	// ReadPreference says which nodes the command reads from.
	ReadPreference args.ReadPreference
	// IsWritingResults reports whether an aggregation is writing its results. It then reads on the nodes that
	// it writes to.
	IsWritingResults bool
	// SnapshotTime is the time of a read with read concern snapshot; nil for other levels.
	SnapshotTime *bson.Timestamp
	// HasSlowNodes reports whether the latency of the contacted nodes may delay the reply.
	HasSlowNodes bool
	// StateGeneration is the number of the cluster state in which the command's privileges were checked.
	StateGeneration int64
	// OpID is the operation id for killOp.
	OpID int32
}

// Begin returns the call of a request.
func (n *Node) Begin(ctx context.Context, req wire.Request) *Call {
	c := &Call{
		Ctx: ctx, Node: n, Cluster: n.Cluster,
		DB: req.Database, InvokedAs: req.Command,
		Client: req.Client, Conn: peerOf(req.Client),
	}
	c.Body = NewBody(req.Body, c.fieldBuf[:])
	return c
}

// NewInner returns the call of a command within another command. It has no session.
func (c *Call) NewInner(db, name string, doc bson.Raw) *Call {
	return &Call{
		Ctx: c.Ctx, Node: c.Node, Cluster: c.Cluster,
		DB: db, Body: NewBody(doc, nil), InvokedAs: name, Client: c.Client, Conn: c.Conn, Now: c.Now, Request: c.Request,
	}
}

// LimitTime sets the command's deadline for waits in the cluster's time, and the limit for its
// computations in real time. For a getMore it limits only the waits.
func (c *Call) LimitTime(now time.Time, most time.Duration) {
	c.Deadline = now.Add(most)
	if c.InvokedAs != "getMore" {
		c.computeLimit = most
	}
}

// timeLeft returns the part of the time limit that remains for the command's cursor; 0 without a limit.
func (c *Call) timeLeft() time.Duration {
	if c.computeLimit == 0 {
		return 0
	}
	return max(c.computeLimit-c.computeTime, time.Nanosecond)
}

// WithoutLock runs a computation with the cluster's lock released. compute may read what the command has
// captured but must not touch the cluster. State that the caller read from the cluster before is out of
// date afterwards. compute ends when its ctx is done: the time limit has passed, the command was killed,
// or its client or the server has gone.
func (c *Call) WithoutLock(compute func(ctx context.Context) error) error {
	if c.limitedCtx == nil {
		c.limitedCtx = c.Ctx
		if c.computeLimit > 0 {
			c.limitedCtx, c.cancelLimit = context.WithTimeoutCause(c.Ctx, c.computeLimit, ErrMaxTime())
		}
	}
	c.Node.StoreWrites(c)
	began := time.Now()
	err := c.Cluster.ClockUnderLock().WithoutLock(func() error { return compute(c.limitedCtx) })
	c.computeTime += time.Since(began)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", err)
	}
	if err != nil || c.StateGeneration == c.Cluster.ClockUnderLock().Replacements() {
		return err
	}
	c.StateGeneration = c.Cluster.ClockUnderLock().Replacements() // the state was replaced, with other users
	return c.Node.CheckPrivileges(c.Cmd, c)
}

// Language returns the expression language of the node's release.
func (c *Call) Language() expr.Language { return c.Cluster.Language(c.Node.Release()) }

// ForbidsDiskUse reports whether the command forbids its stages to use temporary files on disk.
func (c *Call) ForbidsDiskUse() bool {
	if v := c.Body.Lookup("allowDiskUse"); !v.IsZero() {
		return !args.IsTrueOrNonzero(v)
	}
	return !c.Cluster.Release().SpillsToDisk()
}

// End releases the command's resources.
func (c *Call) End() {
	if c.cancelLimit != nil {
		c.cancelLimit()
	}
}

// WithoutLock calls c.WithoutLock for a function that returns a value.
func WithoutLock[T any](c *Call, compute func(ctx context.Context) (T, error)) (T, error) {
	var value T
	err := c.WithoutLock(func(ctx context.Context) (err error) {
		value, err = compute(ctx)
		return err
	})
	return value, err
}

// Let returns the command's evaluated variables. It may compute (see WithoutLock).
func (c *Call) Let() (bson.Raw, error) {
	if c.LetVariables == nil {
		given, err := c.Document("let")
		if err != nil {
			return nil, err
		}
		if _, err := given.LookupErr("NOW"); err == nil { // only a router sends NOW with a value
			return nil, expr.CheckVariable("NOW")
		}
		settled, err := c.EvaluateVariables(given)
		if err != nil {
			return nil, err
		}
		if ahead := c.Node.ClockSkew(); ahead > 0 {
			settled = expr.LetWithNow(settled, c.Now.Add(ahead))
		}
		c.LetVariables = &settled
	}
	return *c.LetVariables, nil
}

// EvaluateVariables evaluates variables. It may compute (see WithoutLock).
func (c *Call) EvaluateVariables(variables bson.Raw) (bson.Raw, error) {
	return expr.EvalLet(cmp.Or(c.limitedCtx, c.Ctx), c.Language(), variables)
}

// MatchEach reports for each document whether the query matches it.
func (c *Call) MatchEach(query bson.Raw, docs []bson.Raw) ([]bool, error) {
	return WithoutLock(c, func(ctx context.Context) ([]bool, error) {
		filter, err := c.Filter(query)
		if err != nil {
			return nil, err
		}
		test := filter.Tester(ctx)
		list := make([]bool, len(docs))
		for i, doc := range docs {
			list[i], _ = test(doc) // a document for which the filter fails does not match
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return list, nil
	})
}

// MatchingDocuments returns the documents that match a query.
func (c *Call) MatchingDocuments(query bson.Raw, docs []bson.Raw) ([]bson.Raw, error) {
	matches, err := c.MatchEach(query, docs)
	if err != nil {
		return nil, err
	}
	var list []bson.Raw
	for i, doc := range docs {
		if matches[i] {
			list = append(list, doc)
		}
	}
	return list, nil
}
