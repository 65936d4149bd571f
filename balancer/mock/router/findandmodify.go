package router

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mongoerr"
)

// findAndModify of a retryable write gives its first reply again.
func findAndModify(c *call) (bson.D, error) {
	statements, err := c.beginRetryable(1)
	if err != nil {
		return nil, err
	}
	done, err := statements.once(0, func() (*outcome, error) { return findAndModifyOnce(c) })
	if err != nil {
		return nil, err
	}
	reply := slices.Clone(done.reply)
	if len(statements.retried) > 0 {
		reply = append(reply, bson.E{Key: "retriedStmtId", Value: statements.id(0)})
	}
	return reply, nil
}

func findAndModifyOnce(c *call) (*outcome, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	req, err := outside(c, func(context.Context) (mock.FindOneRequest, error) { return findOneRequest(c) })
	if err != nil {
		return nil, err
	}
	result, err := c.request.FindAndModify(ns, req)
	if err != nil {
		return nil, whileExecuting("findAndModify", err)
	}
	return &outcome{matched: result.Matched, modified: result.Modified, upserted: result.UpsertedID,
		removed: req.Remove && result.Matched > 0, reply: modified(result, req.Remove)}, nil
}

// whileExecuting says of an error that arose at a document that it did, as the
// server does for updates.
func whileExecuting(command string, err error) error {
	code, known := mongoerr.CodeOf(err)
	if !known || code == mongoerr.BadValue || code == mongoerr.CommandNotSupportedOnView ||
		code == mongoerr.HostUnreachable {
		return err
	}
	return mongoerr.Wrap(err, "Plan executor error during "+command)
}

// shown returns how a findAndModify shows its document, which is made before
// anything is written: it may fail, or take long.
func (c *call) shown(remove bool) (func(ctx context.Context, before, after bson.Raw) (bson.Raw, error), error) {
	fields, err := c.document("fields")
	if err != nil {
		return nil, err
	}
	var projection *projection.Projection
	if len(fields) > 5 {
		if projection, err = c.projection(fields, nil); err != nil {
			return nil, err
		}
	}
	isNew := args.Truth(c.body.Lookup("new")) && !remove
	return func(ctx context.Context, before, after bson.Raw) (bson.Raw, error) {
		doc := before
		if isNew {
			doc = after
		}
		if doc == nil {
			return nil, nil
		}
		return projection.Projector(ctx)(doc)
	}, nil
}

// findOneRequest reads a findAndModify.
func findOneRequest(c *call) (mock.FindOneRequest, error) {
	req := mock.FindOneRequest{Remove: args.Truth(c.body.Lookup("remove"))}
	query, err := c.document("query")
	if err != nil {
		return req, err
	}
	if query == nil {
		query = bson.Raw{5, 0, 0, 0, 0}
	}
	update := c.body.Lookup("update")
	switch {
	case req.Remove && !update.IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify both an update and remove=true")
	case req.Remove && args.Truth(c.body.Lookup("upsert")):
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify both upsert=true and remove=true")
	case req.Remove && args.Truth(c.body.Lookup("new")):
		return req, mongoerr.New(mongoerr.FailedToParse,
			"Cannot specify both new=true and remove=true; 'remove' always returns the deleted document")
	case req.Remove && !c.body.Lookup("arrayFilters").IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify arrayFilters and remove=true")
	case !req.Remove && update.IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	case req.Remove:
		if req.Filter, err = c.filter(query); err != nil {
			return req, err
		}
		req.Sort, req.Hint, err = c.pick(c.body.Raw)
	default:
		_, q, marshalErr := bson.MarshalValue(query)
		if marshalErr != nil {
			return req, marshalErr
		}
		filter := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: q}
		req.UpdateRequest, err = updateRequest(c, filter, update, c.body.Raw)
	}
	if err != nil {
		return req, err
	}
	req.Retryable = c.retryable()
	req.Show, err = c.shown(req.Remove)
	return req, err
}

// modified returns the reply of findAndModify.
func modified(result mock.UpdateResult, remove bool) bson.D {
	n := result.Matched
	last := bson.D{}
	if !remove {
		last = append(last, bson.E{Key: "updatedExisting", Value: result.Matched > 0})
		if !result.UpsertedID.IsZero() {
			n = 1
			last = append(last, bson.E{Key: "upserted", Value: result.UpsertedID})
		}
	}
	last = append(bson.D{{Key: "n", Value: int32(n)}}, last...)
	reply := bson.D{{Key: "lastErrorObject", Value: last}}
	if result.Shown == nil {
		return append(reply, bson.E{Key: "value", Value: nil})
	}
	return append(reply, bson.E{Key: "value", Value: result.Shown})
}
