package bindings

import (
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
)

// What writes return, in the shapes of rules/04-objects §6.6. Members of the old shell's
// results are there too, hidden.

func (s *Shell) insertOneResult(w *writeResult, id bson.RawValue) *goja.Object {
	o := s.JS.NewObject("acknowledged", !w.unacknowledged, "insertedId", s.JS.World.ToJS(id))
	s.legacyMembers(o, w)
	return o
}

func (s *Shell) insertManyResult(w *writeResult, ops []writeOp) *goja.Object {
	o := s.JS.NewObject("acknowledged", !w.unacknowledged, "insertedIds", s.insertedIDs(ops, w))
	s.legacyMembers(o, w)
	return o
}

// insertedIDs returns an object from positions to the ids of documents that
// went in.
func (s *Shell) insertedIDs(ops []writeOp, w *writeResult) goja.Value {
	start, ids := bsoncore.AppendDocumentStart(nil)
	for _, op := range ops {
		if op.kind == insertKind && !w.failed(op.index) {
			id, _ := rawdoc.ID(op.doc)
			ids = append(bsoncore.AppendHeader(ids, bsoncore.Type(id.Type), strconv.Itoa(op.index)), id.Value...)
		}
	}
	ids, _ = bsoncore.AppendDocumentEnd(ids, start)
	return s.JS.World.LazyObject(ids)
}

// updateResult says insertedId where others say upsertedId.
func (s *Shell) updateResult(w *writeResult) *goja.Object {
	id := goja.Null()
	if len(w.upserted) > 0 {
		id = s.JS.World.ToJS(w.upserted[0].id)
	}
	o := s.JS.NewObject(
		"acknowledged", !w.unacknowledged,
		"insertedId", id,
		"matchedCount", w.matched,
		"modifiedCount", w.modified,
		"upsertedCount", len(w.upserted),
	)
	script.Define(o, "upsertedId", id)
	s.legacyMembers(o, w)
	return o
}

func (s *Shell) deleteResult(w *writeResult) *goja.Object {
	o := s.JS.NewObject("acknowledged", !w.unacknowledged, "deletedCount", w.deleted)
	s.legacyMembers(o, w)
	return o
}

func (s *Shell) bulkResult(w *writeResult, ops []writeOp) *goja.Object {
	o := s.JS.NewObject(
		"acknowledged", !w.unacknowledged,
		"insertedCount", w.inserted,
		"insertedIds", s.insertedIDs(ops, w),
		"matchedCount", w.matched,
		"modifiedCount", w.modified,
		"deletedCount", w.deleted,
		"upsertedCount", len(w.upserted),
		"upsertedIds", s.upsertedIDs(w),
	)
	s.legacyMembers(o, w)
	return o
}

func (s *Shell) upsertedIDs(w *writeResult) *goja.Object {
	ids := s.JS.Runtime.NewObject()
	for _, u := range w.upserted {
		script.Must(ids.Set(strconv.Itoa(u.index), s.JS.World.ToJS(u.id)))
	}
	return ids
}

func (s *Shell) legacyMembers(o *goja.Object, w *writeResult) {
	for _, m := range []struct {
		name  string
		value any
	}{
		{"nInserted", w.inserted}, {"nMatched", w.matched}, {"nModified", w.modified},
		{"nUpserted", len(w.upserted)}, {"nRemoved", w.deleted}, {"ok", 1},
	} {
		script.Define(o, m.name, s.JS.Runtime.ToValue(m.value))
	}
	script.Must(o.SetPrototype(s.resultPrototype()))
}

// resultPrototype holds what results of the old shell can do. It does not name
// its class when it is printed.
func (s *Shell) resultPrototype() *goja.Object {
	return s.JS.Classes.Cached("result", func() *goja.Object {
		base := s.JS.Runtime.NewObject().Prototype()
		p := s.JS.Runtime.CreateObject(base)
		for name, f := range oldResultMethods() {
			script.Define(p, name, s.function(name, func(c *call) goja.Value {
				this, _ := c.This.(*goja.Object)
				return f(c, this)
			}))
		}
		script.Define(p, "constructor", base.Get("constructor"))
		return p
	})
}

// oldResultMethods read what the result says of itself; results that are not
// inside an error have no failures.
func oldResultMethods() map[string]func(c *call, this *goja.Object) goja.Value {
	failures := func(c *call, this *goja.Object) *goja.Object {
		if list, ok := script.Property(this, "writeErrors").(*goja.Object); ok {
			return list
		}
		return c.JS.Runtime.NewArray()
	}
	count := func(c *call, this *goja.Object) int { return len(script.Items(failures(c, this))) }
	concern := func(this *goja.Object) goja.Value { return orUndefined(script.Property(this, "writeConcernError")) }
	failed := func(c *call, this *goja.Object) goja.Value { return c.JS.Runtime.ToValue(count(c, this) > 0) }
	failure := func(c *call, this *goja.Object) goja.Value {
		return failures(c, this).Get(strconv.Itoa(int(c.Arg(0).ToInteger())))
	}
	ids := func(field string) func(*call, *goja.Object) goja.Value {
		return func(c *call, this *goja.Object) goja.Value { return c.indexedIDs(script.Property(this, field)) }
	}
	return map[string]func(c *call, this *goja.Object) goja.Value{
		"hasWriteError":      failed,
		"hasWriteErrors":     failed,
		"getWriteErrors":     func(c *call, this *goja.Object) goja.Value { return failures(c, this) },
		"getWriteError":      failure,
		"getWriteErrorAt":    failure,
		"getWriteErrorCount": func(c *call, this *goja.Object) goja.Value { return c.JS.Runtime.ToValue(count(c, this)) },
		"hasWriteConcernError": func(c *call, this *goja.Object) goja.Value {
			return c.JS.Runtime.ToValue(concern(this).ToBoolean())
		},
		"getWriteConcernError": func(_ *call, this *goja.Object) goja.Value { return concern(this) },
		"isOk":                 func(c *call, _ *goja.Object) goja.Value { return c.JS.Runtime.ToValue(true) },
		"getUpsertedIds":       ids("upsertedIds"),
		"getInsertedIds":       ids("insertedIds"),
		"getUpsertedIdAt": func(c *call, this *goja.Object) goja.Value {
			return ids("upsertedIds")(c, this).(*goja.Object).Get(strconv.Itoa(int(c.Arg(0).ToInteger())))
		},
		"getUpsertedId": func(c *call, this *goja.Object) goja.Value {
			id := script.Property(this, "upsertedId")
			if id == nil || goja.IsNull(id) {
				return nil
			}
			return c.JS.NewObject("index", 0, "_id", id)
		},
	}
}

// indexedIDs makes [{index, _id}, …] of {index: _id, …}.
func (c *call) indexedIDs(v goja.Value) goja.Value {
	from, _ := v.(*goja.Object)
	if from == nil {
		return c.JS.Runtime.NewArray()
	}
	var list []any
	for _, k := range from.Keys() {
		i, _ := strconv.Atoi(k)
		list = append(list, c.JS.NewObject("index", i, "_id", from.Get(k)))
	}
	return c.JS.Runtime.NewArray(list...)
}

// throwFailures throws what a list of writes ran into, if anything: for a single
// write the server's error itself, else a bulk error with everything that was
// done.
func (s *Shell) throwFailures(w *writeResult, ops []writeOp, bulk bool) {
	switch {
	case len(w.failures) > 0 && bulk:
		panic(s.bulkError(w, ops, w.failures[0].raw))
	case len(w.failures) > 0:
		panic(s.gateway.WriteError(w.failures[0].raw))
	case w.concern != nil && bulk:
		panic(s.bulkError(w, ops, w.concern))
	case w.concern != nil:
		e := s.gateway.ServerError(w.concern, nil)
		script.Must(e.SetPrototype(s.JS.World.Errors.New("MongoWriteConcernError", "").Prototype()))
		script.Must(e.Set("result", s.JS.World.DocToJS(w.reply)))
		panic(e)
	}
}

// bulkError returns the error of a list of writes, worded and numbered after
// its first cause.
func (s *Shell) bulkError(w *writeResult, ops []writeOp, cause bson.Raw) *goja.Object {
	e := s.JS.World.Errors.New("MongoBulkWriteError", rawdoc.Text(cause, "errmsg"))
	s.gateway.AddLabels(e, nil)
	script.Must(e.Set("errorResponse", s.JS.World.DocToJS(cause)))
	script.Must(e.Set("code", s.JS.World.ToJS(cause.Lookup("code"))))
	if name := rawdoc.Text(cause, "codeName"); name != "" {
		script.Must(e.Set("codeName", name))
	}
	counts := s.bulkCounts(w, ops)
	script.Must(e.Set("writeErrors", counts.Get("writeErrors")))
	script.Must(e.Set("result", counts))
	for _, k := range counts.Keys() {
		script.Define(e, k, counts.Get(k))
	}
	return e
}

// bulkCounts returns the result inside an error: an ordered list ended at its
// first failure, an unordered one did all the others.
func (s *Shell) bulkCounts(w *writeResult, ops []writeOp) *goja.Object {
	if len(w.failures) > 0 && !w.unordered {
		ops = ops[:min(w.failures[0].index, len(ops))]
	}
	o := s.JS.NewObject(
		"insertedCount", w.inserted,
		"matchedCount", w.matched,
		"modifiedCount", w.modified,
		"deletedCount", w.deleted,
		"upsertedCount", len(w.upserted),
		"upsertedIds", s.upsertedIDs(w),
		"insertedIds", s.insertedIDs(ops, w),
	)
	s.legacyMembers(o, w)
	failures := make([]any, len(w.failures))
	for i, f := range w.failures {
		failures[i] = s.writeErrorObject(f)
	}
	script.Define(o, "writeErrors", s.JS.Runtime.NewArray(failures...))
	if w.concern != nil {
		script.Define(o, "writeConcernError", s.JS.World.DocToJS(w.concern))
	}
	p := s.namedPrototype("BulkWriteResult")
	script.Must(p.SetPrototype(s.resultPrototype()))
	script.Must(o.SetPrototype(p))
	return o
}

func (s *Shell) writeErrorObject(f writeFailure) *goja.Object {
	info := goja.Undefined()
	if v, err := f.raw.LookupErr("errInfo"); err == nil {
		info = s.JS.World.ToJS(v)
	}
	err := s.JS.NewObject(
		"index", f.index,
		"code", s.JS.World.ToJS(f.raw.Lookup("code")),
		"errmsg", rawdoc.Text(f.raw, "errmsg"),
		"errInfo", info,
		"op", s.JS.World.DocToJS(f.op.doc),
	)
	o := s.JS.NewObject("err", err)
	for _, k := range []string{"index", "code", "errmsg", "errInfo"} {
		script.Define(o, k, err.Get(k))
	}
	script.Must(o.SetPrototype(s.namedPrototype("WriteError")))
	return o
}

// namedPrototype makes objects print under a class name.
func (s *Shell) namedPrototype(class string) *goja.Object {
	return s.JS.Classes.Cached("class "+class, func() *goja.Object {
		p := s.JS.Runtime.NewObject()
		ctor := s.function(class, func(*call) goja.Value { return nil })
		script.Define(ctor, "prototype", p)
		script.Define(p, "constructor", ctor)
		return p
	})
}
