package server

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
)

// SendRetryable works like Send, for writes of single documents. After a network error, or an error
// with the label for retries, it sends the same command once more with the same transaction number.
// Outside of transactions, a write that changes a shard key value also needs the number. Servers that
// do not support transaction numbers get plain commands.
func (g *Gateway) SendRetryable(r Request) (bson.Raw, error) {
	if reply, err := g.guard(r); reply != nil || err != nil {
		return reply, err
	}
	body, ok := r.Body.(bson.D)
	if !ok || g.noRetryWrites {
		return g.send(r)
	}
	numbered, err := r.Conn.supportsTxnNumbers()
	if err != nil {
		return nil, err
	}
	sess := r.driverSession()
	if !numbered || sess == nil {
		return g.send(r)
	}
	number, ok := r.Conn.nextTxnNumber(sess)
	if !ok {
		return g.send(r)
	}
	r.Body = append(body[:len(body):len(body)], bson.E{Key: "txnNumber", Value: number})
	answered, err := g.RunSendHook(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(g.JS.Context())
	reply, err := r.DB().RunCommand(ctx, r.Body).Raw()
	if err != nil && g.JS.Context().Err() == nil && isRetryable(err) {
		reply, err = r.DB().RunCommand(ctx, r.Body).Raw()
	}
	answered(reply, err)
	if r.session == nil && isNetworkError(err) && g.JS.Context().Err() == nil { // its numbers are unknown now
		r.Conn.EndDefaultSession(context.WithoutCancel(g.JS.Context()))
	}
	return g.HandleReply(reply, err)
}

// shouldRetryRead reports whether a failed read should be retried once, because the connection was
// lost, or the member is stepping down or shutting down. If no server could be selected, the driver has
// already waited for one.
func (g *Gateway) shouldRetryRead(r Request, err error) bool {
	return err != nil && !isNoServer(err) && r.IsRepeatable && r.session == nil && g.JS.Context().Err() == nil &&
		(isNetworkError(err) || CodeOf(err).IsUnavailable())
}

// IsTransient reports whether a thrown error with a name and code may disappear on a retry, because the
// server or the network was not available. The code is 0 for errors without one.
func IsTransient(name string, code int32) bool {
	switch name {
	case "MongoNetworkError", "MongoNetworkTimeoutError", "MongoServerSelectionError", "MongoPoolClearedError":
		return true
	}
	return mongoerr.Code(code).IsUnavailable()
}

// IsOutcomeUnknown reports whether, after an error, it is unknown if a command has changed something:
// the command was sent, and then the connection broke or the server became unavailable.
func IsOutcomeUnknown(err error) bool {
	return isNetworkError(err) && !isNoServer(err) || CodeOf(err).IsUnavailable()
}

// isNoServer reports whether no server could be selected.
func isNoServer(err error) bool { return errors.As(err, new(topology.ServerSelectionError)) }

func isRetryable(err error) bool {
	var command mongo.CommandError
	return isNetworkError(err) && !isNoServer(err) ||
		errors.As(err, &command) && command.HasErrorLabel("RetryableWriteError")
}

// supportsTxnNumbers reports whether the server supports transaction numbers: members of replica sets
// and mongos do.
func (c *Conn) supportsTxnNumbers() (bool, error) {
	hello, err := c.helloReply()
	if err != nil {
		return false, err
	}
	if _, err := hello.LookupErr("logicalSessionTimeoutMinutes"); err != nil {
		return false, nil //nolint:nilerr // a server of its own, or an old one
	}
	return rawdoc.Text(hello, "msg") == "isdbgrid" || rawdoc.Text(hello, "setName") != "", nil
}
