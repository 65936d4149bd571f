package action

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/placement"
	"shardsh/balancer/verify"
)

const bucketsTopology = `{"shards": [{"id": "s0"}, {"id": "s1"}], "settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "db", "primary": "s0"}], "collections": [{"ns": "NAME",
	"key": {"meta": 1, "control.min.t": 1}, "chunks": [
	{"shard": "s0", "docs": 0, "max": {"meta": 50, "control.min.t": {"$minKey": 1}}}, {"shard": "s1", "docs": 0}]},
	{"ns": "db.plain", "key": {"x": 1}, "chunks": [{"shard": "s0", "docs": 0}]}]}`

// hintless refuses hints at buckets, as 5.0 does.
type hintless struct{ router.Routers }

func (h hintless) Handle(ctx context.Context, r wire.Request) bson.Raw {
	name, _ := r.Body.Lookup("find").StringValueOK()
	if strings.HasPrefix(name, "system.buckets.") && !r.Body.Lookup("hint").IsZero() {
		reply, err := bson.Marshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 2}, {Key: "codeName", Value: "BadValue"},
			{Key: "errmsg", Value: "hint provided does not correspond to an existing index"}})
		if err != nil {
			panic(err)
		}
		return reply
	}
	return h.Routers.Handle(ctx, r)
}

// newTimeSeries is a cluster with 20 buckets of a time series, whose metadata is a number: below 50 on s0.
func newTimeSeries(t *testing.T, release catalog.Release, ns string) *audited {
	t.Helper()
	cluster := mocktest.Cluster(t, strings.Replace(bucketsTopology, "NAME", ns, 1), mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 1,
	})
	routers, err := router.NewRouters(router.New(cluster, nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	w := &audited{TB: t, mock: cluster, clock: cluster.Clock()}
	var handler wire.Handler = routers
	if release.Line() == catalog.Release50.Line() {
		handler = hintless{routers}
	}
	w.client = mocktest.Connect(t, handler, func(o *options.ClientOptions) {
		w.settings = options.Client().SetDialer(o.Dialer).SetServerMonitoringMode(options.ServerMonitoringModePoll)
	})
	for i := range 20 {
		w.must(w.mock.Corrupter().Insert(bucketOwner(5*i), ns, w.raw(bucket(i, 5*i))))
	}
	for _, id := range cluster.ShardIDs() {
		w.must(w.mock.Corrupter().SetOptions(id, ns, bson.D{{Key: "timeseries", Value: w.raw(bson.D{
			{Key: "timeField", Value: "t"}, {Key: "metaField", Value: "sensor"}, {Key: "granularity", Value: "seconds"},
		})}}))
	}
	return w
}

func bucketOwner(meta int) catalog.ShardID {
	if meta < 50 {
		return "s0"
	}
	return "s1"
}

// bucket is a bucket as servers store it: its _id begins with the time.
func bucket(i, meta int) bson.D {
	begins := time.Date(2026, 3, 1, 0, i, 0, 0, time.UTC)
	return bson.D{
		{Key: "_id", Value: bson.NewObjectIDFromTimestamp(begins)},
		{Key: "control", Value: bson.D{{Key: "version", Value: 1},
			{Key: "min", Value: bson.D{{Key: "t", Value: begins}, {Key: "v", Value: 1}}},
			{Key: "max", Value: bson.D{{Key: "t", Value: begins.Add(time.Minute)}, {Key: "v", Value: 2}}}}},
		{Key: "meta", Value: meta},
		{Key: "data", Value: bson.D{{Key: "t", Value: bson.D{{Key: "0", Value: begins}}}, {Key: "v", Value: bson.D{{Key: "0", Value: 1}}}}},
	}
}

// Buckets of a time series lie where their metadata and their lowest time belong: the documents of the collection
// of buckets are audited as those of any other.
func TestAuditOfTimeSeries(t *testing.T) {
	const ns = "db.system.buckets.ts"
	for _, release := range []catalog.Release{catalog.Release60, catalog.Release70, catalog.Release80} {
		w := newTimeSeries(t, release, ns)
		if result := w.audit(anAudit(), w.cluster()); result.Verdict != AuditClean || len(result.Collections) != 2 ||
			result.Collections[1].Docs != 20 {
			t.Fatalf("%s: healthy, and %+v", release, result)
		}
		lone := bucket(100, 10)
		w.must(w.mock.Corrupter().Insert("s1", ns, w.raw(lone)))
		orphan := w.mock.Corrupter().Documents("s1", ns)[3]
		w.must(w.mock.Corrupter().Insert("s0", ns, orphan))
		a := anAudit()
		a.ExportDir = filepath.Join(t.TempDir(), "saved")
		result := w.audit(a, w.cluster())
		where := map[placement.FindingKind]catalog.ShardID{placement.Lone: "s1", placement.Orphan: "s0"}
		for _, f := range result.Findings {
			if f.Namespace != ns || len(f.Shards) != 1 || f.Shards[0] != where[f.Kind] || f.Count != 1 || f.File == "" {
				t.Errorf("%s: %+v", release, f)
			}
			delete(where, f.Kind)
		}
		if len(where) > 0 || len(result.Unchecked) > 0 {
			t.Errorf("%s: not found %v, %+v", release, where, result)
		}
	}
}

// What can't be read is named: time series of 9.0 have no collection of buckets, and 5.0 refuses to read buckets by a
// hint at _id.
func TestAuditSaysWhichTimeSeriesItDoesNotSee(t *testing.T) {
	tests := []struct {
		name, ns string
		release  catalog.Release
		reason   string
	}{
		{"of 9.0", "db.ts", catalog.Release90, "without a collection of its buckets"},
		{"of 5.0", "db.system.buckets.ts", catalog.Release50, "in the order of an index"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTimeSeries(t, tt.release, tt.ns)
			result := w.audit(anAudit(), w.cluster())
			if result.Verdict != AuditUnknown || len(result.Unchecked) != 1 || !strings.Contains(result.Unchecked[0], tt.reason) {
				t.Errorf("%+v", result)
			}
			if !slices.ContainsFunc(result.Collections, func(c AuditCollection) bool { return c.Namespace == "db.plain" }) {
				t.Errorf("the other collection is not audited: %+v", result)
			}
		})
	}
}

// The buckets of a time series are verified by the name of their collection: a move changes none of them, and one
// that is lost is.
func TestVerifyOfTimeSeries(t *testing.T) {
	const ns = "db.system.buckets.ts"
	w := newTimeSeries(t, catalog.Release80, ns)
	before := filepath.Join(t.TempDir(), "before")
	compare := func() VerifyResult {
		t.Helper()
		result, err := Verify{BaselineFile: before, MaxRereads: 1, RereadPause: time.Second}.Run(t.Context(), w.cluster(), nil)
		w.must(err)
		return result
	}
	result, err := Verify{Namespaces: []string{ns}, Output: before}.Run(t.Context(), w.cluster(), nil)
	if err != nil || result.Collections[0].Docs != 20 {
		t.Fatalf("%v, %+v", err, result)
	}
	w.must(w.client.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "moveChunk", Value: ns}, {Key: "find", Value: bson.D{{Key: "meta", Value: 10}, {Key: "control.min.t", Value: time.Time{}}}},
		{Key: "to", Value: "s1"},
	}).Err())
	if result := compare(); result.Verdict != string(verify.Same) {
		t.Errorf("a move, and %+v", result)
	}
	lost := w.mock.Corrupter().Documents("s1", ns)[2]
	w.must(w.mock.Corrupter().Delete("s1", ns, lost.Lookup("_id")))
	if result := compare(); result.Verdict != string(verify.Different) {
		t.Errorf("a bucket is lost, and %+v", result)
	}
}
