package writes

import (
	"context"
	"runtime"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

func writeHandlers() map[string]call.Handler {
	return map[string]call.Handler{
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
	done  *call.Outcome
	err   error
}

// statements reads the documents of a batch of writes: 1 to 100,000.
func statements(c *call.Call, field string) ([]bson.Raw, error) {
	if c.Body.Lookup(field).IsZero() {
		return nil, args.Missing(c.Invoked, field)
	}
	docs, err := args.DocumentsAt(c.Invoked+"."+field, c.Body.Lookup(field))
	if err != nil {
		return nil, err
	}
	return docs, checkBatchSize(len(docs))
}

func checkBatchSize(n int) error {
	if n == 0 || n > call.MaxWriteBatch {
		return mongoerr.New(mongoerr.InvalidLength, "Write batch sizes must be between 1 and %d. Got %d operations.",
			call.MaxWriteBatch, n)
	}
	return nil
}

// statementsAtOnce is how many statements run before others have their turn.
const statementsAtOnce = 64

// letOthers gives the lock away and takes it again, unless the command is to end.
func letOthers(c *call.Call) error {
	return c.Outside(func(ctx context.Context) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runtime.Gosched()
		return nil
	})
}

// runBatch runs statements one by one, each on a collection. An ordered batch ends at the first that
// fails.
func runBatch(c *call.Call, n int, on func(i int) string, each func(i int) (*call.Outcome, error)) (*batch, error) {
	ordered := true
	if v := c.Body.Lookup("ordered"); !v.IsZero() {
		ordered = args.Truth(v)
	}
	b := &batch{upserted: bson.A{}, failures: bson.A{}, ended: make([]ended, 0, n)}
	var err error
	if b.statements, err = beginRetryable(c, n); err != nil {
		return nil, err
	}
	for i := range n {
		if i%statementsAtOnce == statementsAtOnce-1 {
			if err := letOthers(c); err != nil {
				return nil, err
			}
		}
		done, err := b.statements.once(c, i, on(i), func() (*call.Outcome, error) { return each(i) })
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

// only is the collection of all statements.
func only(ns string) func(int) string { return func(int) string { return ns } }

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

func (b *batch) add(i int, done *call.Outcome) {
	b.matched += done.Matched
	b.modified += done.Modified
	if !done.Upserted.IsZero() {
		b.upserted = append(b.upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: done.Upserted}})
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
var inserted = &call.Outcome{Matched: 1, Modified: 1}

// insertion is how a command wants its documents to be inserted.
type insertion struct {
	unchecked bool // by the collection's validator
	unstamped bool
}

func insertionOf(c *call.Call) insertion {
	return insertion{args.Truth(c.Body.Lookup("bypassDocumentValidation")), unstamped(c)}
}

func insertOne(c *call.Call, ns string, doc bson.Raw, how insertion) (*call.Outcome, error) {
	if !how.unstamped {
		doc = document.StampEmpty(doc, c.Cluster.IDs().Tick)
	}
	if err := c.Request.InsertChecked(ns, doc, !how.unchecked); err != nil {
		return nil, err
	}
	return inserted, nil
}

// unstamped reports whether the client wants empty timestamps as they are, and not the
// time in their place: what is copied from elsewhere keeps them.
func unstamped(c *call.Call) bool { return args.Truth(c.Body.Lookup("bypassEmptyTsReplacement")) }

// stampedOutside returns an update's new document, which is computed without the lock,
// with the time in place of its empty timestamps.
func stampedOutside(c *call.Call, doc bson.Raw) bson.Raw {
	if unstamped(c) {
		return doc
	}
	return document.StampEmpty(doc, func() bson.Timestamp {
		c.Cluster.Lock()
		defer c.Cluster.Unlock()
		return c.Cluster.IDs().Tick()
	})
}

func insert(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	docs, err := statements(c, "documents")
	if err != nil {
		return nil, err
	}
	how := insertionOf(c)
	b, err := runBatch(c, len(docs), only(ns), func(i int) (*call.Outcome, error) {
		return insertOne(c, ns, docs[i], how)
	})
	if err != nil {
		return nil, err
	}
	return b.reply(bson.D{{Key: "n", Value: int32(b.matched)}}), nil
}

func updateDocuments(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statements, err := statements(c, "updates")
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := args.Check("update.updates", UpdateStatementFields(), s); err != nil {
			return nil, err
		}
		if err := knownStages(s.Lookup("u")); err != nil {
			return nil, err
		}
	}
	b, err := runBatch(c, len(statements), only(ns), func(i int) (*call.Outcome, error) {
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
func updateOne(c *call.Call, ns string, q, u bson.RawValue, statement bson.Raw) (*call.Outcome, error) {
	if err := checkForm(c, ns, u, args.Truth(statement.Lookup("multi"))); err != nil {
		return nil, err
	}
	req, err := call.Outside(c, func(context.Context) (mock.UpdateRequest, error) {
		return UpdateRequest(c, q, u, statement)
	})
	if err != nil {
		return nil, err
	}
	if err := checkUpsert(c, ns, req); err != nil {
		return nil, err
	}
	if err := refuseMany(c, req.Multi, "multi=true"); err != nil {
		return nil, err
	}
	req.Retryable = isRetryable(c)
	result, err := c.Request.Update(ns, req)
	if err != nil {
		return nil, whileExecuting("update", err)
	}
	done := &call.Outcome{Matched: result.Matched, Modified: result.Modified, Upserted: result.UpsertedID}
	if !done.Upserted.IsZero() {
		done.Matched++
	}
	return done, nil
}

// isRetryable reports whether the command is a retryable write.
func isRetryable(c *call.Call) bool { return c.TxnNumber != nil }

// UpdateRequest compiles one update; options are the statement that carries
// multi, upsert and arrayFilters.
func UpdateRequest(c *call.Call, q, u bson.RawValue, options bson.Raw) (mock.UpdateRequest, error) {
	var req mock.UpdateRequest
	query, isDoc := q.DocumentOK()
	if !isDoc {
		return req, mongoerr.New(mongoerr.TypeMismatch, "the query of an update must be an object")
	}
	filter, err := c.Filter(query)
	if err != nil {
		return req, err
	}
	let, err := c.Let()
	if err != nil {
		return req, err
	}
	var arrayFilters []bson.Raw
	if v := options.Lookup("arrayFilters"); !v.IsZero() {
		if arrayFilters, err = args.DocumentsAt(c.Invoked+".arrayFilters", v); err != nil {
			return req, err
		}
	}
	if let, err = withConstants(c, let, u, options); err != nil {
		return req, err
	}
	supplied, err := suppliedDocument(options)
	if err != nil {
		return req, err
	}
	update, err := update.Compile(u, update.Options{
		ArrayFilters: arrayFilters, Filter: filter, Let: let, Now: c.Now, NewID: func() bson.ObjectID { return newID(c) },
		Stamp: func(doc bson.Raw) bson.Raw { return stampedOutside(c, doc) }, Supplied: supplied, Language: c.Language(),
	})
	if err != nil {
		return req, err
	}
	req = mock.UpdateRequest{
		Filter: filter, Query: query, Update: update,
		Multi: args.Truth(options.Lookup("multi")), Upsert: args.Truth(options.Lookup("upsert")),
		Unchecked: args.Truth(c.Body.Lookup("bypassDocumentValidation")),
	}
	if req.Sort, req.Hint, err = pick(c, options, q, u); err != nil {
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
func newID(c *call.Call) bson.ObjectID {
	c.Cluster.Lock()
	defer c.Cluster.Unlock()
	return c.Cluster.IDs().NewObjectID()
}

// constantsOf returns an update's own variables, which an update and a bulkWrite name differently.
func constantsOf(options bson.Raw) (bson.Raw, bool) {
	v := options.Lookup("c")
	if v.IsZero() {
		v = options.Lookup("constants")
	}
	return v.DocumentOK()
}

// suppliedDocument returns what an upsert inserts instead of the pipeline's result: nil without
// upsertSupplied, as $merge sends it.
func suppliedDocument(options bson.Raw) (bson.Raw, error) {
	if !args.Truth(options.Lookup("upsertSupplied")) {
		return nil, nil
	}
	if !args.Truth(options.Lookup("upsert")) {
		return nil, mongoerr.New(mongoerr.FailedToParse, "cannot specify 'upsertSupplied: true' for a non-upsert operation")
	}
	constants, _ := constantsOf(options)
	doc, isDoc := constants.Lookup("new").DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.FailedToParse,
			"the parameter 'upsertSupplied' is set to 'true', but no document was supplied")
	}
	return doc, nil
}

// withConstants adds an update's own variables, which pipelines may use.
func withConstants(c *call.Call, let bson.Raw, u bson.RawValue, options bson.Raw) (bson.Raw, error) {
	constants, isDoc := constantsOf(options)
	if !isDoc {
		return let, nil
	}
	if u.Type != bson.TypeArray {
		return nil, mongoerr.New(51198, "Constant values may only be specified for pipeline updates")
	}
	all := bson.D{}
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
	return c.Settle(raw)
}

// comparedBy returns the parts of an update that compare what they hold with what documents hold.
func comparedBy(u bson.RawValue) (parts []bson.RawValue) {
	if u.Type != bson.TypeEmbeddedDocument {
		return []bson.RawValue{u}
	}
	for w := keyorder.WalkOf(u.Value); w.Next(); {
		switch string(w.Name) {
		case "$addToSet", "$max", "$min", "$pull", "$pullAll", "$push":
			parts = append(parts, w.Value)
		}
	}
	return parts
}

// pick reads what decides which document a write takes: sort and hint. Of a collation it refuses texts
// that the filter or the update u compares, and an order of documents that may hold some. u may be zero.
func pick(c *call.Call, options bson.Raw, filter, u bson.RawValue) (*order.Sort, bson.RawValue, error) {
	hint, err := c.Hint(options)
	if err != nil {
		return nil, hint, err
	}
	by := options.Lookup("sort")
	collation, err := c.Collation(options)
	if err == nil && collation != nil {
		err = call.NoTexts(collation, append(comparedBy(u), filter, options.Lookup("arrayFilters"))...)
	}
	if err != nil {
		return nil, hint, err
	}
	if by.IsZero() || by.Type == bson.TypeNull {
		return nil, hint, nil
	}
	doc, isDoc := by.DocumentOK()
	if !isDoc {
		return nil, hint, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.sort' is the wrong type '%s', expected type 'object'", c.Invoked, args.TypeName(by.Type))
	}
	if collation != nil && len(doc) > len(bson.Raw{5, 0, 0, 0, 0}) {
		return nil, hint, call.ErrCollation(collation)
	}
	sort, err := order.Compile(doc)
	return sort, hint, err
}

// CheckDelete checks one statement of a delete, which says how many it may delete: all or one.
func CheckDelete(statement bson.Raw) error {
	if err := args.Check("delete.deletes", deleteStatementFields(), statement); err != nil {
		return err
	}
	v := statement.Lookup("limit")
	if n, _ := args.Number(v); n != 0 && n != 1 {
		return mongoerr.New(mongoerr.FailedToParse, "The limit field in delete objects must be 0 or 1. Got %s", v)
	}
	return nil
}

// DeleteQuery reads one statement of a delete.
func DeleteQuery(c *call.Call, ns string, filter bson.Raw, justOne bool, statement bson.Raw) (call.Query, error) {
	q := call.Query{NS: ns}
	if justOne {
		q.Limit = 1
	}
	var err error
	if q.Filter, err = c.Filter(filter); err == nil {
		_, q.Hint, err = pick(c, statement, bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: filter}, bson.RawValue{})
	}
	return q, err
}

func deleteMatching(c *call.Call, ns string, filter bson.Raw, justOne bool, statement bson.Raw) (*call.Outcome, error) {
	q, err := call.Outside(c, func(context.Context) (call.Query, error) {
		return DeleteQuery(c, ns, filter, justOne, statement)
	})
	if err != nil {
		return nil, err
	}
	if err := refuseMany(c, !justOne, "limit=0"); err != nil {
		return nil, err
	}
	deleted, err := c.Request.Delete(ns, q.Request(), justOne)
	return &call.Outcome{Matched: deleted, Modified: deleted}, err
}

func deleteDocuments(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statements, err := statements(c, "deletes")
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := CheckDelete(s); err != nil {
			return nil, err
		}
	}
	b, err := runBatch(c, len(statements), only(ns), func(i int) (*call.Outcome, error) {
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
	for name := range call.StageNames(u) {
		if !slices.Contains(known, name) {
			return mongoerr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
		}
	}
	return nil
}
