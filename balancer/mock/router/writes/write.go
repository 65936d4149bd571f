package writes

import (
	"context"
	"runtime"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
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

// batchResult is the result of a batch of writes.
type batchResult struct {
	matched, modified int
	upserted          bson.A
	failures          bson.A
	errorBytes        int
	results           []statementResult
	statementIDs      *statementIDs
}

// statementResult is the result or the error of one statement.
type statementResult struct {
	index   int
	outcome *call.Outcome
	err     error
}

// readStatements reads the statements of a batch of writes: 1 to 100,000 documents.
func readStatements(c *call.Call, field string) ([]bson.Raw, error) {
	if c.Body.Lookup(field).IsZero() {
		return nil, args.MissingField(c.InvokedAs, field)
	}
	docs, err := args.DocumentsAt(c.InvokedAs+"."+field, c.Body.Lookup(field))
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

// statementsAtOnce is the number of statements that run before the lock is yielded.
const statementsAtOnce = 64

// yieldLock releases the lock and takes it again. It fails if the command was killed.
func yieldLock(c *call.Call) error {
	return c.WithoutLock(func(ctx context.Context) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runtime.Gosched()
		return nil
	})
}

// runBatch runs statements one by one. namespaceOf returns the namespace of a statement. An ordered batch stops
// at the first error.
func runBatch(c *call.Call, n int, namespaceOf func(i int) string, runStatement func(i int) (*call.Outcome,
	error)) (*batchResult, error) {
	ordered := true
	if v := c.Body.Lookup("ordered"); !v.IsZero() {
		ordered = args.IsTrueOrNonzero(v)
	}
	b := &batchResult{upserted: bson.A{}, failures: bson.A{}, results: make([]statementResult, 0, n)}
	var err error
	if b.statementIDs, err = beginRetryable(c, n); err != nil {
		return nil, err
	}
	for i := range n {
		if i%statementsAtOnce == statementsAtOnce-1 {
			if err := yieldLock(c); err != nil {
				return nil, err
			}
		}
		done, err := b.statementIDs.runOnce(c, i, namespaceOf(i), func() (*call.Outcome, error) { return runStatement(i) })
		b.results = append(b.results, statementResult{i, done, err})
		if done != nil {
			b.add(i, done)
		}
		if endsCommand(err) {
			return nil, err
		}
		if err != nil {
			b.addFailure(i, err)
			if ordered {
				break
			}
		}
	}
	return b, nil
}

// sameNamespace returns a function that returns ns for every statement.
func sameNamespace(ns string) func(int) string { return func(int) string { return ns } }

// endsCommand reports whether an error ends the whole command, not only the statement.
func endsCommand(err error) bool {
	if err == nil {
		return false
	}
	code, known := mongoerr.CodeOf(err)
	return known && slices.Contains([]mongoerr.Code{mongoerr.MaxTimeMSExpired, mongoerr.Interrupted,
		mongoerr.InterruptedAtShutdown, mongoerr.ClientDisconnect}, code)
}

func (b *batchResult) add(i int, outcome *call.Outcome) {
	b.matched += outcome.Matched
	b.modified += outcome.Modified
	if !outcome.Upserted.IsZero() {
		b.upserted = append(b.upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: outcome.Upserted}})
	}
}

// reply appends the fields that all batch replies share to fields.
func (b *batchResult) reply(fields bson.D) bson.D {
	if len(b.failures) > 0 {
		fields = append(fields, bson.E{Key: "writeErrors", Value: b.failures})
	}
	return b.statementIDs.addRetried(fields)
}

// maxErrorBytes is the maximum total size of the error messages of a batch. Like the server, the mock
// leaves later messages empty, so that the reply is not too large.
const maxErrorBytes = 1 << 20

func (b *batchResult) addFailure(i int, err error) {
	doc := writeError(i, err)
	if b.errorBytes > maxErrorBytes {
		doc[2].Value, doc = "", doc[:3]
	}
	b.errorBytes += len(err.Error())
	b.failures = append(b.failures, doc)
}

// writeError returns an entry of writeErrors. It has no codeName; extra fields come last.
func writeError(index int, err error) bson.D {
	server := asServerError(err)
	doc := bson.D{
		{Key: "index", Value: int32(index)},
		{Key: "code", Value: int32(server.Code)},
		{Key: "errmsg", Value: err.Error()},
	}
	return append(doc, server.Extra...)
}

// insertedOne is the outcome of every insert.
var insertedOne = &call.Outcome{Matched: 1, Modified: 1}

// insertOptions are the options of inserts.
type insertOptions struct {
	skipValidation      bool // do not run the collection's validator
	keepEmptyTimestamps bool
}

func readInsertOptions(c *call.Call) insertOptions {
	return insertOptions{args.IsTrueOrNonzero(c.Body.Lookup("bypassDocumentValidation")), keepsEmptyTimestamps(c)}
}

func insertOne(c *call.Call, ns string, doc bson.Raw, how insertOptions) (*call.Outcome, error) {
	if !how.keepEmptyTimestamps {
		doc = document.FillEmptyTimestamps(doc, c.Cluster.IDs().Tick)
	}
	if err := c.Request.InsertDocument(ns, doc, !how.skipValidation); err != nil {
		return nil, err
	}
	return insertedOne, nil
}

// keepsEmptyTimestamps reports whether empty timestamps stay unchanged instead of being replaced by the
// time. Tools that copy data set this.
func keepsEmptyTimestamps(c *call.Call) bool {
	return args.IsTrueOrNonzero(c.Body.Lookup("bypassEmptyTsReplacement"))
}

// fillTimestampsWithoutLock replaces the empty timestamps of an update's new document by the time. The caller
// does not hold the lock.
func fillTimestampsWithoutLock(c *call.Call, doc bson.Raw) bson.Raw {
	if keepsEmptyTimestamps(c) {
		return doc
	}
	return document.FillEmptyTimestamps(doc, func() bson.Timestamp {
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
	docs, err := readStatements(c, "documents")
	if err != nil {
		return nil, err
	}
	how := readInsertOptions(c)
	b, err := runBatch(c, len(docs), sameNamespace(ns), func(i int) (*call.Outcome, error) {
		return insertOne(c, ns, docs[i], how)
	})
	if err != nil {
		return nil, err
	}
	return b.reply(bson.D{{Key: "n", Value: int32(b.matched)}}), nil
}

// readSortAndHint reads sort and hint, which select the document of a write. With a collation it rejects
// a sort, and strings that the filter or the update u compares. u may be zero.
func readSortAndHint(c *call.Call, options bson.Raw, filter, u bson.RawValue) (*order.Sort, bson.RawValue, error) {
	hint, err := c.Hint(options)
	if err != nil {
		return nil, hint, err
	}
	by := options.Lookup("sort")
	collation, err := c.Collation(options)
	if err == nil && collation != nil {
		err = call.CheckNoStrings(collation, append(comparedParts(u), filter, options.Lookup("arrayFilters"),
			c.Body.Lookup("let"))...)
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
			"BSON field '%s.sort' is the wrong type '%s', expected type 'object'", c.InvokedAs, args.TypeName(by.Type))
	}
	if collation != nil && !document.IsEmpty(doc) {
		return nil, hint, call.ErrCollation(collation)
	}
	sort, err := order.Compile(doc)
	return sort, hint, err
}

// CheckDelete checks one statement of a delete. Its limit must be 0 (all) or 1.
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

// DeleteQuery returns the query of one delete statement.
func DeleteQuery(c *call.Call, ns string, filter bson.Raw, justOne bool, statement bson.Raw) (call.Query, error) {
	q := call.Query{NS: ns}
	if justOne {
		q.Limit = 1
	}
	var err error
	if q.Filter, err = c.Filter(filter); err == nil {
		_, q.Hint, err = readSortAndHint(c, statement, call.DocumentValue(filter), bson.RawValue{})
	}
	return q, err
}

func deleteMatching(c *call.Call, ns string, filter bson.Raw, justOne bool, statement bson.Raw) (*call.Outcome, error) {
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) {
		return DeleteQuery(c, ns, filter, justOne, statement)
	})
	if err != nil {
		return nil, err
	}
	if err := checkNotMulti(c, !justOne, "limit=0"); err != nil {
		return nil, err
	}
	deleted, err := c.Request.Delete(ns, q.StoreQuery(), justOne)
	return &call.Outcome{Matched: deleted, Modified: deleted}, err
}

func deleteDocuments(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statements, err := readStatements(c, "deletes")
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := CheckDelete(s); err != nil {
			return nil, err
		}
	}
	b, err := runBatch(c, len(statements), sameNamespace(ns), func(i int) (*call.Outcome, error) {
		s := statements[i]
		return deleteMatching(c, ns, s.Lookup("q").Document(), args.IsTrueOrNonzero(s.Lookup("limit")), s)
	})
	if err != nil {
		return nil, err
	}
	return b.reply(bson.D{{Key: "n", Value: int32(b.matched)}}), nil
}
