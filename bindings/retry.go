package bindings

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// sendRetryable is send for writes of single documents: after a network error,
// or one the server labels so, the same command goes out once more with the same
// transaction number. Servers that keep no such numbers get plain commands.
func (s *Shell) sendRetryable(r request) (bson.Raw, error) {
	body, ok := r.body.(bson.D)
	if !ok || r.session != nil || s.cfg.Guard != nil || s.cfg.NoRetryWrites || !r.on.numbersWrites() {
		return s.send(r)
	}
	home := r.on.homeSession()
	if home == nil {
		return s.send(r)
	}
	home.number++
	r.body = append(body[:len(body):len(body)], bson.E{Key: "txnNumber", Value: home.number})
	ctx := r.context(s.ctx)
	reply, err := r.db().RunCommand(ctx, r.body).Raw()
	if err != nil && s.ctx.Err() == nil && retryable(err) {
		reply, err = r.db().RunCommand(ctx, r.body).Raw()
	}
	if isNetworkError(err) && s.ctx.Err() == nil { // its numbers may be anywhere now
		home.driver.EndSession(context.WithoutCancel(s.ctx))
		r.on.home = nil
	}
	return s.answer(reply, err)
}

func retryable(err error) bool {
	var command mongo.CommandError
	return isNetworkError(err) || asError(err, &command) && command.HasErrorLabel("RetryableWriteError")
}

// numbersWrites reports whether the server keeps transaction numbers: members of
// replica sets and mongos do.
func (m *mongoObject) numbersWrites() bool {
	hello := m.helloReply()
	if _, err := hello.LookupErr("logicalSessionTimeoutMinutes"); err != nil {
		return false
	}
	return textAt(hello, "msg") == "isdbgrid" || textAt(hello, "setName") != ""
}
