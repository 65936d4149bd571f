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

// Call is one command under way.
type Call struct {
	Ctx          context.Context
	Node         *Node // that it came to
	Cluster      *mock.Cluster
	DB           string
	Body         Body
	spotBuf      [16]spot // of the body, as a rule
	Args         args.Values
	Cmd          *Command
	PreparedFind PreparedQuery
	Client       *wire.Client
	Peer         *Peer
	Now          time.Time // the cluster's, when the command came
	// Request is the command as the cluster's nodes see it.
	Request *mock.Request
	Invoked string // the name it was called by
	// Deadline comes from maxTimeMS, in the cluster's time; zero without one.
	// limit is the same for what the command computes, in real time.
	Deadline     time.Time
	limit        time.Duration
	limitedCtx   context.Context // ctx with the limit, once something is computed
	cancelLimit  context.CancelFunc
	LetVariables *bson.Raw     // its variables, once they are evaluated
	computeTime  time.Duration // real time that has gone by in outside
	// LSID and Session are nil without a session, TxnNumber outside of a
	// retryable write.
	LSID      *SessionID
	LSIDErr   error
	Session   *Session
	TxnNumber *int64
	// ReadPreference says which nodes it reads from.
	ReadPreference args.ReadPreference
	// IsMerging: an aggregation writes its results, and looks for them where it writes.
	IsMerging bool
	// Snapshot is the state that a read with that level is about; nil with others.
	Snapshot *bson.Timestamp
	// Slow: nodes that the command asked may make its reply late.
	Slow bool
	// Replacements is of which of the cluster's states its privileges are.
	Replacements int64
	// OpID is the number that killOp takes.
	OpID int32
}

// Begin makes the call of a request.
func (n *Node) Begin(ctx context.Context, req wire.Request) *Call {
	c := &Call{
		Ctx: ctx, Node: n, Cluster: n.Cluster,
		DB: req.Database, Invoked: req.Command,
		Client: req.Client, Peer: peerOf(req.Client),
	}
	c.Body = NewBody(req.Body, c.spotBuf[:])
	return c
}

// NewInner returns the call of a command within another, in nobody's session.
func (c *Call) NewInner(db, name string, doc bson.Raw) *Call {
	return &Call{
		Ctx: c.Ctx, Node: c.Node, Cluster: c.Cluster,
		DB: db, Body: NewBody(doc, nil), Invoked: name, Client: c.Client, Peer: c.Peer, Now: c.Now, Request: c.Request,
	}
}

// LimitTime sets the command's deadline: for waits in the cluster's time, and
// what it computes in real time. A getMore only waits that long.
func (c *Call) LimitTime(now time.Time, most time.Duration) {
	c.Deadline = now.Add(most)
	if c.Invoked != "getMore" {
		c.limit = most
	}
}

// timeLeft is what its limit leaves to the command's cursor; 0 without a limit.
func (c *Call) timeLeft() time.Duration {
	if c.limit == 0 {
		return 0
	}
	return max(c.limit-c.computeTime, time.Nanosecond)
}

// WithoutLock runs a computation with the cluster's lock released. It may read
// what the command has captured, and must not touch the cluster; what was read of
// it before is out of date afterwards. compute ends when ctx does, with its
// cause: the time is up, the command was killed, its client or the server goes.
func (c *Call) WithoutLock(compute func(ctx context.Context) error) error {
	if c.limitedCtx == nil {
		c.limitedCtx = c.Ctx
		if c.limit > 0 {
			c.limitedCtx, c.cancelLimit = context.WithTimeoutCause(c.Ctx, c.limit, ErrMaxTime())
		}
	}
	c.Node.StoreWrites(c)
	began := time.Now()
	err := c.Cluster.LockedClock().WithoutLock(func() error { return compute(c.limitedCtx) })
	c.computeTime += time.Since(began)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", err)
	}
	if err != nil || c.Replacements == c.Cluster.LockedClock().Replacements() {
		return err
	}
	c.Replacements = c.Cluster.LockedClock().Replacements() // another state, with other users
	return c.Node.CheckPrivileges(c.Cmd, c)
}

// Language is that of the release that runs on the node.
func (c *Call) Language() expr.Language { return c.Cluster.Language(c.Node.Release()) }

// NoDisk reports whether the command's stages may not go to a server's disk.
func (c *Call) NoDisk() bool {
	if v := c.Body.Lookup("allowDiskUse"); !v.IsZero() {
		return !args.Truth(v)
	}
	return !c.Cluster.Release().SpillsToDisk()
}

// End releases the command's resources.
func (c *Call) End() {
	if c.cancelLimit != nil {
		c.cancelLimit()
	}
}

// WithoutLock is the method WithoutLock of a call, for a function that returns a value.
func WithoutLock[T any](c *Call, compute func(ctx context.Context) (T, error)) (T, error) {
	var value T
	err := c.WithoutLock(func(ctx context.Context) (err error) {
		value, err = compute(ctx)
		return err
	})
	return value, err
}

// Let returns the command's variables, evaluated. It computes.
func (c *Call) Let() (bson.Raw, error) {
	if c.LetVariables == nil {
		given, err := c.Document("let")
		if err != nil {
			return nil, err
		}
		if _, err := given.LookupErr("NOW"); err == nil { // only a router gives it a value
			return nil, expr.CheckVariable("NOW")
		}
		settled, err := c.EvaluateVariables(given)
		if err != nil {
			return nil, err
		}
		if ahead := c.Node.ClockAhead(); ahead > 0 {
			settled = expr.WithNow(settled, c.Now.Add(ahead))
		}
		c.LetVariables = &settled
	}
	return *c.LetVariables, nil
}

// EvaluateVariables evaluates variables. It computes.
func (c *Call) EvaluateVariables(variables bson.Raw) (bson.Raw, error) {
	return expr.EvalLet(cmp.Or(c.limitedCtx, c.Ctx), c.Language(), variables)
}

// MatchEach returns for each document whether a query matches it.
func (c *Call) MatchEach(query bson.Raw, docs []bson.Raw) ([]bool, error) {
	return WithoutLock(c, func(ctx context.Context) ([]bool, error) {
		filter, err := c.Filter(query)
		if err != nil {
			return nil, err
		}
		test := filter.Tester(ctx)
		list := make([]bool, len(docs))
		for i, doc := range docs {
			list[i], _ = test(doc) // one that can't be judged does not match
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return list, nil
	})
}

// MatchingDocuments returns the documents that a query matches.
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
