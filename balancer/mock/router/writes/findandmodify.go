package writes

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mongoerr"
)

// findAndModify updates or removes one document. A retry of a retryable write returns the first reply
// again.
func findAndModify(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statements, err := beginRetryable(c, 1)
	if err != nil {
		return nil, err
	}
	done, err := statements.runOnce(c, 0, ns, func() (*call.Outcome, error) { return findAndModifyOnce(c, ns) })
	if err != nil {
		return nil, err
	}
	reply := slices.Clone(done.Reply)
	if len(statements.retried) > 0 {
		reply = append(reply, bson.E{Key: "retriedStmtId", Value: statements.id(0)})
	}
	return reply, nil
}

func findAndModifyOnce(c *call.Call, ns string) (*call.Outcome, error) {
	req, err := call.WithoutLock(c, func(context.Context) (mock.FindAndModifyRequest, error) {
		return FindAndModifyRequest(c)
	})
	if err != nil {
		return nil, err
	}
	result, err := c.Request.FindAndModify(ns, req)
	if err != nil {
		return nil, wrapExecutionError("findAndModify", err)
	}
	return &call.Outcome{Matched: result.Matched, Modified: result.Modified, Upserted: result.UpsertedID,
		Removed: req.Remove && result.Matched > 0, Reply: findAndModifyReply(result, req.Remove)}, nil
}

// wrapExecutionError adds the server's prefix to an error that occurred during execution.
func wrapExecutionError(command string, err error) error {
	code, known := mongoerr.CodeOf(err)
	if !known || code == mongoerr.BadValue || code == mongoerr.CommandNotSupportedOnView ||
		code == mongoerr.HostUnreachable {
		return err
	}
	return mongoerr.Wrap(err, "Plan executor error during "+command)
}

// imageFunc returns a function that computes the returned document. The command calls it before it
// writes, because it may fail or take long.
func imageFunc(c *call.Call, remove bool) (
	func(ctx context.Context, before, after bson.Raw) (bson.Raw, error), error) {
	fields, err := c.Document("fields")
	if err != nil {
		return nil, err
	}
	var projection *projection.Projection
	if !document.IsEmpty(fields) {
		if projection, err = c.Projection(fields, nil); err != nil {
			return nil, err
		}
	}
	isNew := args.IsTrueOrNonzero(c.Body.Lookup("new")) && !remove
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

// FindAndModifyRequest parses a findAndModify.
func FindAndModifyRequest(c *call.Call) (mock.FindAndModifyRequest, error) {
	req := mock.FindAndModifyRequest{Remove: args.IsTrueOrNonzero(c.Body.Lookup("remove"))}
	query, err := c.Document("query")
	if err != nil {
		return req, err
	}
	if query == nil {
		query = document.Empty
	}
	update := c.Body.Lookup("update")
	switch {
	case req.Remove && !update.IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify both an update and remove=true")
	case req.Remove && args.IsTrueOrNonzero(c.Body.Lookup("upsert")):
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify both upsert=true and remove=true")
	case req.Remove && args.IsTrueOrNonzero(c.Body.Lookup("new")):
		return req, mongoerr.New(mongoerr.FailedToParse,
			"Cannot specify both new=true and remove=true; 'remove' always returns the deleted document")
	case isPipeline(c.Body.Lookup("update")) && !c.Body.Lookup("arrayFilters").IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify arrayFilters and a pipeline update")
	case req.Remove && !c.Body.Lookup("arrayFilters").IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify arrayFilters and remove=true")
	case !req.Remove && update.IsZero():
		return req, mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	case req.Remove:
		if req.Filter, err = c.Filter(query); err != nil {
			return req, err
		}
		req.Sort, req.Hint, err = readSortAndHint(c, c.Body.Raw, call.DocumentValue(query), bson.RawValue{})
	default:
		req.UpdateRequest, err = UpdateRequest(c, call.DocumentValue(query), update, c.Body.Raw)
	}
	if err != nil {
		return req, err
	}
	req.MayChangeKey = isRetryable(c)
	req.ComputeReturned, err = imageFunc(c, req.Remove)
	return req, err
}

// findAndModifyReply returns the reply of findAndModify.
func findAndModifyReply(result mock.UpdateResult, remove bool) bson.D {
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
	if result.Returned == nil {
		return append(reply, bson.E{Key: "value", Value: nil})
	}
	return append(reply, bson.E{Key: "value", Value: result.Returned})
}

func isPipeline(update bson.RawValue) bool {
	_, err := args.Documents(update)
	return err == nil
}
