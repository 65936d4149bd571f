package router

import (
	"context"
	"runtime"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

func writeHandlers() map[string]handler {
	return map[string]handler{
		"insert":        insert,
		"update":        updateDocuments,
		"delete":        deleteDocuments,
		"findAndModify": findAndModify,
	}
}

// batch is what a batch of writes has done.
type batch struct {
	matched, modified int
	upserted          bson.A
	failures          bson.A
	errorBytes        int
	ended             []ended
	statements        *statementIDs
}

// ended is one statement that has been run: what it did, or why it failed.
type ended struct {
	index int
	done  *outcome
	err   error
}

// statements reads the documents of a batch of writes: 1 to 100,000.
func (c *call) statements(field string) ([]bson.Raw, error) {
	if c.body.Lookup(field).IsZero() {
		return nil, args.Missing(c.invoked, field)
	}
	docs, err := args.DocumentsAt(c.invoked+"."+field, c.body.Lookup(field))
	if err != nil {
		return nil, err
	}
	return docs, checkBatchSize(len(docs))
}

func checkBatchSize(n int) error {
	if n == 0 || n > maxWriteBatch {
		return mongoerr.New(mongoerr.InvalidLength, "Write batch sizes must be between 1 and %d. Got %d operations.",
			maxWriteBatch, n)
	}
	return nil
}

// statementsAtOnce is how many statements run before others have their turn.
const statementsAtOnce = 64

// letOthers gives the lock away and takes it again, unless the command is to end.
func (c *call) letOthers() error {
	return c.outside(func(ctx context.Context) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runtime.Gosched()
		return nil
	})
}

// batch runs statements one by one. An ordered batch ends at the first that
// fails.
func (c *call) batch(n int, each func(i int) (*outcome, error)) (*batch, error) {
	ordered := true
	if v := c.body.Lookup("ordered"); !v.IsZero() {
		ordered = args.Truth(v)
	}
	b := &batch{upserted: bson.A{}, failures: bson.A{}, ended: make([]ended, 0, n)}
	var err error
	if b.statements, err = c.beginRetryable(n); err != nil {
		return nil, err
	}
	for i := range n {
		if i%statementsAtOnce == statementsAtOnce-1 {
			if err := c.letOthers(); err != nil {
				return nil, err
			}
		}
		done, err := b.statements.once(i, func() (*outcome, error) { return each(i) })
		b.ended = append(b.ended, ended{i, done, err})
		if done != nil {
			b.add(i, done)
		}
		if interrupts(err) {
			return nil, err
		}
		if err != nil {
			b.fail(i, err)
			if ordered {
				break
			}
		}
	}
	return b, nil
}

// interrupts reports whether an error ends the whole command, and not only one of
// its statements.
func interrupts(err error) bool {
	if err == nil {
		return false
	}
	code, known := mongoerr.CodeOf(err)
	return known && slices.Contains([]mongoerr.Code{mongoerr.MaxTimeMSExpired, mongoerr.Interrupted,
		mongoerr.InterruptedAtShutdown, mongoerr.ClientDisconnect}, code)
}

func (b *batch) add(i int, done *outcome) {
	b.matched += done.matched
	b.modified += done.modified
	if !done.upserted.IsZero() {
		b.upserted = append(b.upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: done.upserted}})
	}
}

// reply puts what all batches have after a command's own fields.
func (b *batch) reply(fields bson.D) bson.D {
	if len(b.failures) > 0 {
		fields = append(fields, bson.E{Key: "writeErrors", Value: b.failures})
	}
	return b.statements.note(fields)
}

// maxErrorBytes is how much the texts of a batch's errors may take. Those after
// that are empty, as on the server, so that the reply is not too large to send.
const maxErrorBytes = 1 << 20

func (b *batch) fail(i int, err error) {
	doc := writeError(i, err)
	if b.errorBytes > maxErrorBytes {
		doc[2].Value, doc = "", doc[:3]
	}
	b.errorBytes += len(err.Error())
	b.failures = append(b.failures, doc)
}

// writeError returns one entry of writeErrors: no codeName, the extra fields
// last.
func writeError(index int, err error) bson.D {
	server := asServerError(err)
	doc := bson.D{
		{Key: "index", Value: int32(index)},
		{Key: "code", Value: int32(server.Code)},
		{Key: "errmsg", Value: err.Error()},
	}
	return append(doc, server.Extra...)
}

// inserted is what every insert does.
var inserted = &outcome{matched: 1, modified: 1}

func insertOne(c *call, ns string, doc bson.Raw) (*outcome, error) {
	doc = c.stamped(doc, c.cluster.Tick)
	if err := c.request.InsertChecked(ns, doc, !args.Truth(c.body.Lookup("bypassDocumentValidation"))); err != nil {
		return nil, err
	}
	return inserted, nil
}

// stamped returns a document, or an update's new one, with the time in place of
// its empty timestamps, unless the client wants them as they are: what is copied
// from elsewhere keeps them.
func (c *call) stamped(doc bson.Raw, tick func() bson.Timestamp) bson.Raw {
	if args.Truth(c.body.Lookup("bypassEmptyTsReplacement")) {
		return doc
	}
	return document.StampEmpty(doc, tick)
}

// stampedOutside is stamped for what is computed without the lock.
func (c *call) stampedOutside(doc bson.Raw) bson.Raw {
	return c.stamped(doc, func() bson.Timestamp {
		c.cluster.Lock()
		defer c.cluster.Unlock()
		return c.cluster.Tick()
	})
}

func insert(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	docs, err := c.statements("documents")
	if err != nil {
		return nil, err
	}
	b, err := c.batch(len(docs), func(i int) (*outcome, error) { return insertOne(c, ns, docs[i]) })
	if err != nil {
		return nil, err
	}
	return b.reply(bson.D{{Key: "n", Value: int32(b.matched)}}), nil
}

func updateDocuments(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	statements, err := c.statements("updates")
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := args.Check("update.updates", updateStatementFields(), s); err != nil {
			return nil, err
		}
		if err := knownStages(s.Lookup("u")); err != nil {
			return nil, err
		}
	}
	b, err := c.batch(len(statements), func(i int) (*outcome, error) {
		s := statements[i]
		return updateOne(c, ns, s.Lookup("q"), s.Lookup("u"), s)
	})
	if err != nil {
		return nil, err
	}
	reply := bson.D{{Key: "nModified", Value: int32(b.modified)}, {Key: "n", Value: int32(b.matched)}}
	if len(b.upserted) > 0 {
		reply = append(reply, bson.E{Key: "upserted", Value: b.upserted})
	}
	return b.reply(reply), nil
}

// updateOne runs one statement of an update.
func updateOne(c *call, ns string, q, u bson.RawValue, statement bson.Raw) (*outcome, error) {
	req, err := outside(c, func(context.Context) (mock.UpdateRequest, error) { return updateRequest(c, q, u, statement) })
	if err != nil {
		return nil, err
	}
	if err := c.notMany(req.Multi, "multi=true"); err != nil {
		return nil, err
	}
	req.Retryable = c.retryable()
	result, err := c.request.Update(ns, req)
	if err != nil {
		return nil, whileExecuting("update", err)
	}
	done := &outcome{matched: result.Matched, modified: result.Modified, upserted: result.UpsertedID}
	if !done.upserted.IsZero() {
		done.matched++
	}
	return done, nil
}

// retryable reports whether the command is a retryable write.
func (c *call) retryable() bool { return c.txnNumber != nil }

// updateRequest compiles one update; options are the statement that carries
// multi, upsert and arrayFilters.
func updateRequest(c *call, q, u bson.RawValue, options bson.Raw) (mock.UpdateRequest, error) {
	var req mock.UpdateRequest
	query, isDoc := q.DocumentOK()
	if !isDoc {
		return req, mongoerr.New(mongoerr.TypeMismatch, "the query of an update must be an object")
	}
	filter, err := c.filter(query)
	if err != nil {
		return req, err
	}
	let, err := c.let()
	if err != nil {
		return req, err
	}
	var arrayFilters []bson.Raw
	if v := options.Lookup("arrayFilters"); !v.IsZero() {
		if arrayFilters, err = args.DocumentsAt(c.invoked+".arrayFilters", v); err != nil {
			return req, err
		}
	}
	if let, err = c.withConstants(let, u, options); err != nil {
		return req, err
	}
	update, err := update.Compile(u, update.Options{
		ArrayFilters: arrayFilters, Filter: filter, Let: let, Now: c.now, NewID: func() bson.ObjectID { return c.newID() },
		Stamp: func(doc bson.Raw) bson.Raw { return c.stampedOutside(doc) },
	})
	if err != nil {
		return req, err
	}
	req = mock.UpdateRequest{
		Filter: filter, Query: query, Update: update,
		Multi: args.Truth(options.Lookup("multi")), Upsert: args.Truth(options.Lookup("upsert")),
		Unchecked: args.Truth(c.body.Lookup("bypassDocumentValidation")),
	}
	if req.Sort, req.Hint, err = c.pick(options); err != nil {
		return req, err
	}
	if req.Multi && !req.Sort.IsEmpty() {
		return req, mongoerr.New(mongoerr.FailedToParse, "Cannot specify sort with multi=true")
	}
	if req.Multi && update.IsReplacement() {
		return req, mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	return req, nil
}

// newID makes the _id of an upserted document, which is computed without the lock.
func (c *call) newID() bson.ObjectID {
	c.cluster.Lock()
	defer c.cluster.Unlock()
	return c.cluster.NewObjectID()
}

// withConstants adds an update's own variables, which pipelines may use.
func (c *call) withConstants(let bson.Raw, u bson.RawValue, options bson.Raw) (bson.Raw, error) {
	v := options.Lookup("c")
	if v.IsZero() {
		v = options.Lookup("constants")
	}
	constants, isDoc := v.DocumentOK()
	if !isDoc {
		return let, nil
	}
	if u.Type != bson.TypeArray {
		return nil, mongoerr.New(51198, "Constant values may only be specified for pipeline updates")
	}
	var all bson.D
	for _, of := range []bson.Raw{let, constants} {
		elems, _ := of.Elements()
		for _, e := range elems {
			all = append(all, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	raw, err := bson.Marshal(all)
	if err != nil {
		return nil, err
	}
	return c.settle(raw)
}

// pick reads what decides which document a write takes: sort and hint.
func (c *call) pick(options bson.Raw) (*order.Sort, bson.RawValue, error) {
	hint, err := c.hint(options)
	if err != nil {
		return nil, hint, err
	}
	if err := c.simpleCollation(options); err != nil {
		return nil, hint, err
	}
	by := options.Lookup("sort")
	if by.IsZero() || by.Type == bson.TypeNull {
		return nil, hint, nil
	}
	doc, isDoc := by.DocumentOK()
	if !isDoc {
		return nil, hint, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.sort' is the wrong type '%s', expected type 'object'", c.invoked, args.TypeName(by.Type))
	}
	sort, err := order.Compile(doc)
	return sort, hint, err
}

// checkDelete: a delete says how many it may delete, all or one.
func checkDelete(statement bson.Raw) error {
	if err := args.Check("delete.deletes", deleteStatementFields(), statement); err != nil {
		return err
	}
	v := statement.Lookup("limit")
	if n, isNumber := args.Number(v); !isNumber || n != 0 && n != 1 {
		return mongoerr.New(mongoerr.FailedToParse, "The limit field in delete objects must be 0 or 1. Got %s", v)
	}
	return nil
}

// deleteQuery reads one statement of a delete.
func (c *call) deleteQuery(ns string, filter bson.Raw, justOne bool, statement bson.Raw) (query, error) {
	q := query{ns: ns}
	if justOne {
		q.limit = 1
	}
	var err error
	if q.filter, err = c.filter(filter); err == nil {
		_, q.hint, err = c.pick(statement)
	}
	return q, err
}

func deleteMatching(c *call, ns string, filter bson.Raw, justOne bool, statement bson.Raw) (*outcome, error) {
	q, err := outside(c, func(context.Context) (query, error) { return c.deleteQuery(ns, filter, justOne, statement) })
	if err != nil {
		return nil, err
	}
	if err := c.notMany(!justOne, "limit=0"); err != nil {
		return nil, err
	}
	deleted, err := c.request.Delete(ns, q.request(), justOne)
	return &outcome{matched: deleted, modified: deleted}, err
}

func deleteDocuments(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	statements, err := c.statements("deletes")
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := checkDelete(s); err != nil {
			return nil, err
		}
	}
	b, err := c.batch(len(statements), func(i int) (*outcome, error) {
		s := statements[i]
		return deleteMatching(c, ns, s.Lookup("q").Document(), args.Truth(s.Lookup("limit")), s)
	})
	if err != nil {
		return nil, err
	}
	return b.reply(bson.D{{Key: "n", Value: int32(b.matched)}}), nil
}

// knownStages refuses the whole command for an update's pipeline with a stage
// that is none; what else is wrong with it fails its statement.
func knownStages(u bson.RawValue) error {
	known := pipeline.Stages()
	for name := range stageNames(u) {
		if !slices.Contains(known, name) {
			return mongoerr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
		}
	}
	return nil
}
