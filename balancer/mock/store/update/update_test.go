package update

import (
	"bytes"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

func compileUpdate(t testing.TB, text string, o Options) (*Update, error) {
	t.Helper()
	return Compile(document.Lookup(storetest.Raw(t, `{"u":`+text+`}`), "u"), o)
}

func TestUpdateOperators(t *testing.T) {
	for _, tc := range []struct {
		update, doc, want string
	}{
		// New fields come in the order of their names, old ones stay in place
		// (rules/03-catalog-and-keys §3.6).
		{`{"$set": {"z": 1, "b": 2, "a": 3}}`, `{"_id": 1, "m": 0}`, `{"_id": 1, "m": 0, "a": 3, "b": 2, "z": 1}`},
		{`{"$set": {"z": 1}, "$inc": {"c": 2}, "$push": {"b": 3}}`, `{"_id": 1, "z": 0}`,
			`{"_id": 1, "z": 1, "b": [3], "c": 2}`},
		{`{"$set": {"a.10": 1, "a.2": 2}}`, `{"_id": 1}`, `{"_id": 1, "a": {"2": 2, "10": 1}}`},
		{`{"$set": {"a.0.b": 1}}`, `{"_id": 1, "a": [{"b": 0}, 2]}`, `{"_id": 1, "a": [{"b": 1}, 2]}`},
		{`{"$set": {"a.1.b": 1}}`, `{"_id": 1, "a": [0]}`, `{"_id": 1, "a": [0, {"b": 1}]}`},
		{`{"$set": {"_id": 1, "a": 2}}`, `{"_id": 1}`, `{"_id": 1, "a": 2}`},
		{`{"$unset": {"a.b": "", "c.d": "", "e": ""}}`, `{"_id": 1, "a": {"b": 1}, "c": 5}`, `{"_id": 1, "a": {}, "c": 5}`},
		{`{"$inc": {"a": 1}}`, `{"_id": 1, "a": 2147483647}`, `{"_id": 1, "a": {"$numberLong": "2147483648"}}`},
		{`{"$inc": {"a": {"$numberDecimal": "0.10"}}}`, `{"_id": 1, "a": 1}`, `{"_id": 1, "a": {"$numberDecimal": "1.10"}}`},
		{`{"$mul": {"a": 1.5, "b": {"$numberLong": "2"}}}`, `{"_id": 1, "a": 2}`,
			`{"_id": 1, "a": 3.0, "b": {"$numberLong": "0"}}`},
		{`{"$min": {"a": "x", "b": 1}}`, `{"_id": 1, "a": 5}`, `{"_id": 1, "a": 5, "b": 1}`},
		{`{"$max": {"a": "x"}}`, `{"_id": 1, "a": 5}`, `{"_id": 1, "a": "x"}`},
		{`{"$rename": {"a": "b.c", "n": "m"}}`, `{"_id": 1, "a": 1, "b": {"c": 0}}`, `{"_id": 1, "b": {"c": 1}}`},
		{`{"$bit": {"a": {"and": 12, "xor": 1}, "b": {"or": {"$numberLong": "4"}}}}`, `{"_id": 1, "a": 10}`,
			`{"_id": 1, "a": 9, "b": {"$numberLong": "4"}}`},
		{`{"$push": {"a": {"$each": [5, 6], "$slice": -3}}}`, `{"_id": 1, "a": [1, 2]}`, `{"_id": 1, "a": [2, 5, 6]}`},
		{`{"$push": {"a": {"$each": [{"k": 1}], "$sort": {"k": 1}}}}`, `{"_id": 1, "a": [{"k": 3}, {"k": 2}]}`,
			`{"_id": 1, "a": [{"k": 1}, {"k": 2}, {"k": 3}]}`},
		{`{"$push": {"a": {"$each": [9], "$position": -1}}}`, `{"_id": 1, "a": [1, 2]}`, `{"_id": 1, "a": [1, 9, 2]}`},
		{`{"$push": {"a": [1, 2]}}`, `{"_id": 1, "a": [0]}`, `{"_id": 1, "a": [0, [1, 2]]}`},
		{`{"$addToSet": {"a": {"$each": [1.0, "x", "x"]}}}`, `{"_id": 1, "a": [1]}`, `{"_id": 1, "a": [1, "x"]}`},
		{`{"$addToSet": {"a": [1]}}`, `{"_id": 1}`, `{"_id": 1, "a": [[1]]}`},
		{`{"$pop": {"a": 1, "b": -1}}`, `{"_id": 1, "a": [], "b": [7]}`, `{"_id": 1, "a": [], "b": []}`},
		{`{"$pull": {"a": {"$in": [1, 3]}}}`, `{"_id": 1, "a": [1, 2, 3]}`, `{"_id": 1, "a": [2]}`},
		{`{"$pull": {"a": {"b": {"$gt": 1}, "c": 1}}}`, `{"_id": 1, "a": [{"b": 2, "c": 1, "d": 0}, {"b": 1, "c": 1}, 5]}`,
			`{"_id": 1, "a": [{"b": 1, "c": 1}, 5]}`},
		{`{"$pull": {"a": [1, 2]}}`, `{"_id": 1, "a": [[1, 2], 1]}`, `{"_id": 1, "a": [1]}`},
		{`{"$pull": {"a": {"$regularExpression": {"pattern": "^x", "options": ""}}}}`, `{"_id": 1, "a": ["xy", "y"]}`,
			`{"_id": 1, "a": ["y"]}`},
		{`{"$pullAll": {"a": [1, {"b": 2}]}}`, `{"_id": 1, "a": [1.0, {"b": 2}, {"b": 2, "c": 3}]}`,
			`{"_id": 1, "a": [{"b": 2, "c": 3}]}`},
		{`{"$inc": {"a.$[]": 1}}`, `{"_id": 1, "a": [1, 2]}`, `{"_id": 1, "a": [2, 3]}`},
		{`{"$set": {"a.$[].b.$[].c": 1}}`, `{"_id": 1, "a": [{"b": [{"c": 0}, {}]}]}`,
			`{"_id": 1, "a": [{"b": [{"c": 1}, {"c": 1}]}]}`},
		{`{"$unset": {"a.$[]": ""}}`, `{"_id": 1, "a": [1, 2]}`, `{"_id": 1, "a": [null, null]}`},
		// Replacements and pipelines keep the _id.
		{`{"a": 1}`, `{"_id": 1, "b": 2}`, `{"_id": 1, "a": 1}`},
		{`{"a": 1, "_id": 1}`, `{"_id": 1, "b": 2}`, `{"_id": 1, "a": 1}`},
		{`{}`, `{"_id": 1, "b": 2}`, `{"_id": 1}`},
		{`[{"$project": {"_id": 0, "a": "$b"}}]`, `{"_id": 1, "b": 2}`, `{"_id": 1, "a": 2}`},
		{`[{"$set": {"a": "$$NOW"}}, {"$unset": "b"}]`, `{"_id": 1, "b": 2}`,
			`{"_id": 1, "a": {"$date": "2026-01-02T03:04:05Z"}}`},
		{`{"$currentDate": {"a": true, "b": {"$type": "timestamp"}}}`, `{"_id": 1}`,
			`{"_id": 1, "a": {"$date": "2026-01-02T03:04:05Z"}, "b": {"$timestamp": {"t": 1767323045, "i": 1}}}`},
	} {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		u, err := compileUpdate(t, tc.update, Options{Now: now})
		if err != nil {
			t.Errorf("%s: %v", tc.update, err)
			continue
		}
		doc, want := storetest.Raw(t, tc.doc), storetest.Raw(t, tc.want)
		got, changed, err := u.Apply(doc)
		switch {
		case err != nil:
			t.Errorf("%s on %s: %v", tc.update, tc.doc, err)
		case !bytes.Equal(got, want):
			t.Errorf("%s on %s:\ngot  %s\nwant %s", tc.update, tc.doc, got, want)
		case changed == bytes.Equal(doc, want):
			t.Errorf("%s on %s: changed = %v", tc.update, tc.doc, changed)
		}
	}
}

func TestUpdateErrors(t *testing.T) {
	const doc = `{"_id": 1, "n": 5, "s": "x", "a": [1, 2], "o": {"p": 1}, "max": {"$numberLong": "9223372036854775807"}}`
	for update, code := range map[string]int32{
		`5`:                                           9,
		`{"$set": {"a": 1}, "b": 2}`:                  9,
		`{"b": 2, "$set": {"a": 1}}`:                  52,
		`{"$set": {"": 1}}`:                           56,
		`{"$set": {"a..b": 1}}`:                       56,
		`{"$set": {"a.$x": 1}}`:                       52,
		`{"$set": {"$": 1}}`:                          2,
		`{"$set": {"a.$": 1}}`:                        2,
		`{"$set": {"a.b": 1}}`:                        28,
		`{"$set": {"n.b": 1}}`:                        28,
		`{"$set": {"a.1600000": 1}}`:                  34,
		`{"$set": {"a.$[e]": 1}}`:                     2,
		`{"$set": {"n.$[]": 1}}`:                      2,
		`{"$set": {"nope.$[]": 1}}`:                   2,
		`{"$set": {"nope.b.$[].c": 1}}`:               2,
		`{"$set": {"a.0": 1, "a.$[]": 2}}`:            40,
		`{"$set": {"o": 1}, "$unset": {"o.p": ""}}`:   40,
		`{"$rename": {"n": "m"}, "$set": {"m": 1}}`:   40,
		`{"$rename": {"n": "m"}, "$set": {"n": 1}}`:   40,
		`{"$unset": {"_id": ""}}`:                     66,
		`{"_id": 2}`:                                  66,
		`[{"$set": {"_id": 2}}]`:                      66,
		`[{"$group": {"_id": 1}}]`:                    72,
		`[{"$set": {"n": {"$nope": 1}}}]`:             168,
		`{"$inc": {"n": "x"}}`:                        14,
		`{"$inc": {"max": 1}}`:                        2,
		`{"$mul": {"s": 1}}`:                          14,
		`{"$push": {"n": 1}}`:                         2,
		`{"$push": {"a": {"$each": 5}}}`:              2,
		`{"$push": {"a": {"$each": [], "$nope": 1}}}`: 2,
		`{"$push": {"a": {"$each": [], "$sort": 2}}}`: 2,
		`{"$addToSet": {"n": 1}}`:                     2,
		`{"$addToSet": {"a": {"$each": 1}}}`:          14,
		`{"$pop": {"a": 2}}`:                          9,
		`{"$pop": {"n": 1}}`:                          14,
		`{"$pull": {"n": 1}}`:                         2,
		`{"$pull": {"a": {"$expr": true}}}`:           224, // as in a query of arrayFilters
		`{"$pull": {"a": {"$jsonSchema": {}}}}`:       224,
		`{"$pull": {"a": {"$where": "1"}}}`:           2,
		`{"$pullAll": {"a": 1}}`:                      2,
		`{"$bit": {"n": 5}}`:                          2,
		`{"$bit": {"n": {"nand": 1}}}`:                2,
		`{"$bit": {"s": {"or": 1}}}`:                  2,
		`{"$currentDate": {"d": 5}}`:                  2,
		`{"$currentDate": {"d": {"$type": "x"}}}`:     2,
		`{"$rename": {"n": 5}}`:                       2,
		`{"$rename": {"n": "n"}}`:                     2,
		`{"$rename": {"n": "n.x"}}`:                   2,
		`{"$rename": {"a.0": "x"}}`:                   2,
		`{"$rename": {"n": "a.0"}}`:                   2,
	} {
		u, err := compileUpdate(t, update, Options{})
		if err == nil {
			_, _, err = u.Apply(storetest.Raw(t, doc))
		}
		if storetest.CodeOf(err) != code {
			t.Errorf("%s: code %d (%v), want %d", update, storetest.CodeOf(err), err, code)
		}
	}
}

func TestPositionalOperators(t *testing.T) {
	const start = `{"_id": 1, "a": [1, 2, 3], "ao": [{"k": 1, "q": 1}, {"k": 2, "q": 2}], "b": [{"c": [5, 6]}, ` +
		`{"c": [7]}]}`
	for _, tc := range []struct {
		filter, update, filters, path, want string
		code                                int32
	}{
		// The first two are recorded (11-queries, positional and filtered positional).
		{filter: `{"ao.k": 2}`, update: `{"$set": {"ao.$.q": 77}}`, path: "ao",
			want: `[{"k": 1, "q": 1}, {"k": 2, "q": 77}]`},
		{filter: `{}`, update: `{"$inc": {"ao.$[e].q": 1}}`, filters: `{"e.k": {"$lt": 2}}`, path: "ao",
			want: `[{"k": 1, "q": 2}, {"k": 2, "q": 2}]`},
		{filter: `{"a": {"$gt": 1}}`, update: `{"$set": {"a.$": 9}}`, path: "a", want: `[1, 9, 3]`},
		{filter: `{"ao": {"$elemMatch": {"k": 2, "q": 2}}}`, update: `{"$unset": {"ao.$.q": ""}}`, path: "ao",
			want: `[{"k": 1, "q": 1}, {"k": 2}]`},
		{filter: `{"_id": 1, "a": 3}`, update: `{"$set": {"ao.$.q": 0}}`, path: "ao",
			want: `[{"k": 1, "q": 1}, {"k": 2, "q": 2}, {"q": 0}]`},
		{filter: `{"b.c": 7}`, update: `{"$set": {"b.$.d": 1}}`, path: "b", want: `[{"c": [5, 6]}, {"c": [7], "d": 1}]`},
		{filter: `{"a": {"$in": [3]}}`, update: `{"$push": {"b.$[x].c": 0}}`, filters: `{"x.c": {"$size": 2}}`, path: "b",
			want: `[{"c": [5, 6, 0]}, {"c": [7]}]`},
		{filter: `{}`, update: `{"$set": {"a.$[i]": 0}}`, filters: `{"$or": [{"i": 1}, {"i": 3}]}`, path: "a",
			want: `[0, 2, 0]`},
		{filter: `{"_id": 1}`, update: `{"$set": {"a.$": 9}}`, code: 2},
		{filter: `{"a": {"$ne": 9}}`, update: `{"$set": {"a.$": 9}}`, code: 2},
		{filter: `{}`, update: `{"$set": {"x": 0}}`, filters: `{"i": 1}`, code: 9},
		{filter: `{}`, update: `{"$set": {"a.$[i]": 0}}`, filters: `{"i": 1, "j": 2}`, code: 9},
		{filter: `{}`, update: `{"$set": {"a.$[I]": 0}}`, filters: `{"I": 1}`, code: 2},
		{filter: `{}`, update: `{"$set": {"a.$[i_j]": 0}}`, filters: `{"i_j": 1}`, code: 2},
		{filter: `{}`, update: `{"$set": {"a.$.b.$": 0}}`, code: 2},
		{filter: `{}`, update: `[{"$set": {"a": 0}}]`, filters: `{"i": 1}`, code: 9},
	} {
		f, err := filter.Compile(storetest.Raw(t, tc.filter))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Filter: f}
		if tc.filters != "" {
			o.ArrayFilters = []bson.Raw{storetest.Raw(t, tc.filters)}
		}
		u, err := compileUpdate(t, tc.update, o)
		var got bson.Raw
		if err == nil {
			got, _, err = u.Apply(storetest.Raw(t, start))
		}
		if storetest.CodeOf(err) != tc.code {
			t.Errorf("%s: code %d (%v), want %d", tc.update, storetest.CodeOf(err), err, tc.code)
			continue
		}
		if err == nil {
			if v := document.Lookup(got, tc.path); !v.Equal(document.Lookup(storetest.Raw(t, `{"v":`+tc.want+`}`), "v")) {
				t.Errorf("%s: got %s, want %s", tc.update, v, tc.want)
			}
		}
	}
}

func TestUpsert(t *testing.T) {
	id := bson.ObjectID{7}
	const generated = `{"$oid": "070000000000000000000000"}`
	for _, tc := range []struct {
		filter, update, want string
		code                 int32
	}{
		// Recorded: 11-queries, upsert from equality.
		{filter: `{"_id": 9, "a.b": 3, "c": {"$gt": 1}, "e": {"$eq": 4}}`,
			update: `{"$set": {"f": 1}, "$setOnInsert": {"g": 2}}`,
			want:   `{"_id": 9, "a": {"b": 3}, "e": 4, "f": 1, "g": 2}`},
		// What balancerStop leaves in an empty config.settings (rules/03-catalog-and-keys §3.6).
		{filter: `{"_id": "balancer"}`, update: `{"$set": {"stopped": true, "mode": "off"}}`,
			want: `{"_id": "balancer", "mode": "off", "stopped": true}`},
		{filter: `{"a": 1}`, update: `{"$set": {"b": 2}}`, want: `{"_id": ` + generated + `, "a": 1, "b": 2}`},
		{filter: `{"$and": [{"a": 1}, {"b": {"$in": [2]}}], "$or": [{"c": 3}]}`, update: `{"$set": {"_id": 5}}`,
			want: `{"_id": 5, "a": 1, "b": 2, "c": 3}`},
		{filter: `{"$or": [{"a": 1}, {"a": 2}]}`, update: `{"$inc": {"n": 1}}`, want: `{"_id": ` + generated + `, "n": 1}`},
		{filter: `{"_id": 1, "a": 1}`, update: `{"b": 2}`, want: `{"_id": 1, "b": 2}`},
		{filter: `{"a": 1}`, update: `{"b": 2}`, want: `{"_id": ` + generated + `, "b": 2}`},
		{filter: `{"a": 1}`, update: `{"b": 2, "_id": 3}`, want: `{"_id": 3, "b": 2}`},
		{filter: `{"a": 1}`, update: `[{"$set": {"b": {"$add": ["$a", 1]}}}]`,
			want: `{"_id": ` + generated + `, "a": 1, "b": 2}`},
		{filter: `{"_id": 1}`, update: `{"$set": {"_id": 2}}`, code: 66},
		{filter: `{"_id": 1}`, update: `{"_id": 2}`, code: 66},
		{filter: `{"a": 1, "$and": [{"a": 1}]}`, update: `{"$set": {"b": 2}}`, code: 54},
		{filter: `{"a": 1, "a.b": 1}`, update: `{"$set": {"b": 2}}`, code: 54},
		{filter: `{"a": 1}`, update: `{"$set": {"x.$": 2}}`, code: 2},
		{filter: `{"a": 1}`, update: `{"$set": {"a.b": 2}}`, code: 28},
	} {
		f, err := filter.Compile(storetest.Raw(t, tc.filter))
		if err != nil {
			t.Fatal(err)
		}
		u, err := compileUpdate(t, tc.update, Options{Filter: f, NewID: func() bson.ObjectID { return id }})
		var got bson.Raw
		if err == nil {
			got, err = u.BuildUpsertDocument(t.Context(), storetest.Raw(t, tc.filter))
		}
		if storetest.CodeOf(err) != tc.code {
			t.Errorf("%s %s: code %d (%v), want %d", tc.filter, tc.update, storetest.CodeOf(err), err, tc.code)
		} else if err == nil && !bytes.Equal(got, storetest.Raw(t, tc.want)) {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tc.filter, tc.update, got, tc.want)
		}
	}
}

// $set then $unset of a new field gives the document back; $set is idempotent
// and can be read.
func TestUpdateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document.WithField(storetest.SmallDocuments.Draw(t, "doc"), "_id", value.Int32(1))
		v := expr.OrNull(storetest.SmallValues.Draw(t, "value"))
		path := rapid.SampledFrom([]string{"new", "b.new", "b.c", "a"}).Draw(t, "path")
		apply := func(op string, arg value.Value, doc bson.Raw) (bson.Raw, bool) {
			u, err := Compile(value.Object(document.New(document.Field{Name: op,
				Value: value.Object(document.New(document.Field{Name: path, Value: arg}))})),
				Options{})
			if err != nil {
				t.Fatal(err)
			}
			out, changed, err := u.Apply(doc)
			if err != nil {
				t.Fatal(err)
			}
			return out, changed
		}
		set, _ := apply("$set", v, doc)
		if got := paths.LookupPath(set, paths.Split(path)); !got.Equal(v) {
			t.Fatalf("set %s to %s, got %s", path, v, got)
		}
		if again, changed := apply("$set", v, set); changed || !bytes.Equal(again, set) {
			t.Fatal("$set twice changes something")
		}
		had := !value.IsMissing(paths.LookupPath(doc, paths.Split(path)))
		if back, _ := apply("$unset", v, set); !had && !bytes.Equal(back, doc) {
			t.Fatalf("got %s back, want %s", back, doc)
		}
	})
}
