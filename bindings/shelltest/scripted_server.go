package shelltest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
)

// ScriptedServer is the scripted server of rules/04-outputs-and-traps, Appendix B. It implements enough of a
// mongos for the observed pairs of commands and replies, and records every command.
type ScriptedServer struct {
	Mu           sync.Mutex
	Sent         []sentCommand
	Data         map[string][]bson.Raw // by namespace
	CursorRest   map[int64][]bson.Raw  // rest of open cursors
	lastCursorID int64
	// answers replace the fixture's own replies, by command name.
	answers map[string]bson.D
	Now     time.Time
}

type sentCommand struct {
	database string
	Body     bson.Raw
}

// Handle replies as the scripted server did.
func (f *ScriptedServer) Handle(_ context.Context, r wire.Request) bson.Raw {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	switch r.Command {
	case "hello", "isMaster", "ismaster", "endSessions", "ping":
	default:
		f.Sent = append(f.Sent, sentCommand{r.Database, withoutFields(r.Body, "lsid", "$clusterTime", "$db",
			"$readPreference", "txnNumber")})
	}
	reply, err := f.answer(r)
	if err != nil {
		return errorReply(err)
	}
	return MustMarshal(reply)
}

func withoutFields(doc bson.Raw, names ...string) bson.Raw {
	var d bson.D
	elems, _ := doc.Elements()
	for _, el := range elems {
		if !slices.Contains(names, el.Key()) {
			d = append(d, bson.E{Key: el.Key(), Value: el.Value()})
		}
	}
	return MustMarshal(d)
}

// MustMarshal converts a value to BSON; it panics when that is impossible.
func MustMarshal(v any) bson.Raw {
	raw, err := bson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func errorReply(err error) bson.Raw {
	code, _ := mongoerr.CodeOf(err)
	e := mongoerr.New(code, "%s", err)
	return MustMarshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: err.Error()}, {Key: "code",
		Value: int32(code)}, {Key: "codeName", Value: e.CodeName()}})
}

// ScriptedClusterTime holds the cluster time fields in replies of a ScriptedServer.
var ScriptedClusterTime = bson.D{
	{Key: "$clusterTime", Value: bson.D{
		{Key: "clusterTime", Value: bson.Timestamp{T: 1700000100, I: 5}},
		{Key: "signature", Value: bson.D{{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}}, {Key: "keyId",
			Value: int64(0)}}},
	}},
	{Key: "operationTime", Value: bson.Timestamp{T: 1700000100, I: 5}},
}

// OK returns a reply with ok: 1 and more fields.
func OK(fields ...bson.E) bson.D { return append(fields, bson.E{Key: "ok", Value: 1.0}) }

// Field returns a field of a document.
func Field(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

func (f *ScriptedServer) answer(r wire.Request) (bson.D, error) {
	if a, found := f.answers[r.Command]; found {
		return a, nil
	}
	first, _ := r.Body.IndexErr(0)
	collection, _ := first.Value().StringValueOK()
	ns := r.Database + "." + collection
	switch r.Command {
	case "hello", "isMaster", "ismaster":
		return OK(Field("ismaster", true), Field("isWritablePrimary", true), Field("msg", "isdbgrid"),
			Field("maxBsonObjectSize", int32(16<<20)),
			Field("maxMessageSizeBytes", int32(48000000)), Field("maxWriteBatchSize", int32(100000)), Field("localTime", f.Now),
			Field("logicalSessionTimeoutMinutes", int32(30)), Field("minWireVersion", int32(0)), Field("maxWireVersion",
				int32(25)), Field("helloOk", true)), nil
	case "ping", "endSessions", "killCursors":
		return OK(), nil
	case "find":
		return f.find(r, ns)
	case "aggregate":
		return f.aggregate(r, ns)
	case "getMore":
		return f.getMore(r, ns)
	case "count", "distinct":
		return f.countOrDistinct(r, ns)
	case "insert", "update", "delete", "findAndModify":
		return f.write(r, ns)
	case "listCollections":
		return f.listCollections(r)
	case "listIndexes":
		return f.cursor(ns, []bson.Raw{
			MustMarshal(bson.D{Field("v", int32(2)), Field("key", bson.D{Field("_id", int32(1))}), Field("name", "_id_")}),
			MustMarshal(bson.D{Field("v", int32(2)), Field("key", bson.D{Field("k", int32(1))}), Field("name", "k_1")}),
		}, 0), nil
	case "dropIndexes":
		return OK(Field("nIndexesWas", int32(2))), nil
	case "drop":
		if f.Data[ns] == nil {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns not found")
		}
		return OK(), nil
	case "moveChunk":
		if to, _ := r.Body.Lookup("to").StringValueOK(); to == "bad" {
			return nil, mongoerr.New(70, "Shard 'bad' not found")
		}
	case "checkMetadataConsistency":
		return f.cursor(ns, nil, 0), nil
	}
	if reply, found := fixtureReplies()[r.Command]; found {
		return reply, nil
	}
	if slices.Contains(strings.Fields(acknowledgedCommands), r.Command) {
		return append(OK(), ScriptedClusterTime...), nil
	}
	return nil, mongoerr.New(59, "no such command: '%s'", r.Command)
}

func (f *ScriptedServer) cursor(ns string, docs []bson.Raw, batch int) bson.D {
	id := int64(0)
	batch = cmp.Or(batch, 101)
	if len(docs) > batch {
		f.lastCursorID++
		id = f.lastCursorID
		f.CursorRest[id] = docs[batch:]
		docs = docs[:batch]
	}
	list := bson.A{}
	for _, d := range docs {
		list = append(list, d)
	}
	return OK(Field("cursor", bson.D{Field("firstBatch", list), Field("id", id), Field("ns", ns)}))
}

func (f *ScriptedServer) getMore(r wire.Request, ns string) (bson.D, error) {
	id, _ := r.Body.Lookup("getMore").AsInt64OK()
	docs := f.CursorRest[id]
	n := len(docs)
	if size := int(rawdoc.Int(r.Body, "batchSize")); size > 0 {
		n = min(n, size)
	}
	if n == len(docs) {
		delete(f.CursorRest, id)
		id = 0
	} else {
		f.CursorRest[id] = docs[n:]
	}
	list := bson.A{}
	for _, d := range docs[:n] {
		list = append(list, d)
	}
	return OK(Field("cursor", bson.D{Field("nextBatch", list), Field("id", id), Field("ns", ns)})), nil
}

func (f *ScriptedServer) find(r wire.Request, ns string) (bson.D, error) {
	if ns == "app.boom" {
		return nil, mongoerr.New(13, "not authorized on app to execute command")
	}
	filterDoc, _ := r.Body.Lookup("filter").DocumentOK()
	docs, err := f.matching(ns, filterDoc)
	if err != nil {
		return nil, err
	}
	if spec, isDoc := r.Body.Lookup("sort").DocumentOK(); isDoc {
		if first, err := spec.IndexErr(0); err != nil || first.Key() != "$natural" {
			order, err := order.Compile(spec)
			if err != nil {
				return nil, err
			}
			docs = slices.Clone(docs)
			slices.SortStableFunc(docs, order.Compare)
		}
	}
	if n := int(rawdoc.Int(r.Body, "skip")); n > 0 {
		docs = docs[min(n, len(docs)):]
	}
	if n := int(rawdoc.Int(r.Body, "limit")); n > 0 {
		docs = docs[:min(n, len(docs))]
	}
	if spec, isDoc := r.Body.Lookup("projection").DocumentOK(); isDoc {
		p, err := projection.Compile(spec)
		if err != nil {
			return nil, err
		}
		projected := make([]bson.Raw, len(docs))
		for i, d := range docs {
			if projected[i], err = p.Apply(d); err != nil {
				return nil, err
			}
		}
		docs = projected
	}
	return f.cursor(ns, docs, int(rawdoc.Int(r.Body, "batchSize"))), nil
}

func (f *ScriptedServer) matching(ns string, query bson.Raw) ([]bson.Raw, error) {
	if query == nil {
		query = rawdoc.Empty
	}
	compiled, err := filter.Compile(query)
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	for _, d := range f.Data[ns] {
		if compiled.Match(d) {
			docs = append(docs, d)
		}
	}
	return docs, nil
}

func (f *ScriptedServer) aggregate(r wire.Request, ns string) (bson.D, error) {
	array, _ := r.Body.Lookup("pipeline").ArrayOK()
	values, _ := array.Values()
	docs := f.Data[ns]
	var stages []bson.Raw
	for i, v := range values {
		stage := v.Document()
		el, _ := stage.IndexErr(0)
		if i == 0 {
			if fixed, found := fixtureSource(el.Key()); found {
				docs = fixed
				continue
			}
		}
		stages = append(stages, stage)
	}
	p, err := pipeline.Compile(stages, pipeline.Env{Now: func() time.Time { return f.Now }})
	if err != nil {
		return nil, err
	}
	var out []bson.Raw
	for doc, err := range p.Run(context.Background(), slices.Values(docs)) {
		if err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	return f.cursor(ns, out, int(rawdoc.Int(r.Body, "cursor", "batchSize"))), nil
}

func (f *ScriptedServer) countOrDistinct(r wire.Request, ns string) (bson.D, error) {
	query, _ := r.Body.Lookup("query").DocumentOK()
	docs, err := f.matching(ns, query)
	if err != nil {
		return nil, err
	}
	if r.Command == "distinct" {
		key, _ := r.Body.Lookup("key").StringValueOK()
		list := bson.A{}
		found, err := store.Distinct(context.Background(), key, slices.Values(docs))
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			list = append(list, v)
		}
		return OK(Field("values", list)), nil
	}
	return OK(Field("n", int32(len(docs)))), nil
}

func (f *ScriptedServer) listCollections(r wire.Request) (bson.D, error) {
	infos := []bson.Raw{}
	for _, c := range [][2]string{{"orders", "collection"}, {"users", "collection"}, {"vw", "view"}, {"system.views",
		"collection"}, {"ts", "timeseries"}} {
		infos = append(infos, MustMarshal(bson.D{Field("name", c[0]), Field("type", c[1]), Field("options", bson.D{})}))
	}
	filterDoc, _ := r.Body.Lookup("filter").DocumentOK()
	f.Data["$cmd.listCollections"] = infos
	defer delete(f.Data, "$cmd.listCollections")
	docs, err := f.matching("$cmd.listCollections", filterDoc)
	return f.cursor(r.Database+".$cmd.listCollections", docs, 0), err
}

func jsonOf(v bson.RawValue) string { return display.OldJSON(v, "", true) }

// write stores inserted documents; updates and deletes are only counted.
func (f *ScriptedServer) write(r wire.Request, ns string) (bson.D, error) {
	list := func(name string) []bson.Raw {
		array, _ := r.Body.Lookup(name).ArrayOK()
		values, _ := array.Values()
		docs := make([]bson.Raw, len(values))
		for i, v := range values {
			docs[i] = v.Document()
		}
		return docs
	}
	n := int32(0)
	switch r.Command {
	case "insert":
		failed := bson.A{}
		for i, doc := range list("documents") {
			if dup, _ := f.matching(ns, MustMarshal(bson.D{Field("_id", doc.Lookup("_id"))})); len(dup) > 0 {
				failed = append(failed, bson.D{Field("index", int32(i)), Field("code", int32(11000)), Field("keyPattern",
					bson.D{Field("_id", int32(1))}),
					Field("keyValue", bson.D{Field("_id", doc.Lookup("_id"))}),
					Field("errmsg", fmt.Sprintf("E11000 duplicate key error collection: %s index: _id_ dup key: { _id: %s }", ns,
						jsonOf(doc.Lookup("_id"))))})
				continue
			}
			f.Data[ns] = append(f.Data[ns], doc)
			n++
		}
		reply := OK(Field("n", n))
		if len(failed) > 0 {
			reply = append(reply, Field("writeErrors", failed))
		}
		return reply, nil
	case "update":
		var upserted bson.A
		for i, st := range list("updates") {
			docs, err := f.matching(ns, st.Lookup("q").Document())
			if err != nil {
				return nil, err
			}
			n += int32(min(1, len(docs)))
			if len(docs) == 0 && rawdoc.IsFieldTruthy(st, "upsert") {
				upserted = append(upserted, bson.D{Field("index", int32(i)), Field("_id", st.Lookup("q", "_id"))})
			}
		}
		reply := OK(Field("n", n+int32(len(upserted))), Field("nModified", n))
		if upserted != nil {
			reply = append(reply, Field("upserted", upserted))
		}
		return reply, nil
	case "delete":
		for _, st := range list("deletes") {
			docs, err := f.matching(ns, st.Lookup("q").Document())
			if err != nil {
				return nil, err
			}
			n += int32(min(1, len(docs)))
		}
		return OK(Field("n", n)), nil
	}
	return OK(Field("value", f.Data[ns][0]), Field("lastErrorObject", bson.D{Field("n", int32(1))})), nil
}

// TakeCommands returns the commands since the last call, as "database {…}".
func (f *ScriptedServer) TakeCommands() []string {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	var list []string
	for _, c := range f.Sent {
		text, err := bson.MarshalExtJSON(c.Body, false, false)
		if err != nil {
			text = []byte(err.Error())
		}
		list = append(list, c.database+" "+string(text))
	}
	f.Sent = nil
	return list
}

// Doc returns a document with fields.
func Doc(fields ...bson.E) bson.D { return fields }
