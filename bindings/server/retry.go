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

// SendRetryable is Send for writes of single documents: after a network error,
// or one the server labels so, the same command goes out once more with the same
// transaction number. A write that changes a shard key's value needs the number,
// too, outside of transactions. Servers that keep no such numbers get plain
// commands.
func (s *Gateway) SendRetryable(r Request) (bson.Raw, error) {
	if reply, err := s.guard(r); reply != nil || err != nil {
		return reply, err
	}
	body, ok := r.Body.(bson.D)
	if !ok || s.noRetryWrites {
		return s.send(r)
	}
	numbered, err := r.Conn.supportsTxnNumbers()
	if err != nil {
		return nil, err
	}
	sess := r.driverSession()
	if !numbered || sess == nil {
		return s.send(r)
	}
	number, ok := r.Conn.nextTxnNumber(sess)
	if !ok {
		return s.send(r)
	}
	r.Body = append(body[:len(body):len(body)], bson.E{Key: "txnNumber", Value: number})
	answered, err := s.BeginSend(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context(s.JS.Context())
	reply, err := r.DB().RunCommand(ctx, r.Body).Raw()
	if err != nil && s.JS.Context().Err() == nil && isRetryable(err) {
		reply, err = r.DB().RunCommand(ctx, r.Body).Raw()
	}
	answered(reply, err)
	if r.session == nil && isNetworkError(err) && s.JS.Context().Err() == nil { // its numbers may be anywhere now
		r.Conn.EndDefaultSession(context.WithoutCancel(s.JS.Context()))
	}
	return s.HandleReply(reply, err)
}

// shouldRetryRead reports whether a failed read should be retried once: the
// connection was lost, or the member it went to is on its way out. Where no
// server was to be found, the driver has waited for one.
func (s *Gateway) shouldRetryRead(r Request, err error) bool {
	return err != nil && !isNoServer(err) && r.IsRead && r.session == nil && s.JS.Context().Err() == nil &&
		(isNetworkError(err) || mongoerr.Code(CodeOf(err)).IsUnavailable())
}

// IsTransient reports whether an error that was thrown, of which name and code are
// given, may be gone when one asks again: the server, or the way to it, was not
// there. The code is 0 where there is none.
func IsTransient(name string, code int32) bool {
	switch name {
	case "MongoNetworkError", "MongoNetworkTimeoutError", "MongoServerSelectionError", "MongoPoolClearedError":
		return true
	}
	return mongoerr.Code(code).IsUnavailable()
}

// IsOutcomeUnknown reports whether it is unknown, after an error, if a command has changed
// something: it was sent, and then the connection broke, or the server went away.
func IsOutcomeUnknown(err error) bool {
	code := mongoerr.Code(CodeOf(err))
	return isNetworkError(err) && !isNoServer(err) || code.IsUnavailable()
}

// isNoServer reports whether no server could be selected.
func isNoServer(err error) bool { return errors.As(err, new(topology.ServerSelectionError)) }

func isRetryable(err error) bool {
	var command mongo.CommandError
	return isNetworkError(err) && !isNoServer(err) ||
		errors.As(err, &command) && command.HasErrorLabel("RetryableWriteError")
}

// supportsTxnNumbers reports whether the server keeps transaction numbers: members of
// replica sets and mongos do.
func (m *Conn) supportsTxnNumbers() (bool, error) {
	hello, err := m.helloReply()
	if err != nil {
		return false, err
	}
	if _, err := hello.LookupErr("logicalSessionTimeoutMinutes"); err != nil {
		return false, nil //nolint:nilerr // a server of its own, or an old one
	}
	return rawdoc.Text(hello, "msg") == "isdbgrid" || rawdoc.Text(hello, "setName") != "", nil
}
