package explain

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/router/writes"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// writeStage returns the plan stage of an explained write. A write of a single document by _id has one
// combined stage; if combined is false, the stages stay separate.
func writeStage(name string, combined bool, input *store.Stage, done bson.D) *store.Stage {
	if isExpress(input) {
		both := *input
		if combined {
			both.Name, both.Counters = "EXPRESS_"+name, append(slices.Clone(input.Counters), done...)
			return &both
		}
		both.Name = "IDHACK"
		input = &both
	}
	return (&store.Stage{Name: name, Works: input.Works + 1, Counters: done}).AddInput(input)
}

// singleStatement returns the statement of a write command. explain accepts only one.
func singleStatement(c *call.Call, field string) (bson.Raw, error) {
	docs, err := args.Documents(c.Body.Lookup(field))
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, mongoerr.New(mongoerr.InvalidLength, "explained write batches must be of size 1")
	}
	return docs[0], nil
}

func explainUpdate(c *call.Call, level verbosity) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statement, err := singleStatement(c, "updates")
	if err != nil {
		return nil, err
	}
	if err := args.Check("update.updates", writes.UpdateStatementFields(), statement); err != nil {
		return nil, err
	}
	req, err := call.WithoutLock(c, func(context.Context) (mock.UpdateRequest, error) {
		return writes.UpdateRequest(c, statement.Lookup("q"), statement.Lookup("u"), statement)
	})
	if err != nil {
		return nil, err
	}
	q := call.Query{NS: ns, Filter: req.Filter, Hint: req.Hint}
	if !req.Multi {
		q.Limit = 1
	}
	return explainWrite(c, q, level, "SHARD_WRITE",
		func(ctx context.Context, p reads.ShardQuery, input *store.Stage) *store.Stage {
			return updateStage(ctx, req, p, input)
		})
}

func updateStage(ctx context.Context, req mock.UpdateRequest, p reads.ShardQuery, input *store.Stage) *store.Stage {
	modified, upserted := 0, 0
	for _, doc := range p.Docs {
		if _, changed, err := req.Update.ApplyContext(ctx, doc); err == nil && changed {
			modified++
		}
	}
	if len(p.Docs) == 0 && req.Upsert {
		upserted = 1
	}
	return writeStage("UPDATE", !req.Multi && !req.Upsert, input, bson.D{
		{Key: "nMatched", Value: document.SmallestInt(int64(len(p.Docs)))}, {Key: "nWouldModify",
			Value: int32(modified)}, {Key: "nWouldUpsert", Value: int32(upserted)},
	})
}

func deleteStage(_ context.Context, p reads.ShardQuery, input *store.Stage) *store.Stage {
	return newDeleteStage("DELETE", true, p, input)
}

func batchedDeleteStage(_ context.Context, p reads.ShardQuery, input *store.Stage) *store.Stage {
	return newDeleteStage("BATCHED_DELETE", false, p, input)
}

func newDeleteStage(name string, combined bool, p reads.ShardQuery, input *store.Stage) *store.Stage {
	deleted := document.SmallestInt(int64(len(p.Docs)))
	return writeStage(name, combined, input, bson.D{{Key: "nWouldDelete", Value: deleted}})
}

func explainDelete(c *call.Call, level verbosity) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statement, err := singleStatement(c, "deletes")
	if err != nil {
		return nil, err
	}
	if err := writes.CheckDelete(statement); err != nil {
		return nil, err
	}
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) {
		return writes.DeleteQuery(c, ns, statement.Lookup("q").Document(), args.IsTrueOrNonzero(statement.Lookup("limit")),
			statement)
	})
	if err != nil {
		return nil, err
	}
	stage := batchedDeleteStage
	if q.Limit == 1 {
		stage = deleteStage
	}
	return explainWrite(c, q, level, "SHARD_WRITE", stage)
}

func explainFindAndModify(c *call.Call, level verbosity) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	req, err := call.WithoutLock(c,
		func(context.Context) (mock.FindAndModifyRequest, error) { return writes.FindAndModifyRequest(c) })
	if err != nil {
		return nil, err
	}
	q := call.Query{NS: ns, Filter: req.Filter, Sort: req.Sort, Hint: req.Hint, Limit: 1}
	if q.SortPattern, err = c.Document("sort"); err != nil {
		return nil, err
	}
	if req.Remove {
		return explainWrite(c, q, level, "SINGLE_SHARD", deleteStage)
	}
	return explainWrite(c, q, level, "SINGLE_SHARD", func(ctx context.Context, p reads.ShardQuery, input *store.Stage,
	) *store.Stage {
		return updateStage(ctx, req.UpdateRequest, p, input)
	})
}

func explainWrite(c *call.Call, q call.Query, level verbosity, top string, write func(context.Context, reads.ShardQuery,
	*store.Stage) *store.Stage) (bson.D, error) {
	if call.IsView(c, q.NS) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", q.NS)
	}
	return explainQuery(c, q, level, func(ctx context.Context, parts []reads.ShardQuery, h fallbackShard) (bson.D, error) {
		plans := shardPlans(h, q, parts, func(p reads.ShardQuery, shape store.ResultShape) (*store.Stage, store.Totals) {
			if q.Sort.IsEmpty() {
				shape.Limit = 0
			}
			shape.ShardKey = nil // a write does not use the shard filter stage; it checks each document itself
			input, totals := planStages(p, shape)
			return write(ctx, p, input), totals
		})
		if top == "SINGLE_SHARD" {
			top = mergeStage(len(plans), false)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e := explanation{ns: q.NS, query: q, parts: plans, mergeStage: top}
		return append(e.reply(c.Cluster, level), explainTail(c)...), nil
	})
}
