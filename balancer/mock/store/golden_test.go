package store

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"os"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mock/store/value"
)

// The files in testdata hold what a real server (8.0.10) was asked and what it
// replied, as a JavaScript shell saw it: int32 and double are one number type
// there, and error messages were not kept.

// recordedStep is one question: a reply or an error code.
type recordedStep struct {
	Step string          `json:"step"`
	Ask  json.RawMessage `json:"ask"`
	Want json.RawMessage `json:"want"`
	Code json.RawMessage `json:"code"`
}

func (s recordedStep) code(t testing.TB) int32 {
	if s.Code == nil {
		return 0
	}
	return extendedJSON(t, s.Code).Int32()
}

func extendedJSON(t testing.TB, text []byte) bson.RawValue {
	t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON(slices.Concat([]byte(`{"v":`), text, []byte(`}`)), true, &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return bson.Raw(b).Lookup("v")
}

func documents(t testing.TB, text []byte) []bson.Raw {
	var out []bson.Raw
	for _, v := range document.Items(extendedJSON(t, text)) {
		out = append(out, v.Value)
	}
	return out
}

func readRecording(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// asShell turns whole doubles into int32, as a JavaScript shell prints them.
func asShell(v value.Value) value.Value {
	switch v.Type {
	case bson.TypeDouble:
		if f := value.DoubleAt(v.Value); f == math.Trunc(f) && math.Abs(f) < 1<<31 {
			return value.Int32(int32(f))
		}
	case bson.TypeEmbeddedDocument:
		var out []document.Field
		for name, f := range document.Fields(v.Value) {
			out = append(out, document.Field{Name: string(name), Value: asShell(f)})
		}
		slices.SortFunc(out, func(a, b document.Field) int {
			return value.Compare(value.String(a.Name),
				value.String(b.Name))
		})
		return value.Object(document.New(out...))
	case bson.TypeArray:
		list := document.Items(v)
		for i := range list {
			list[i] = asShell(list[i])
		}
		return document.Array(list)
	case bson.TypeString:
		if value.TextAt(v.Value) == "507f1f77bcf86cd799439011" {
			return value.String("<oid>") // masked in the recordings
		}
	}
	return v
}

func sameReply(t *testing.T, got, want value.Value) {
	t.Helper()
	if !asShell(got).Equal(asShell(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func sequence(docs []bson.Raw) iter.Seq[bson.Raw] { return slices.Values(docs) }

// aggregate runs a pipeline over documents and returns the list of results.
func aggregate(ask []bson.Raw, env pipeline.Env, docs []bson.Raw) (value.Value, error) {
	p, err := pipeline.Compile(ask, env)
	if err != nil {
		return value.Value{}, err
	}
	var out []value.Value
	for doc, err := range p.Run(context.Background(), sequence(docs)) {
		if err != nil {
			return value.Value{}, err
		}
		out = append(out, value.Object(doc))
	}
	return document.Array(out), nil
}

func TestExpressionsAsRecorded(t *testing.T) {
	var rec struct {
		Documents json.RawMessage
		Steps     []recordedStep
	}
	readRecording(t, "expressions.json", &rec)
	docs := documents(t, rec.Documents)
	for _, s := range rec.Steps {
		t.Run(s.Step, func(t *testing.T) {
			project := document.New(document.Field{Name: "$project", Value: value.Object(document.New(
				document.Field{Name: "_id", Value: value.Int32(0)}, document.Field{Name: "r", Value: extendedJSON(t, s.Ask)}))})
			got, err := aggregate([]bson.Raw{project}, pipeline.Env{}, docs)
			if code := storetest.CodeOf(err); code != s.code(t) {
				t.Fatalf("code %d (%v), want %d", code, err, s.code(t))
			}
			if err == nil {
				sameReply(t, got, extendedJSON(t, s.Want))
			}
		})
	}
}

type recordedQueries struct {
	M, S, Start                      json.RawMessage
	Match, Project, Update, Pipeline []recordedStep
}

func collectionOf(t testing.TB, docs []bson.Raw) *Collection {
	c := New()
	for _, d := range docs {
		if _, err := c.Insert(d); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestMatchAsRecorded(t *testing.T) {
	var rec recordedQueries
	readRecording(t, "queries.json", &rec)
	c := collectionOf(t, documents(t, rec.M))
	for _, s := range rec.Match {
		t.Run(s.Step, func(t *testing.T) {
			f, err := filter.Compile(extendedJSON(t, s.Ask).Document())
			if code := storetest.CodeOf(err); code != s.code(t) {
				t.Fatalf("code %d (%v), want %d", code, err, s.code(t))
			}
			if err != nil {
				return
			}
			var got []value.Value
			for _, doc := range c.Find(f) {
				got = append(got, document.Lookup(doc, "_id"))
			}
			sameReply(t, document.Array(got), extendedJSON(t, s.Want))
		})
	}
}

func TestProjectionAsRecorded(t *testing.T) {
	var rec recordedQueries
	readRecording(t, "queries.json", &rec)
	all := documents(t, rec.M)
	for _, s := range rec.Project {
		t.Run(s.Step, func(t *testing.T) {
			p, err := projection.Compile(extendedJSON(t, s.Ask).Document())
			if code := storetest.CodeOf(err); code != s.code(t) {
				t.Fatalf("code %d (%v), want %d", code, err, s.code(t))
			}
			if err != nil {
				return
			}
			var got []value.Value
			for _, i := range []int{0, 7, 11, 13} {
				doc, err := p.Apply(all[i])
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, value.Object(doc))
			}
			sameReply(t, document.Array(got), extendedJSON(t, s.Want))
		})
	}
}

func TestUpdateAsRecorded(t *testing.T) {
	var rec recordedQueries
	readRecording(t, "queries.json", &rec)
	start := extendedJSON(t, rec.Start).Document()
	for _, s := range rec.Update {
		t.Run(s.Step, func(t *testing.T) {
			u, err := update.Compile(extendedJSON(t, s.Ask), update.Options{})
			var got bson.Raw
			var changed bool
			if err == nil {
				got, changed, err = u.Apply(start)
			}
			if code := storetest.CodeOf(err); code != s.code(t) {
				t.Fatalf("code %d (%v), want %d", code, err, s.code(t))
			}
			if err != nil {
				return
			}
			want := document.Items(extendedJSON(t, s.Want)) // matched, modified, document
			if changed != value.IsTruthy(want[1]) {
				t.Errorf("changed = %v, want %s", changed, want[1])
			}
			sameReply(t, value.Object(document.WithField(got, "now", value.Value{})), want[2])
		})
	}
}

func TestPipelineAsRecorded(t *testing.T) {
	var rec recordedQueries
	readRecording(t, "queries.json", &rec)
	colls := map[string][]bson.Raw{"m": documents(t, rec.M), "s": documents(t, rec.S)}
	env := pipeline.Env{Collection: func(name string) (iter.Seq[bson.Raw], error) { return sequence(colls[name]), nil }}
	for _, s := range rec.Pipeline {
		t.Run(s.Step, func(t *testing.T) {
			got, err := aggregate(documents(t, s.Ask), env, colls["s"])
			if code := storetest.CodeOf(err); code != s.code(t) {
				t.Fatalf("code %d (%v), want %d", code, err, s.code(t))
			}
			if err == nil {
				sameReply(t, got, extendedJSON(t, s.Want))
			}
		})
	}
}

func TestSortAsRecorded(t *testing.T) {
	var rec recordedQueries
	readRecording(t, "queries.json", &rec)
	for _, tc := range []struct {
		pattern string
		want    []int32
	}{
		{`{"v": 1, "_id": 1}`, []int32{20, 8, 5, 6, 18, 0, 7, 1, 22, 2, 24, 3, 23, 4, 10, 13, 11, 12, 9, 17, 15, 14, 16, 19,
			21}},
		{`{"v": -1, "_id": 1}`, []int32{21, 19, 16, 14, 15, 17, 9, 12, 13, 11, 10, 4, 23, 24, 3, 2, 1, 22, 7, 0, 18, 5, 6, 8,
			20}},
	} {
		docs := documents(t, rec.M)
		s, err := order.Compile(storetest.Raw(t, tc.pattern))
		if err != nil {
			t.Fatal(err)
		}
		s.SortMetered(nil, docs)
		var got []int32
		for _, d := range docs {
			got = append(got, document.Lookup(d, "_id").Int32())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.pattern, got, tc.want)
		}
		if !slices.IsSortedFunc(docs, s.Compare) {
			t.Errorf("%s: Compare and Key disagree", tc.pattern)
		}
	}
}
