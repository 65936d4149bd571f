package write

import (
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// The results of writes, in the forms of rules/04-objects §6.6. The members of the old shell's results
// exist as hidden members.

// ResultBuilder creates the results of writes.
type ResultBuilder struct {
	JS      *script.Engine
	Gateway *server.Gateway
}

// InsertOneResult returns the result of insertOne.
func (r ResultBuilder) InsertOneResult(w *Result, id bson.RawValue) *goja.Object {
	o := r.JS.NewObject("acknowledged", !w.unacknowledged, "insertedId", r.JS.Values.ToJS(id))
	r.addOldShellMembers(o, w)
	return o
}

// InsertManyResult returns the result of insertMany.
func (r ResultBuilder) InsertManyResult(w *Result, ops []Op) *goja.Object {
	o := r.JS.NewObject("acknowledged", !w.unacknowledged, "insertedIds", r.insertedIDs(ops, w))
	r.addOldShellMembers(o, w)
	return o
}

// insertedIDs returns an object that maps positions to the ids of the inserted documents.
func (r ResultBuilder) insertedIDs(ops []Op, w *Result) goja.Value {
	start, ids := bsoncore.AppendDocumentStart(nil)
	failed := w.failedIndexes()
	for _, op := range ops {
		if op.Kind == Insert && !failed[op.Index] {
			id, _ := rawdoc.ID(op.Doc)
			ids = append(bsoncore.AppendHeader(ids, bsoncore.Type(id.Type), strconv.Itoa(op.Index)), id.Value...)
		}
	}
	ids, _ = bsoncore.AppendDocumentEnd(ids, start)
	return r.JS.Values.LazyObject(ids)
}

// UpdateResult returns the result of an update. Unlike other results, it has insertedId in place of
// upsertedId.
func (r ResultBuilder) UpdateResult(w *Result) *goja.Object {
	id := goja.Null()
	if len(w.upserted) > 0 {
		id = r.JS.Values.ToJS(w.upserted[0].id)
	}
	o := r.JS.NewObject(
		"acknowledged", !w.unacknowledged,
		"insertedId", id,
		"matchedCount", w.Matched,
		"modifiedCount", w.modified,
		"upsertedCount", len(w.upserted),
	)
	script.Define(o, "upsertedId", id)
	r.addOldShellMembers(o, w)
	return o
}

// DeleteResult returns the result of a delete.
func (r ResultBuilder) DeleteResult(w *Result) *goja.Object {
	o := r.JS.NewObject("acknowledged", !w.unacknowledged, "deletedCount", w.deleted)
	r.addOldShellMembers(o, w)
	return o
}

// BulkResult returns the result of a batch of writes.
func (r ResultBuilder) BulkResult(w *Result, ops []Op) *goja.Object {
	o := r.JS.NewObject(
		"acknowledged", !w.unacknowledged,
		"insertedCount", w.inserted,
		"insertedIds", r.insertedIDs(ops, w),
		"matchedCount", w.Matched,
		"modifiedCount", w.modified,
		"deletedCount", w.deleted,
		"upsertedCount", len(w.upserted),
		"upsertedIds", r.upsertedIDs(w),
	)
	r.addOldShellMembers(o, w)
	return o
}

func (r ResultBuilder) upsertedIDs(w *Result) *goja.Object {
	ids := r.JS.Runtime.NewObject()
	for _, u := range w.upserted {
		script.Must(ids.Set(strconv.Itoa(u.index), r.JS.Values.ToJS(u.id)))
	}
	return ids
}

func (r ResultBuilder) addOldShellMembers(o *goja.Object, w *Result) {
	for _, m := range []struct {
		name  string
		value any
	}{
		{"nInserted", w.inserted}, {"nMatched", w.Matched}, {"nModified", w.modified},
		{"nUpserted", len(w.upserted)}, {"nRemoved", w.deleted}, {"ok", 1},
	} {
		script.Define(o, m.name, r.JS.Runtime.ToValue(m.value))
	}
	script.Must(o.SetPrototype(r.Prototype()))
}

// Prototype returns the prototype with the methods of the old shell's results. Its class name is not
// printed.
func (r ResultBuilder) Prototype() *goja.Object {
	return r.JS.Classes.BuildOnce("result", func() *goja.Object {
		base := r.JS.Runtime.NewObject().Prototype()
		p := r.JS.Runtime.CreateObject(base)
		for name, f := range oldResultMethods() {
			script.Define(p, name, r.JS.NewFunction(name, func(c *script.Call) goja.Value {
				this, _ := c.This.(*goja.Object)
				return f(c, this)
			}))
		}
		script.Define(p, "constructor", base.Get("constructor"))
		return p
	})
}

// oldResultMethods returns methods that read the fields of the result. A result outside of an error has
// no failures.
func oldResultMethods() map[string]func(c *script.Call, this *goja.Object) goja.Value {
	failures := func(c *script.Call, this *goja.Object) *goja.Object {
		if list, ok := script.Property(this, "writeErrors").(*goja.Object); ok {
			return list
		}
		return c.JS.Runtime.NewArray()
	}
	count := func(c *script.Call, this *goja.Object) int { return len(script.Items(failures(c, this))) }
	concern := func(this *goja.Object) goja.Value {
		return script.OrUndefined(script.Property(this, "writeConcernError"))
	}
	failed := func(c *script.Call, this *goja.Object) goja.Value { return c.JS.Runtime.ToValue(count(c, this) > 0) }
	failure := func(c *script.Call, this *goja.Object) goja.Value {
		return failures(c, this).Get(strconv.Itoa(int(c.Arg(0).ToInteger())))
	}
	ids := func(field string) func(*script.Call, *goja.Object) goja.Value {
		return func(c *script.Call, this *goja.Object) goja.Value { return indexedIDs(c, script.Property(this, field)) }
	}
	return map[string]func(c *script.Call, this *goja.Object) goja.Value{
		"hasWriteError":   failed,
		"hasWriteErrors":  failed,
		"getWriteErrors":  func(c *script.Call, this *goja.Object) goja.Value { return failures(c, this) },
		"getWriteError":   failure,
		"getWriteErrorAt": failure,
		"getWriteErrorCount": func(c *script.Call, this *goja.Object) goja.Value {
			return c.JS.Runtime.ToValue(count(c, this))
		},
		"hasWriteConcernError": func(c *script.Call, this *goja.Object) goja.Value {
			return c.JS.Runtime.ToValue(concern(this).ToBoolean())
		},
		"getWriteConcernError": func(_ *script.Call, this *goja.Object) goja.Value { return concern(this) },
		"isOk":                 func(c *script.Call, _ *goja.Object) goja.Value { return c.JS.Runtime.ToValue(true) },
		"getUpsertedIds":       ids("upsertedIds"),
		"getInsertedIds":       ids("insertedIds"),
		"getUpsertedIdAt": func(c *script.Call, this *goja.Object) goja.Value {
			return ids("upsertedIds")(c, this).(*goja.Object).Get(strconv.Itoa(int(c.Arg(0).ToInteger())))
		},
		"getUpsertedId": func(c *script.Call, this *goja.Object) goja.Value {
			id := script.Property(this, "upsertedId")
			if id == nil || goja.IsNull(id) {
				return nil
			}
			return c.JS.NewObject("index", 0, "_id", id)
		},
	}
}

// indexedIDs converts {index: _id, …} to [{index, _id}, …].
func indexedIDs(c *script.Call, v goja.Value) goja.Value {
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

// ThrowFailures throws the errors of a batch of writes, if there are any: the server's error for a
// single write, otherwise a bulk error with the partial result.
func (r ResultBuilder) ThrowFailures(w *Result, ops []Op, bulk bool) {
	switch {
	case len(w.failures) > 0 && bulk:
		panic(r.bulkError(w, ops, w.failures[0].raw))
	case len(w.failures) > 0:
		panic(r.Gateway.WriteError(w.failures[0].raw))
	case w.writeConcernErr != nil && bulk:
		panic(r.bulkError(w, ops, w.writeConcernErr))
	case w.writeConcernErr != nil:
		panic(r.Gateway.WriteConcernError(w.writeConcernErr, w.writeConcernReply))
	}
}

// bulkError returns the error of a batch of writes, with the message and code of its first cause.
func (r ResultBuilder) bulkError(w *Result, ops []Op, cause bson.Raw) *goja.Object {
	e := r.JS.Values.Errors.New("MongoBulkWriteError", rawdoc.Text(cause, "errmsg"))
	r.Gateway.AddLabels(e, nil)
	script.Must(e.Set("errorResponse", r.JS.Values.DocToJS(cause)))
	script.Must(e.Set("code", r.JS.Values.ToJS(cause.Lookup("code"))))
	if name := rawdoc.Text(cause, "codeName"); name != "" {
		script.Must(e.Set("codeName", name))
	}
	counts := r.partialBulkResult(w, ops)
	script.Must(e.Set("writeErrors", counts.Get("writeErrors")))
	script.Must(e.Set("result", counts))
	for _, k := range counts.Keys() {
		script.Define(e, k, counts.Get(k))
	}
	return e
}

// partialBulkResult returns the result inside an error: an ordered batch ended at its first failure, an
// unordered one carried out all other operations.
func (r ResultBuilder) partialBulkResult(w *Result, ops []Op) *goja.Object {
	if len(w.failures) > 0 && !w.unordered {
		ops = ops[:min(w.failures[0].index, len(ops))]
	}
	o := r.JS.NewObject(
		"insertedCount", w.inserted,
		"matchedCount", w.Matched,
		"modifiedCount", w.modified,
		"deletedCount", w.deleted,
		"upsertedCount", len(w.upserted),
		"upsertedIds", r.upsertedIDs(w),
		"insertedIds", r.insertedIDs(ops, w),
	)
	r.addOldShellMembers(o, w)
	failures := make([]any, len(w.failures))
	for i, f := range w.failures {
		failures[i] = r.writeErrorObject(f)
	}
	script.Define(o, "writeErrors", r.JS.Runtime.NewArray(failures...))
	if w.writeConcernErr != nil {
		script.Define(o, "writeConcernError", r.JS.Values.DocToJS(w.writeConcernErr))
	}
	p := r.NamedPrototype("BulkWriteResult")
	script.Must(p.SetPrototype(r.Prototype()))
	script.Must(o.SetPrototype(p))
	return o
}

func (r ResultBuilder) writeErrorObject(f failure) *goja.Object {
	info := goja.Undefined()
	if v, err := f.raw.LookupErr("errInfo"); err == nil {
		info = r.JS.Values.ToJS(v)
	}
	err := r.JS.NewObject(
		"index", f.index,
		"code", r.JS.Values.ToJS(f.raw.Lookup("code")),
		"errmsg", rawdoc.Text(f.raw, "errmsg"),
		"errInfo", info,
		"op", r.JS.Values.DocToJS(f.op.Doc),
	)
	o := r.JS.NewObject("err", err)
	for _, k := range []string{"index", "code", "errmsg", "errInfo"} {
		script.Define(o, k, err.Get(k))
	}
	script.Must(o.SetPrototype(r.NamedPrototype("WriteError")))
	return o
}

// NamedPrototype returns a prototype whose objects print with a class name.
func (r ResultBuilder) NamedPrototype(class string) *goja.Object {
	return r.JS.Classes.BuildOnce("class "+class, func() *goja.Object {
		p := r.JS.Runtime.NewObject()
		ctor := r.JS.NewFunction(class, func(*script.Call) goja.Value { return nil })
		script.Define(ctor, "prototype", p)
		script.Define(p, "constructor", ctor)
		return p
	})
}
