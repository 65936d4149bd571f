package router

import (
	"context"
	"math"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// call is one command under way.
type call struct {
	ctx     context.Context
	node    *node // that it came to
	cluster *mock.Cluster
	db      string
	body    bson.Raw
	args    args.Values
	client  *wire.Client
	peer    *peer
	legacy  bool
	now     time.Time // the cluster's, when the command came
	// request is the command as the cluster's nodes see it.
	request *mock.Request
	invoked string // the name it was called by
	// deadline comes from maxTimeMS; zero without one.
	deadline time.Time
	// lsid and session are nil without a session, txnNumber outside of a
	// retryable write.
	lsid      *sessionID
	lsidErr   error
	session   *session
	txnNumber *int64
	// snapshot is the state that a read with that level is about; nil with others.
	snapshot *bson.Timestamp
	// opid is the number that killOp takes.
	opid int32
}

// begin makes the call of a request.
func (n *node) begin(ctx context.Context, req wire.Request) *call {
	return &call{
		ctx: ctx, node: n, cluster: n.cluster,
		db: req.Database, body: req.Body, invoked: req.Command,
		client: req.Client, peer: peerOf(req.Client), legacy: req.Legacy,
	}
}

// inner returns the call of a command within another, in nobody's session.
func (c *call) inner(db, name string, body bson.Raw) *call {
	return &call{
		ctx: c.ctx, node: c.node, cluster: c.cluster,
		db: db, body: body, invoked: name, client: c.client, peer: c.peer, now: c.now, request: c.request,
	}
}

func (c *call) readMaxTime(now time.Time) error {
	if !c.body.Lookup("$maxTimeMs").IsZero() {
		return mongoerr.New(mongoerr.InvalidOptions, "no such command option $maxTimeMs; use maxTimeMS instead")
	}
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
		c.deadline = now.Add(time.Duration(ms) * time.Millisecond)
	}
	return nil
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
