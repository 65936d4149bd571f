package router

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/failpoint"
	"shardsh/balancer/mongoerr"
)

// failPointFor returns the effect of the fail point on a call.
func (r *Router) failPointFor(cmd *call.Command, c *call.Call) *failpoint.Failure {
	if cmd == nil || cmd.MockOnly {
		return nil
	}
	return call.TakeFailure(&r.FailPoints.Command, cmd, c)
}

// failBefore applies the part of a failure that precedes the command. done is true if the command must
// not run.
func (r *Router) failBefore(ctx context.Context, f *failpoint.Failure, c *call.Call) (reply bson.Raw, done bool) {
	if f == nil {
		return nil, false
	}
	wait := f.Block
	limit := time.Duration(failpoint.IntOrZero(c.Body.Lookup("maxTimeMS"))) * time.Millisecond
	if limit > 0 && wait > limit {
		answerDelay(limit).sleep(ctx)
		return r.reply(nil, mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")), true
	}
	answerDelay(wait).sleep(ctx)
	switch {
	case f.CloseConnection:
		c.DropConnection()
		return r.reply(nil, call.ErrConnectionClosed()), true
	case f.Code != 0:
		err := mongoerr.New(f.Code, "Failing command via 'failCommand' failpoint")
		if f.Labels != nil {
			err.Extra = bson.D{{Key: "errorLabels", Value: f.Labels}}
			return r.reply(nil, err), true
		}
		return r.reply(nil, c.WithRetryLabel(err)), true
	}
	return nil, false
}
