package router

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

func writeCommands() []command {
	return []command{
		{name: "insert", stable: true, takesWriteConcern: true, run: (*Router).insert},
		{name: "update", stable: true, takesWriteConcern: true, run: (*Router).update},
		{name: "delete", stable: true, takesWriteConcern: true, run: (*Router).delete},
		{name: "findAndModify", aliases: []string{"findandmodify"}, stable: true, takesWriteConcern: true, run: (*Router).findAndModify},
	}
}

// statements runs a batch of writes one by one. An ordered batch ends at the
// first that fails.
func (c *call) statements(field string, each func(i int, statement bson.Raw) error) (bson.A, error) {
	docs, err := documents(c.body.Lookup(field))
	if err != nil {
		if c.body.Lookup(field).IsZero() {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.%s' is missing but a required field", c.invoked, field)
		}
		return nil, err
	}
	if len(docs) == 0 || len(docs) > maxWriteBatch {
		return nil, mongoerr.New(mongoerr.InvalidLength, "Write batch sizes must be between 1 and %d. Got %d operations.", maxWriteBatch, len(docs))
	}
	ordered := true
	if v := c.body.Lookup("ordered"); !v.IsZero() {
		ordered = truth(v)
	}
	failures := bson.A{}
	for i, doc := range docs {
		if err := each(i, doc); err != nil {
			failures = append(failures, writeError(i, err))
			if ordered {
				break
			}
		}
	}
	return failures, nil
}

// writeError is one entry of writeErrors: no codeName, the extra fields last.
func writeError(index int, err error) bson.D {
	var server *mongoerr.ServerError
	if !errors.As(err, &server) {
		server = mongoerr.New(mongoerr.InternalError, "%s", err)
	}
	doc := bson.D{
		{Key: "index", Value: int32(index)},
		{Key: "code", Value: int32(server.Code)},
		{Key: "errmsg", Value: err.Error()},
	}
	return append(doc, server.Extra...)
}

func withWriteErrors(reply bson.D, failures bson.A) bson.D {
	if len(failures) > 0 {
		reply = append(reply, bson.E{Key: "writeErrors", Value: failures})
	}
	return reply
}

func (r *Router) insert(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	n := 0
	failures, err := c.statements("documents", func(_ int, doc bson.Raw) error {
		if err := r.cluster.Insert(ns, doc); err != nil {
			return err
		}
		n++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return withWriteErrors(bson.D{{Key: "n", Value: int32(n)}}, failures), nil
}

func (r *Router) update(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	var matched, modified int
	upserted := bson.A{}
	failures, err := c.statements("updates", func(i int, statement bson.Raw) error {
		req, err := r.updateRequest(c, statement.Lookup("q"), statement.Lookup("u"), statement)
		if err != nil {
			return err
		}
		req.Retryable = c.retryable()
		result, err := r.cluster.Update(ns, req)
		if err != nil {
			return err
		}
		matched += result.Matched
		modified += result.Modified
		if !result.UpsertedID.IsZero() {
			matched++
			upserted = append(upserted, bson.D{{Key: "index", Value: int32(i)}, {Key: "_id", Value: result.UpsertedID}})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	reply := bson.D{{Key: "nModified", Value: int32(modified)}, {Key: "n", Value: int32(matched)}}
	if len(upserted) > 0 {
		reply = append(reply, bson.E{Key: "upserted", Value: upserted})
	}
	return withWriteErrors(reply, failures), nil
}

// retryable tells whether the command is a retryable write.
func (c *call) retryable() bool { return !c.body.Lookup("txnNumber").IsZero() }

// updateRequest compiles one update; options are the statement that carries
// multi, upsert and arrayFilters.
func (r *Router) updateRequest(c *call, q, u bson.RawValue, options bson.Raw) (mock.UpdateRequest, error) {
	var req mock.UpdateRequest
	query, isDoc := q.DocumentOK()
	if !isDoc {
		return req, mongoerr.New(mongoerr.TypeMismatch, "the query of an update must be an object")
	}
	filter, err := c.filter(query)
	if err != nil {
		return req, err
	}
	let, err := c.document("let")
	if err != nil {
		return req, err
	}
	var arrayFilters []bson.Raw
	if v := options.Lookup("arrayFilters"); !v.IsZero() {
		if arrayFilters, err = documents(v); err != nil {
			return req, err
		}
	}
	update, err := store.CompileUpdate(u, store.UpdateOptions{
		ArrayFilters: arrayFilters, Filter: filter, Let: let, Now: c.now, NewID: r.cluster.NewObjectID,
	})
	if err != nil {
		return req, err
	}
	req = mock.UpdateRequest{
		Filter: filter, Query: query, Update: update,
		Multi: truth(options.Lookup("multi")), Upsert: truth(options.Lookup("upsert")),
	}
	if req.Multi && update.IsReplacement() {
		return req, mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	return req, nil
}

func (r *Router) delete(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	n := 0
	failures, err := c.statements("deletes", func(_ int, statement bson.Raw) error {
		query, isDoc := statement.Lookup("q").DocumentOK()
		if !isDoc {
			return mongoerr.New(mongoerr.TypeMismatch, "the query of a delete must be an object")
		}
		filter, err := c.filter(query)
		if err != nil {
			return err
		}
		deleted, err := r.cluster.Delete(ns, filter, truth(statement.Lookup("limit")))
		n += deleted
		return err
	})
	if err != nil {
		return nil, err
	}
	return withWriteErrors(bson.D{{Key: "n", Value: int32(n)}}, failures), nil
}

func (r *Router) findAndModify(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	remove, after := truth(c.body.Lookup("remove")), truth(c.body.Lookup("new"))
	req := mock.FindOneRequest{Remove: remove}
	query, err := c.document("query")
	if err != nil {
		return nil, err
	}
	if query == nil {
		query = bson.Raw{5, 0, 0, 0, 0}
	}
	update := c.body.Lookup("update")
	switch {
	case remove && !update.IsZero():
		return nil, mongoerr.New(mongoerr.FailedToParse, "Cannot specify both an update and remove=true")
	case !remove && update.IsZero():
		return nil, mongoerr.New(mongoerr.FailedToParse, "Either an update or remove=true must be specified")
	case remove:
		if req.Filter, err = c.filter(query); err != nil {
			return nil, err
		}
	default:
		_, q, err := bson.MarshalValue(query)
		if err != nil {
			return nil, err
		}
		if req.UpdateRequest, err = r.updateRequest(c, bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: q}, update, c.body); err != nil {
			return nil, err
		}
	}
	req.Retryable = c.retryable()
	if req.Sort, err = c.sort("sort"); err != nil {
		return nil, err
	}
	result, err := r.cluster.FindAndModify(ns, req)
	if err != nil {
		return nil, err
	}
	return c.modified(result, remove, after)
}

// modified is the reply of findAndModify.
func (c *call) modified(result mock.UpdateResult, remove, after bool) (bson.D, error) {
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
	doc := result.Before
	if after && !remove {
		doc = result.After
	}
	fields, err := c.document("fields")
	if err != nil {
		return nil, err
	}
	if doc != nil && len(fields) > 5 {
		projection, err := c.projection(fields, nil)
		if err != nil {
			return nil, err
		}
		if doc, err = projection.Apply(doc); err != nil {
			return nil, err
		}
	}
	reply := bson.D{{Key: "lastErrorObject", Value: last}}
	if doc == nil {
		return append(reply, bson.E{Key: "value", Value: nil}), nil
	}
	return append(reply, bson.E{Key: "value", Value: doc}), nil
}
