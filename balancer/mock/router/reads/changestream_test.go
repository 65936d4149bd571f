package reads_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// eventsOf reads a stream of doc1 on, and gives what tells one run from another
// no more.
func eventsOf(x *tester, id int64, coll string) (list []string, left int64) {
	x.T.Helper()
	reply := x.OK("doc1", d("getMore", id, "collection", coll))
	values, _ := reply.Lookup("cursor", "nextBatch").Array().Values()
	for _, v := range values {
		var doc bson.D
		if err := v.Unmarshal(&doc); err != nil {
			x.T.Fatal(err)
		}
		var shown bson.D
		for _, e := range doc {
			if e.Key != "_id" && e.Key != "clusterTime" && e.Key != "wallTime" {
				shown = append(shown, e)
			}
		}
		raw, err := bson.MarshalExtJSON(shown, false, false)
		if err != nil {
			x.T.Fatal(err)
		}
		list = append(list, string(raw))
	}
	return list, reply.Lookup("cursor", "id").AsInt64()
}

// The documents of the manual's page "Change Events".
func TestChangeEvents(t *testing.T) {
	const ns, key = `"ns":{"db":"doc1","coll":"e"}`, `"documentKey":{"k":1,"_id":1}`
	update := func(u any, more ...any) bson.D {
		return d("update", "e", "updates", bson.A{append(d("q", d("k", 1), "u", u), d(more...)...)})
	}
	tests := []struct {
		name    string
		command bson.D
		want    string
	}{
		{"insert", d("insert", "e", "documents", bson.A{d("_id", 50, "k", 50)}),
			`{"operationType":"insert","fullDocument":{"_id":50,"k":50},` + ns + `,"documentKey":{"k":50,"_id":50}}`},
		{"update", update(d("$set", d("n", 5, "o", d("a", 1)), "$unset", d("i", 1))),
			`{"operationType":"update",` + ns + `,` + key + `,"updateDescription":{"updatedFields":{"n":5,"o":{"a":1}},"removedFields":["i"],"truncatedArrays":[]}}`},
		{"update of an array", update(d("$push", d("tags", "new"))),
			`{"operationType":"update",` + ns + `,` + key + `,"updateDescription":{"updatedFields":{"tags.2":"new"},"removedFields":[],"truncatedArrays":[]}}`},
		{"a shorter array", update(bson.A{d("$set", d("tags", bson.A{"a"}))}),
			`{"operationType":"update",` + ns + `,` + key + `,"updateDescription":{"updatedFields":{"tags":["a"]},"removedFields":[],"truncatedArrays":[]}}`},
		{"replacement", update(d("k", 1, "x", 1)), `{"operationType":"replace","fullDocument":{"_id":1,"k":1,"x":1},` + ns + `,` + key + `}`},
		{"delete", d("delete", "e", "deletes", bson.A{d("q", d("k", 1), "limit", 1)}), `{"operationType":"delete",` + ns + `,` + key + `}`},
		{"nothing changed", update(d("$set", d("n", 1))), ``},
		{"another collection", d("insert", "other", "documents", bson.A{d()}), ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := routertest.NewExplainState(t)
			id := x.Watch("doc1", "e", d())
			x.OK("doc1", tt.command)
			if got, left := eventsOf(x, id, "e"); strings.Join(got, " ") != tt.want || left != id {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Streams with showExpandedEvents tell each collMod, whatever it changes: what it was
// given, and what was there before.
func TestModifyEvents(t *testing.T) {
	x := routertest.New(t, mock.Config{Topology: mock.DefaultTopology(1)})
	x.OK("doc1", d("create", "e"))
	x.OK("doc1", d("create", "v", "viewOn", "e", "pipeline", bson.A{}))
	x.OK("doc1", d("createIndexes", "e", "indexes", bson.A{d("key", d("a", 1), "name", "a_1", "expireAfterSeconds", 5)}))
	id := x.Watch("doc1", 1, d("showExpandedEvents", true))
	uuid := `"collectionOptions":{"uuid":`
	modify := func(more ...any) bson.D { return append(d("collMod", "e"), d(more...)...) }
	for _, tt := range []struct{ command, want string }{
		{`{"collMod":"e"}`, `"operationDescription":{},"stateBeforeChange":{` + uuid},
		{`{"collMod":"e","index":{"name":"a_1","hidden":true}}`,
			`"operationDescription":{"index":{"name":"a_1","hidden":true}},"stateBeforeChange":{` + uuid + `~},"indexOptions":{"hidden":false}}`},
		{`{"collMod":"e","index":{"keyPattern":{"a":1},"expireAfterSeconds":7}}`,
			`"operationDescription":{"index":{"name":"a_1","expireAfterSeconds":7}},"stateBeforeChange":{` + uuid +
				`~},"indexOptions":{"expireAfterSeconds":5}}`},
		{`{"collMod":"e","validator":{"a":1}}`, `"operationDescription":{"validator":{"a":1}},"stateBeforeChange":{` + uuid},
		{`{"collMod":"e","validationLevel":"off"}`,
			`"operationDescription":{"validationLevel":"off"},"stateBeforeChange":{"collectionOptions":{"validator":{"a":1},`},
		{`{"collMod":"v","viewOn":"e","pipeline":[{"$match":{}}]}`,
			`"operationDescription":{"viewOn":"e","pipeline":[{"$match":{}}]}`},
	} {
		var command bson.D
		if err := bson.UnmarshalExtJSON([]byte(tt.command), false, &command); err != nil {
			t.Fatal(err)
		}
		x.OK("doc1", command)
		got, _ := eventsOf(x, id, "$cmd.aggregate")
		want, rest, _ := strings.Cut(tt.want, "~")
		if len(got) != 1 || !strings.HasPrefix(got[0], `{"operationType":"modify"`) || !strings.Contains(got[0], want) ||
			!strings.Contains(got[0], rest) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.command, got, tt.want)
		}
	}
	x.OK("doc1", modify("index", d("name", "a_1", "prepareUnique", true)))
	x.OK("doc1", modify("index", d("name", "a_1", "unique", true), "dryRun", true))
	if got, _ := eventsOf(x, id, "$cmd.aggregate"); len(got) != 1 {
		t.Errorf("a trial tells something: %v", got)
	}
}

// The names of paths that could be read in another way stand in expanded events only.
func TestAmbiguousPathsOfUpdates(t *testing.T) {
	x := routertest.New(t, mock.Config{Topology: mock.DefaultTopology(1)})
	x.OK("doc1", d("insert", "e", "documents", bson.A{d("_id", 1, "a", d("1", 1))}))
	expanded, plain := x.Watch("doc1", "e", d("showExpandedEvents", true)), x.Watch("doc1", "e", d())
	x.OK("doc1", d("update", "e", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("a.1", 2)))}))
	if got, _ := eventsOf(x, expanded, "e"); len(got) != 1 || !strings.Contains(got[0], `"disambiguatedPaths":{"a.1":["a","1"]}`) {
		t.Errorf("expanded: %v", got)
	}
	if got, _ := eventsOf(x, plain, "e"); len(got) != 1 || strings.Contains(got[0], "disambiguated") {
		t.Errorf("plain: %v", got)
	}
}

func TestChangeStreamsOfDatabases(t *testing.T) {
	x := routertest.NewExplainState(t)
	database := x.Watch("doc1", 1, d())
	filtered := x.Watch("doc1", "e", d("fullDocument", "updateLookup"), d("$match", d("operationType", "update")), d("$project", d("fullDocument.n", 1)))
	x.OK("doc1", d("insert", "one", "documents", bson.A{d("_id", 1)}))
	x.OK("other", d("insert", "one", "documents", bson.A{d("_id", 1)}))
	x.OK("doc1", d("update", "e", "updates", bson.A{d("q", d("k", 1), "u", d("$set", d("n", 5))), d("q", d("k", 1), "u", d("$set", d("n", 6)))}))
	if got, _ := eventsOf(x, database, "$cmd.aggregate"); len(got) != 3 || !strings.Contains(got[0], `"coll":"one"`) {
		t.Errorf("of the database: %s", got)
	}
	if got, _ := eventsOf(x, filtered, "e"); strings.Join(got, " ") != `{"fullDocument":{"n":6}} {"fullDocument":{"n":6}}` {
		t.Errorf("filtered: %s", got)
	}
	x.OK("doc1", d("drop", "one"))
	if got, left := eventsOf(x, database, "$cmd.aggregate"); strings.Join(got, " ") != `{"operationType":"drop","ns":{"db":"doc1","coll":"one"}}` || left == 0 {
		t.Errorf("after a drop: %s", got)
	}
	x.OK("doc1", d("drop", "e"))
	got, left := eventsOf(x, filtered, "e")
	if left != 0 {
		t.Errorf("the stream of a dropped collection is open: %s", got)
	}
	whole := x.Watch("doc1", "u", d())
	x.OK("doc1", d("drop", "u"))
	if got, left := eventsOf(x, whole, "u"); left != 0 || strings.Join(got, " ") != `{"operationType":"drop","ns":{"db":"doc1","coll":"u"}} {"operationType":"invalidate"}` {
		t.Errorf("after its drop: %s", got)
	}
}

// Images are there where the collection keeps them.
func TestChangeStreamImages(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("create", "kept", "changeStreamPreAndPostImages", d("enabled", true)))
	options := func(mode string) bson.D { return d("fullDocument", mode, "fullDocumentBeforeChange", mode) }
	for _, coll := range []string{"kept", "not"} {
		x.OK("doc1", d("insert", coll, "documents", bson.A{d("_id", 1, "n", 1)}))
		id := x.Watch("doc1", coll, options("whenAvailable"))
		strict := x.Watch("doc1", coll, options("required"))
		x.OK("doc1", d("update", coll, "updates", bson.A{d("q", d(), "u", d("$set", d("n", 2)))}))
		want := `"fullDocument":{"_id":1,"n":2},"fullDocumentBeforeChange":{"_id":1,"n":1}`
		if coll == "not" {
			want = `"fullDocument":null,"fullDocumentBeforeChange":null`
		}
		if got, _ := eventsOf(x, id, coll); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %s, want %s", coll, got, want)
		}
		reply := x.Run("doc1", d("getMore", strict, "collection", coll))
		if code, _ := reply.Lookup("code").AsInt64OK(); (code == 47) != (coll == "not") {
			t.Errorf("%s, required: %s", coll, reply)
		}
	}
}

func TestChangeStreamRefusals(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("create", "v", "viewOn", "e"))
	stream := func(options bson.D, rest ...any) bson.D {
		return d("aggregate", "e", "pipeline", append(bson.A{d("$changeStream", options)}, rest...), "cursor", d())
	}
	for _, tt := range []struct {
		db      string
		command bson.D
		code    int
	}{
		{"doc1", stream(d(), d("$sort", d("a", 1))), 20},
		{"doc1", stream(d("resumeAfter", d("_data", "zz"))), 9},
		{"doc1", stream(d("resumeAfter", d("_data", "81"))), 260},
		{"doc1", stream(d(), d("$changeStreamSplitLargeEvent", d("a", 1))), 7182800},
		{"doc1", stream(d(), d("$changeStreamSplitLargeEvent", d()), d("$match", d())), 7182802},
		{"doc1", stream(d("fullDocument", "nope")), 2},
		{"doc1", stream(d("startAtOperationTime", bson.Timestamp{T: 1, I: 1})), 286},
		{"doc1", stream(d("startAtOperationTime", bson.Timestamp{})), 286},
		{"doc1", stream(d("allChangesForCluster", true)), 72},
		{"admin", d("aggregate", 1, "pipeline", bson.A{d("$changeStream", d())}, "cursor", d()), 73},
		{"doc1", d("aggregate", "v", "pipeline", bson.A{d("$changeStream", d())}, "cursor", d()), 166},
		{"doc1", d("aggregate", "e", "pipeline", bson.A{d("$match", d()), d("$changeStream", d())}, "cursor", d()), 40602},
	} {
		if code := x.Code(tt.db, tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

// A driver's stream, and another that goes on where the first one was.
func TestWatchThroughTheDriver(t *testing.T) {
	x := routertest.NewExplainState(t)
	ctx := context.Background()
	coll := x.Client(nil).Database("doc1").Collection("e")
	stream, err := coll.Watch(ctx, mongo.Pipeline{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := coll.InsertOne(ctx, d("_id", 100+i, "k", 100+i)); err != nil {
			t.Fatal(err)
		}
	}
	id := func(s *mongo.ChangeStream) any {
		if !s.Next(ctx) {
			t.Fatal(s.Err())
		}
		return s.Current.Lookup("fullDocument", "_id").AsInt64()
	}
	if got := id(stream); got != int64(100) {
		t.Errorf("first %v", got)
	}
	resumed, err := coll.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(stream.ResumeToken()))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := id(resumed), id(resumed); a != int64(101) || b != int64(102) {
		t.Errorf("resumed with %v, %v", a, b)
	}
	if resumed.TryNext(ctx) {
		t.Errorf("one more: %s", resumed.Current)
	}
	for _, s := range []*mongo.ChangeStream{stream, resumed} {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// A pipeline leaves the token to resume from.
func TestChangeStreamKeepsItsToken(t *testing.T) {
	x := routertest.NewRecordedState(t)
	for _, stage := range []bson.D{d("$project", d("_id", 0)), d("$set", d("_id", 1))} {
		id := x.Watch("doc1", "e", d(), stage)
		x.OK("doc1", d("insert", "e", "documents", bson.A{d("k", 90)}))
		if code := x.Code("doc1", d("getMore", id, "collection", "e")); code != 280 {
			t.Errorf("%v: code %d, want 280", stage, code)
		}
	}
}

// An event of over 16 MiB comes in fragments, which together have its fields.
func TestLargeEventsAreSplit(t *testing.T) {
	x := routertest.New(t, mock.Config{})
	x.OK("doc1", d("create", "big", "changeStreamPreAndPostImages", d("enabled", true)))
	x.OK("doc1", d("insert", "big", "documents", bson.A{d("_id", 1, "pad", strings.Repeat("x", 9<<20))}))
	watch := func(more ...any) bson.Raw {
		return x.OK("doc1", d("aggregate", "big", "pipeline", bson.A{
			d("$changeStream", append(d("fullDocument", "required", "fullDocumentBeforeChange", "required"), d(more...)...)),
			d("$changeStreamSplitLargeEvent", d())}, "cursor", d()))
	}
	open := watch()
	x.OK("doc1", d("update", "big", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("n", 1)))}))
	var fields []string
	var tokens []bson.RawValue
	for n := int32(1); n <= 2; n++ {
		reply := x.OK("doc1", d("getMore", open.Lookup("cursor", "id").AsInt64(), "collection", "big", "batchSize", 1))
		tokens = append(tokens, reply.Lookup("cursor", "postBatchResumeToken"))
		part := reply.Lookup("cursor", "nextBatch", "0").Document()
		if got, want := part.Lookup("splitEvent").String(), fmt.Sprintf(`{"fragment": {"$numberInt":"%d"},"of": {"$numberInt":"2"}}`, n); got != want {
			t.Errorf("fragment %s, want %s", got, want)
		}
		elements, err := part.Elements()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range elements[2:] {
			fields = append(fields, e.Key())
		}
	}
	slices.Sort(fields)
	want := []string{"clusterTime", "documentKey", "fullDocument", "fullDocumentBeforeChange", "ns", "operationType",
		"updateDescription", "wallTime"}
	if !slices.Equal(fields, want) {
		t.Errorf("the fragments have %q, want %q", fields, want)
	}
	// A stream that is resumed between them goes on with the second.
	rest, _ := watch("resumeAfter", tokens[0]).Lookup("cursor", "firstBatch").Array().Values()
	if len(rest) != 1 || rest[0].Document().Lookup("splitEvent", "fragment").Int32() != 2 {
		t.Errorf("%d fragments after the first", len(rest))
	}
	if rest, _ := watch("resumeAfter", tokens[1]).Lookup("cursor", "firstBatch").Array().Values(); len(rest) != 0 {
		t.Errorf("%d fragments after the last", len(rest))
	}
}

// The token of a batch has nothing behind it that the client has not seen.
func TestResumeAfterPartOfTheEvents(t *testing.T) {
	x := routertest.NewExplainState(t)
	id := x.Watch("doc1", "e", d())
	for k := range 3 {
		x.OK("doc1", d("insert", "e", "documents", bson.A{d("_id", 100+k, "k", k)}))
	}
	token := x.OK("doc1", d("getMore", id, "collection", "e", "batchSize", 1)).Lookup("cursor", "postBatchResumeToken")
	for _, size := range []int{0, 1, 3} {
		resumed := x.OK("doc1", d("aggregate", "e", "pipeline", bson.A{d("$changeStream", d("resumeAfter", token))},
			"cursor", d("batchSize", size))).Lookup("cursor").Document()
		batch, _ := resumed.Lookup("firstBatch").Array().Values()
		if len(batch) != min(size, 2) || size > 0 && batch[0].Document().Lookup("documentKey", "_id").AsInt64() != 101 {
			t.Errorf("%d events after the first in a batch of %d", len(batch), size)
		}
		if size == 0 && !resumed.Lookup("postBatchResumeToken").Equal(token) {
			t.Errorf("an empty batch has %s", resumed)
		}
	}
}
