package action

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/placement"
)

// collating stands before a mock, which has no collations, and answers finds of one collection as servers do whose
// collation is {locale: "en", strength: 2}: cases don't differ. Its sort keys are the texts in lower case, which are
// in that order as long as all are letters and digits.
type collating struct {
	router.Routers
	collection string
}

func (c collating) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if name, _ := r.Body.Lookup("find").StringValueOK(); r.Command != "find" || name != c.collection {
		return c.Routers.Handle(ctx, r)
	}
	all := r
	all.Body = withoutOrder(r.Body)
	reply := c.Routers.Handle(ctx, all)
	batch, ok := reply.Lookup("cursor", "firstBatch").ArrayOK()
	if !ok {
		return reply
	}
	fold := foldCase
	if locale, _ := r.Body.Lookup("collation", "locale").StringValueOK(); locale == "simple" {
		fold = func(v bson.RawValue) bson.RawValue { return v }
	}
	values, _ := batch.Values()
	docs := []bson.Raw{}
	for _, v := range values {
		if doc := v.Document(); matches(r.Body, doc, fold) {
			docs = append(docs, doc)
		}
	}
	order, sorted := r.Body.Lookup("sort").DocumentOK()
	if sorted {
		slices.SortStableFunc(docs, func(a, b bson.Raw) int { return compareKeys(sortKey(order, a, fold), sortKey(order, b, fold)) })
		for i, doc := range docs {
			docs[i] = with(doc, "shardsh sort key", sortKey(order, doc, fold))
		}
	}
	return changed(reply, "cursor", bson.D{
		{Key: "id", Value: int64(0)}, {Key: "ns", Value: reply.Lookup("cursor", "ns")}, {Key: "firstBatch", Value: docs},
	})
}

// withoutOrder asks for all documents, as they lie.
func withoutOrder(find bson.Raw) bson.Raw {
	var d bson.D
	if err := bson.Unmarshal(find, &d); err != nil {
		panic(err)
	}
	d = slices.DeleteFunc(d, func(e bson.E) bool {
		return slices.Contains([]string{"filter", "sort", "hint", "min", "projection", "collation", "batchSize"}, e.Key)
	})
	raw, err := bson.Marshal(append(d, bson.E{Key: "batchSize", Value: 10_000}))
	if err != nil {
		panic(err)
	}
	return raw
}

func with(doc bson.Raw, name string, value any) bson.Raw {
	var d bson.D
	if err := bson.Unmarshal(doc, &d); err != nil {
		panic(err)
	}
	raw, err := bson.Marshal(append(d, bson.E{Key: name, Value: value}))
	if err != nil {
		panic(err)
	}
	return raw
}

func foldCase(v bson.RawValue) bson.RawValue {
	text, is := v.StringValueOK()
	if !is {
		return v
	}
	kind, value, err := bson.MarshalValue(strings.ToLower(text))
	if err != nil {
		panic(err)
	}
	return bson.RawValue{Type: kind, Value: value}
}

// matches knows {field: {$eq}}, {field: {$in}} and min.
func matches(find, doc bson.Raw, fold func(bson.RawValue) bson.RawValue) bool {
	filter, _ := find.Lookup("filter").Document().Elements()
	for _, e := range filter {
		have, want := fold(doc.Lookup(e.Key())), []bson.RawValue{e.Value().Document().Lookup("$eq")}
		if list, is := e.Value().Document().Lookup("$in").ArrayOK(); is {
			want, _ = list.Values()
		}
		if !slices.ContainsFunc(want, func(v bson.RawValue) bool { return keyorder.Compare(have, fold(v)) == 0 }) {
			return false
		}
	}
	lowest, is := find.Lookup("min").DocumentOK()
	order, _ := find.Lookup("sort").DocumentOK()
	return !is || compareKeys(sortKey(order, doc, fold), sortKey(order, lowest, fold)) >= 0
}

func sortKey(order, doc bson.Raw, fold func(bson.RawValue) bson.RawValue) (key bson.A) {
	elements, _ := order.Elements()
	for _, e := range elements {
		v := doc.Lookup(e.Key())
		if v.IsZero() {
			v = bson.RawValue{Type: bson.TypeNull}
		}
		key = append(key, fold(v))
	}
	return key
}

func compareKeys(a, b bson.A) int {
	return slices.CompareFunc(a, b, func(x, y any) int {
		return keyorder.Compare(x.(bson.RawValue), y.(bson.RawValue))
	})
}

var caseless = bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: 2}}

// newCollated is a cluster whose db.c has that collation, with _ids that are texts; x is below 50 on s0, below 200 on
// s1, and s2 has the others. The index on n has the collation, that on b compares by bytes.
func newCollated(t *testing.T, release catalog.Release, answers bool) *audited {
	t.Helper()
	cluster := mocktest.Cluster(t, auditTopology, mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 1,
	})
	routers, err := router.NewRouters(router.New(cluster, nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	w := &audited{TB: t, mock: cluster, clock: cluster.Clock()}
	var handler wire.Handler = routers
	if answers {
		handler = collating{routers, "c"}
	}
	w.client = mocktest.Connect(t, handler, func(o *options.ClientOptions) {
		w.settings = options.Client().SetDialer(o.Dialer).SetServerMonitoringMode(options.ServerMonitoringModePoll)
	})
	w.index(mongo.IndexModel{Keys: bson.D{{Key: "s", Value: 1}}}) // which makes it on all shards
	for i, id := range []string{"Ann", "ben", "Cid", "dora", "Eve", "fay", "Gus", "hal", "Ida"} {
		_, err := w.coll().InsertOne(t.Context(), bson.D{{Key: "_id", Value: id}, {Key: "x", Value: 30 * i},
			{Key: "n", Value: "N" + id}, {Key: "b", Value: "B" + id}})
		w.must(err)
	}
	for _, id := range cluster.ShardIDs() {
		w.must(w.mock.Corrupter().SetOptions(id, "db.c", bson.D{{Key: "collation", Value: w.raw(caseless)}}))
		w.must(w.mock.Corrupter().AddIndex(id, "db.c", store.IndexSpec{Name: "n_1", Key: w.raw(bson.D{{Key: "n", Value: 1}}), Unique: true,
			Options: w.raw(bson.D{{Key: "collation", Value: w.raw(caseless)}})}))
		w.must(w.mock.Corrupter().AddIndex(id, "db.c", store.IndexSpec{Name: "b_1", Key: w.raw(bson.D{{Key: "b", Value: 1}}), Unique: true}))
	}
	return w
}

// In a collection with a collation documents are found by their exact _id, and unique indexes are compared between
// shards as the servers compare: by the collation of each index.
func TestAuditByCollation(t *testing.T) {
	type found map[placement.FindingKind]string // a part of the text
	doc := func(id string, x int, n, b string) bson.D {
		return bson.D{{Key: "_id", Value: id}, {Key: "x", Value: x}, {Key: "n", Value: n}, {Key: "b", Value: b}}
	}
	tests := []struct {
		name  string
		shard catalog.ShardID
		doc   bson.D
		want  found
	}{
		{"a document besides", "s2", doc("zoe", 250, "zoe", "zoe"), found{}},
		{"an orphan", "s2", doc("ben", 30, "Nben", "Bben"), found{placement.Orphan: "1 document is left on s2"}},
		{"lone, though the router finds another one by its _id", "s1", doc("BEN", 30, "lone", "lone"),
			found{placement.Lone: "on s1", placement.DuplicateKey: "index _id_"}},
		{"two that are equal by the collation, each on its shard", "s2", doc("BEN", 250, "x", "x"),
			found{placement.DuplicateKey: "index _id_"}},
		{"the very same _id twice", "s2", doc("ben", 250, "x", "x"), found{placement.DuplicateID: "different shard keys"}},
		{"equal by the collation of an index", "s2", doc("zoe", 250, "nBEN", "x"), found{placement.DuplicateKey: "index n_1"}},
		{"different by the bytes that another index goes by", "s2", doc("zoe", 250, "x", "bBEN"), found{}},
		{"equal by those", "s2", doc("zoe", 250, "x", "Bben"), found{placement.DuplicateKey: "index b_1"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newCollated(t, releases()[i%len(releases())], true)
			w.must(w.mock.Corrupter().Insert(tt.shard, "db.c", w.raw(tt.doc)))
			a := anAudit()
			a.Namespaces = []string{"db.c"}
			result := w.audit(a, w.cluster())
			if len(result.Unchecked)+len(result.Unsettled) > 0 || len(result.Collections) != 1 || result.Collections[0].Docs != 30 { // by three indexes
				t.Errorf("%+v", result)
			}
			left := tt.want
			for _, f := range result.Findings {
				if f.Kind == placement.OtherInconsistency { // of the unique indexes, which these shards keep for themselves
					continue
				}
				part, want := left[f.Kind]
				if !want || !strings.Contains(f.Text, part) {
					t.Errorf("a false alarm: %+v", f)
				}
				if f.Kind == placement.Orphan && !strings.Contains(strings.Join(f.RepairCommands, " "), `{collation: {locale: "simple"}}`) {
					t.Errorf("what mends it would delete others: %q", f.RepairCommands)
				}
				delete(left, f.Kind)
			}
			if len(left) > 0 {
				t.Errorf("not found: %v in %+v", left, result.Findings)
			}
		})
	}
}

// A shard that tells no sort keys, as a mock, is named, and other collections are audited.
func TestAuditSaysWhatItCanNotOrder(t *testing.T) {
	w := newCollated(t, catalog.Release80, false)
	w.must(w.mock.Corrupter().DropIndex("s1", "db.c", "s_1"))
	result := w.audit(anAudit(), w.cluster())
	if len(result.Unchecked) != 1 || !strings.Contains(result.Unchecked[0], "documents of db.c") {
		t.Errorf("%+v", result)
	}
	if !slices.ContainsFunc(result.Findings, func(f placement.Finding) bool { return f.Kind == placement.IndexMissing }) ||
		!slices.ContainsFunc(result.Collections, func(c AuditCollection) bool { return c.Namespace == "db.pair" }) {
		t.Errorf("what can be seen is not compared: %+v", result)
	}
}
