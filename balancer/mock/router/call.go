package router

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// call is one command under way.
type call struct {
	ctx     context.Context
	node    *node // that it came to
	cluster *mock.Cluster
	db      string
	body    body
	room    [16]spot // of the body, as a rule
	args    args.Values
	cmd     *command
	find    prepared
	client  *wire.Client
	peer    *peer
	legacy  bool
	now     time.Time // the cluster's, when the command came
	// request is the command as the cluster's nodes see it.
	request *mock.Request
	invoked string // the name it was called by
	// deadline comes from maxTimeMS, in the cluster's time; zero without one.
	// limit is the same for what the command computes, in real time.
	deadline time.Time
	limit    time.Duration
	limited  context.Context // ctx with the limit, once something is computed
	unlimit  context.CancelFunc
	settled  *bson.Raw     // its variables, once they are evaluated
	computed time.Duration // real time that has gone by in outside
	// lsid and session are nil without a session, txnNumber outside of a
	// retryable write.
	lsid      *sessionID
	lsidErr   error
	session   *session
	txnNumber *int64
	// prefers says which nodes it reads from.
	prefers args.ReadPreference
	// mergesNow: an aggregation writes its results, and looks for them where it writes.
	mergesNow bool
	// snapshot is the state that a read with that level is about; nil with others.
	snapshot *bson.Timestamp
	// slow: nodes that the command asked may make its reply late.
	slow bool
	// replaced is of which of the cluster's states its privileges are.
	replaced int64
	// opid is the number that killOp takes.
	opid int32
}

// begin makes the call of a request.
func (n *node) begin(ctx context.Context, req wire.Request) *call {
	c := &call{
		ctx: ctx, node: n, cluster: n.cluster,
		db: req.Database, invoked: req.Command,
		client: req.Client, peer: peerOf(req.Client), legacy: req.Legacy,
	}
	c.body = bodyOf(req.Body, c.room[:])
	return c
}

// inner returns the call of a command within another, in nobody's session.
func (c *call) inner(db, name string, doc bson.Raw) *call {
	return &call{
		ctx: c.ctx, node: c.node, cluster: c.cluster,
		db: db, body: bodyOf(doc, nil), invoked: name, client: c.client, peer: c.peer, now: c.now, request: c.request,
	}
}

// checkOption refuses an option of old that looks like maxTimeMS.
func (c *call) checkOption() error {
	if !c.body.Lookup("$maxTimeMs").IsZero() {
		return mongoerr.New(mongoerr.InvalidOptions, "no such command option $maxTimeMs; use maxTimeMS instead")
	}
	return nil
}

func (c *call) readMaxTime(now time.Time) error {
	v := c.body.Lookup("maxTimeMS")
	if v.IsZero() {
		return nil
	}
	ms, ok := v.AsInt64OK()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "maxTimeMS must be a number")
	}
	if ms < 0 || ms > math.MaxInt32 {
		return mongoerr.New(mongoerr.BadValue, "%d value for maxTimeMS is out of range", ms)
	}
	if ms > 0 {
		c.limitTime(now, time.Duration(ms)*time.Millisecond)
	}
	return nil
}

// limitTime ends the command after a while: its waits in the cluster's time, and
// what it computes in real time. A getMore only waits that long.
func (c *call) limitTime(now time.Time, most time.Duration) {
	c.deadline = now.Add(most)
	if c.invoked != "getMore" {
		c.limit = most
	}
}

// timeLeft is what its limit leaves to the command's cursor; 0 without a limit.
func (c *call) timeLeft() time.Duration {
	if c.limit == 0 {
		return 0
	}
	return max(c.limit-c.computed, time.Nanosecond)
}

// outside runs what only computes with the cluster's lock given back. It may read
// what the command has captured, and must not touch the cluster; what was read of
// it before is out of date afterwards. compute ends when ctx does, with its
// cause: the time is up, the command was killed, its client or the server goes.
func (c *call) outside(compute func(ctx context.Context) error) error {
	if c.limited == nil {
		c.limited = c.ctx
		if c.limit > 0 {
			c.limited, c.unlimit = context.WithTimeoutCause(c.ctx, c.limit, errMaxTime())
		}
	}
	c.node.storeWrites(c)
	began := time.Now()
	err := c.cluster.Outside(func() error { return compute(c.limited) })
	c.computed += time.Since(began)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", err)
	}
	if err != nil || c.replaced == c.cluster.Replaced() {
		return err
	}
	c.replaced = c.cluster.Replaced() // another state, with other users
	return c.node.checkPrivileges(c.cmd, c)
}

// noDisk reports whether the command's stages may not go to a server's disk.
func (c *call) noDisk() bool {
	if v := c.body.Lookup("allowDiskUse"); !v.IsZero() {
		return !args.Truth(v)
	}
	return !c.cluster.Release().SpillsToDisk()
}

// end lets go of what the command had while it ran.
func (c *call) end() {
	if c.unlimit != nil {
		c.unlimit()
	}
}

// outside is that of a call, for what computes a value.
func outside[T any](c *call, compute func(ctx context.Context) (T, error)) (T, error) {
	var value T
	err := c.outside(func(ctx context.Context) (err error) {
		value, err = compute(ctx)
		return err
	})
	return value, err
}

// let returns the command's variables, evaluated. It computes.
func (c *call) let() (bson.Raw, error) {
	if c.settled == nil {
		given, err := c.document("let")
		if err != nil {
			return nil, err
		}
		settled, err := c.settle(given)
		if err != nil {
			return nil, err
		}
		c.settled = &settled
	}
	return *c.settled, nil
}

// settle evaluates variables. It computes.
func (c *call) settle(variables bson.Raw) (bson.Raw, error) {
	return expr.Settled(cmp.Or(c.limited, c.ctx), variables)
}

// matches tells of each document whether a query matches it.
func (c *call) matches(query bson.Raw, docs []bson.Raw) ([]bool, error) {
	return outside(c, func(ctx context.Context) ([]bool, error) {
		filter, err := c.filter(query)
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

// matching returns the documents that a query matches.
func (c *call) matching(query bson.Raw, docs []bson.Raw) ([]bson.Raw, error) {
	matches, err := c.matches(query, docs)
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

func errMaxTime() error {
	return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
}

// namespace joins the call's database and a collection name given as the
// command's value.
func (c *call) namespace() (string, error) {
	v := c.body.Lookup(c.invoked)
	name, ok := v.StringValueOK()
	if !ok {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", args.TypeName(v.Type))
	}
	if name == "" || name[0] == '.' || strings.ContainsRune(name, 0) {
		return "", mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s.%s'", c.db, name)
	}
	return c.db + "." + name, nil
}
