package writes

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

func updateDocuments(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	statements, err := readStatements(c, "updates")
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := args.Check("update.updates", UpdateStatementFields(), s); err != nil {
			return nil, err
		}
		if err := checkKnownStages(s.Lookup("u")); err != nil {
			return nil, err
		}
	}
	b, err := runBatch(c, len(statements), sameNamespace(ns), func(i int) (*call.Outcome, error) {
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
	if err := checkUpdateForm(c, ns, u, args.IsTrueOrNonzero(statement.Lookup("multi"))); err != nil {
		return nil, err
	}
	req, err := call.WithoutLock(c, func(context.Context) (mock.UpdateRequest, error) {
		return UpdateRequest(c, q, u, statement)
	})
	if err != nil {
		return nil, err
	}
	if err := checkUpsert(c, ns, req); err != nil {
		return nil, err
	}
	if err := checkNotMulti(c, req.Multi, "multi=true"); err != nil {
		return nil, err
	}
	req.MayChangeKey = isRetryable(c)
	result, err := c.Request.Update(ns, req)
	if err != nil {
		return nil, wrapExecutionError("update", err)
	}
	done := &call.Outcome{Matched: result.Matched, Modified: result.Modified, Upserted: result.UpsertedID}
	if !done.Upserted.IsZero() {
		done.Matched++
	}
	return done, nil
}

// isRetryable reports whether the command is a retryable write.
func isRetryable(c *call.Call) bool { return c.TxnNumber != nil }

// UpdateRequest compiles one update. options is the document with multi, upsert and arrayFilters.
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
		if arrayFilters, err = args.DocumentsAt(c.InvokedAs+".arrayFilters", v); err != nil {
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
		ArrayFilters:   arrayFilters,
		Filter:         filter,
		Let:            let,
		Now:            c.Now,
		NewID:          func() bson.ObjectID { return newID(c) },
		FillTimestamps: func(doc bson.Raw) bson.Raw { return fillTimestampsWithoutLock(c, doc) },
		UpsertDocument: supplied,
		Language:       c.Language(),
	})
	if err != nil {
		return req, err
	}
	req = mock.UpdateRequest{
		Filter: filter, Query: query, Update: update,
		Multi: args.IsTrueOrNonzero(options.Lookup("multi")), Upsert: args.IsTrueOrNonzero(options.Lookup("upsert")),
		BypassValidation: args.IsTrueOrNonzero(c.Body.Lookup("bypassDocumentValidation")),
	}
	if req.Sort, req.Hint, err = readSortAndHint(c, options, q, u); err != nil {
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

// newID returns a new _id for an upserted document. The caller does not hold the lock.
func newID(c *call.Call) bson.ObjectID {
	c.Cluster.Lock()
	defer c.Cluster.Unlock()
	return c.Cluster.IDs().NewObjectID()
}

// constantsOf returns an update's own variables. The field is c in an update and constants in a
// bulkWrite.
func constantsOf(options bson.Raw) (bson.Raw, bool) {
	v := options.Lookup("c")
	if v.IsZero() {
		v = options.Lookup("constants")
	}
	return v.DocumentOK()
}

// suppliedDocument returns the document that an upsert inserts instead of the pipeline's result. It
// returns nil without upsertSupplied, which $merge sets.
func suppliedDocument(options bson.Raw) (bson.Raw, error) {
	if !args.IsTrueOrNonzero(options.Lookup("upsertSupplied")) {
		return nil, nil
	}
	if !args.IsTrueOrNonzero(options.Lookup("upsert")) {
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

// withConstants adds an update's own variables to let. Pipelines may use them.
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
	return c.EvaluateVariables(raw)
}

// comparedParts returns the parts of an update whose values are compared with values of documents.
func comparedParts(u bson.RawValue) (parts []bson.RawValue) {
	if u.Type != bson.TypeEmbeddedDocument {
		return []bson.RawValue{u}
	}
	for w := keyorder.NewWalk(u.Value); w.Next(); {
		switch string(w.Name) {
		case "$addToSet", "$max", "$min", "$pull", "$pullAll", "$push":
			parts = append(parts, w.Value)
		}
	}
	return parts
}

// checkKnownStages rejects the whole command if an update's pipeline has an unknown stage. Other errors
// in the pipeline fail only the statement.
func checkKnownStages(u bson.RawValue) error {
	known := pipeline.StageNames()
	for name := range call.StageNames(u) {
		if !slices.Contains(known, name) {
			return mongoerr.New(mongoerr.UnknownStage, "Unrecognized pipeline stage name: '%s'", name)
		}
	}
	return nil
}
