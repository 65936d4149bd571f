package writes

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func bulkWriteHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"bulkWrite": bulkWrite,
	}
}

// bulkOpKind describes one kind of bulkWrite operation.
type bulkOpKind struct {
	fields []args.Field
	run    func(c *call.Call, ns string, op bson.Raw) (*call.Outcome, error)
}

func bulkOpKinds() map[string]bulkOpKind {
	return map[string]bulkOpKind{
		"insert": {[]args.Field{args.Required("insert", args.SafeInt), args.Required("document", args.Object)}, bulkInsert},
		"update": {append([]args.Field{
			args.Required("update", args.SafeInt), args.Required("filter", args.Object),
			args.Required("updateMods", args.Any), args.Optional("constants", args.Object),
		}, updateOptionFields()...), bulkUpdate},
		"delete": {[]args.Field{
			args.Required("delete", args.SafeInt), args.Required("filter", args.Object),
			args.Optional("multi", args.Bool), args.Optional("hint", args.Hint),
			args.Optional("collation", args.Object), args.Optional("sampleId", args.UUID),
		}, bulkDelete},
	}
}

// bulkStatement is one parsed operation.
type bulkStatement struct {
	kind string
	ns   string
	doc  bson.Raw
}

// bulkWrite runs writes on several collections (MongoDB 8.0).
func bulkWrite(c *call.Call) (bson.D, error) {
	ops, err := bulkStatements(c)
	if err != nil {
		return nil, err
	}
	if err := checkBulkUUIDs(c); err != nil {
		return nil, err
	}
	size, err := c.CursorBatchSize(c.Args.Object("cursor"))
	if err != nil {
		return nil, err
	}
	if c.Args.Object("cursor").Lookup("batchSize").IsZero() {
		size = -1
	}
	kinds := bulkOpKinds()
	on := func(i int) string { return ops[i].ns }
	b, err := runBatch(c, len(ops), on, func(i int) (*call.Outcome, error) {
		return kinds[ops[i].kind].run(c, ops[i].ns, ops[i].doc)
	})
	if err != nil {
		return nil, err
	}
	return bulkReply(c, ops, b, size)
}

// bulkStatements checks the whole command before anything is written.
func bulkStatements(c *call.Call) ([]bulkStatement, error) {
	docs, err := args.DocumentsAt("clusterBulkWriteParse.ops", c.Args["ops"])
	if err != nil {
		return nil, err
	}
	if err := checkBatchSize(len(docs)); err != nil {
		return nil, err
	}
	namespaces, err := bulkNamespaces(c)
	if err != nil {
		return nil, err
	}
	kinds := bulkOpKinds()
	ops := make([]bulkStatement, len(docs))
	for i, doc := range docs {
		first, err := doc.IndexErr(0)
		if err != nil {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field 'bulkWrite.ops' holds an empty operation")
		}
		kind, known := kinds[first.Key()]
		if !known {
			return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field 'bulkWrite.ops.%s' is an unknown field.", first.Key())
		}
		if err := args.Check("clusterBulkWriteParse.ops", kind.fields, doc); err != nil {
			return nil, err
		}
		at := args.ClampedInt(first.Value())
		if at < 0 || at >= int64(len(namespaces)) {
			return nil, mongoerr.New(mongoerr.BadValue, "BulkWrite ops entry %s has an invalid nsInfo index.", doc)
		}
		if err := checkNotMulti(c, args.IsTrueOrNonzero(doc.Lookup("multi")), "multi=true"); err != nil {
			return nil, err
		}
		ops[i] = bulkStatement{first.Key(), namespaces[at], doc}
	}
	return ops, nil
}

func bulkNamespaces(c *call.Call) ([]string, error) {
	infos, err := args.DocumentsAt("clusterBulkWriteParse.nsInfo", c.Args["nsInfo"])
	if err != nil {
		return nil, err
	}
	fields := []args.Field{args.Required("ns", args.Namespace), args.Optional("collectionUUID", args.UUID),
		args.Optional("encryptionInformation", args.Object), args.Optional("isTimeseriesNamespace", args.OptionalBool),
		args.Optional("shardVersion", args.Any), args.Optional("databaseVersion", args.Any)}
	var names []string
	for _, info := range infos {
		if err := args.Check("clusterBulkWriteParse.nsInfo", fields, info); err != nil {
			return nil, err
		}
		if !info.Lookup("encryptionInformation").IsZero() {
			return nil, call.ErrEncrypted()
		}
		ns := info.Lookup("ns").StringValue()
		if db := catalog.DatabaseOf(ns); db == "local" {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "Can't use 'local' database through mongos")
		} else if db == "config" || db == "admin" { // without a code (recording 12, insert into config)
			return nil, mongoerr.NewNoCode("bulkWrite can't write to the %s database", db)
		} else if !catalog.ValidDatabaseName(db) {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", ns)
		}
		names = append(names, ns)
	}
	return names, nil
}

// checkBulkUUIDs rejects namespaces whose collections have a different UUID.
func checkBulkUUIDs(c *call.Call) error {
	infos, err := args.Documents(c.Args["nsInfo"])
	if err != nil {
		return err
	}
	for _, info := range infos {
		if _, uuid, isUUID := info.Lookup("collectionUUID").BinaryOK(); isUUID {
			if err := c.Cluster.Collections().CheckUUID(info.Lookup("ns").StringValue(), uuid); err != nil {
				return err
			}
		}
	}
	return nil
}

func bulkInsert(c *call.Call, ns string, op bson.Raw) (*call.Outcome, error) {
	return insertOne(c, ns, op.Lookup("document").Document(), readInsertOptions(c))
}

func bulkUpdate(c *call.Call, ns string, op bson.Raw) (*call.Outcome, error) {
	return updateOne(c, ns, op.Lookup("filter"), op.Lookup("updateMods"), op)
}

func bulkDelete(c *call.Call, ns string, op bson.Raw) (*call.Outcome, error) {
	return deleteMatching(c, ns, op.Lookup("filter").Document(), !args.IsTrueOrNonzero(op.Lookup("multi")), op)
}

// bulkTotals are the counters of a bulkWrite.
type bulkTotals struct{ errors, inserted, matched, modified, upserted, deleted int32 }

func (t *bulkTotals) add(kind string, e statementResult) {
	if e.err != nil {
		t.errors++
	}
	if e.outcome == nil {
		return
	}
	n := int32(e.outcome.Matched)
	switch kind {
	case "insert":
		t.inserted += n
	case "delete":
		t.deleted += n
	case "update":
		if !e.outcome.Upserted.IsZero() {
			t.upserted++
			n--
		}
		t.matched += n
		t.modified += int32(e.outcome.Modified)
	}
}

// bulkItem returns the result of one operation for the reply's cursor.
func bulkItem(kind string, e statementResult) bson.D {
	item := bson.D{{Key: "ok", Value: 1.0}, {Key: "idx", Value: int32(e.index)}}
	if e.err != nil {
		item[0].Value = 0.0
		item = append(item, writeError(e.index, e.err)[1:]...)
	}
	done := e.outcome
	if done == nil {
		done = &call.Outcome{}
	}
	item = append(item, bson.E{Key: "n", Value: int32(done.Matched)})
	if kind == "update" {
		item = append(item, bson.E{Key: "nModified", Value: int32(done.Modified)})
	}
	if !done.Upserted.IsZero() {
		item = append(item, bson.E{Key: "upserted", Value: bson.D{{Key: "_id", Value: done.Upserted}}})
	}
	return item
}

func bulkReply(c *call.Call, ops []bulkStatement, b *batchResult, size int) (bson.D, error) {
	var totals bulkTotals
	var items []bson.D
	onlyErrors := c.Args.Bool("errorsOnly")
	for _, e := range b.results {
		kind := ops[e.index].kind
		totals.add(kind, e)
		if onlyErrors && e.err == nil {
			continue
		}
		items = append(items, bulkItem(kind, e))
	}
	encoded, err := call.MarshalAll(items)
	if err != nil {
		return nil, err
	}
	const ns = "admin.$cmd.bulkWrite"
	cursor, err := call.OpenCursor(c, &call.Cursor{NS: ns, Buffered: encoded}, size, false)
	if err != nil {
		return nil, err
	}
	reply := b.statementIDs.addRetried(bson.D{
		{Key: "cursor", Value: bson.D{{Key: "id", Value: cursor.ID}, {Key: "firstBatch", Value: cursor.Batch},
			{Key: "ns", Value: ns}}},
		{Key: "nErrors", Value: totals.errors}, {Key: "nInserted", Value: totals.inserted},
		{Key: "nMatched", Value: totals.matched}, {Key: "nModified", Value: totals.modified},
		{Key: "nUpserted", Value: totals.upserted}, {Key: "nDeleted", Value: totals.deleted},
	})
	if len(b.statementIDs.retried) == 0 { // other writes omit an empty array
		reply = append(reply, bson.E{Key: "retriedStmtIds", Value: bson.A{}})
	}
	return reply, nil
}

// asServerError returns the server's form of any error.
func asServerError(err error) *mongoerr.ServerError {
	var server *mongoerr.ServerError
	if !errors.As(err, &server) {
		return mongoerr.New(mongoerr.InternalError, "%s", err)
	}
	return server
}
