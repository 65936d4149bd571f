package live_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// onMock gives a command runner of a mock with a topology.
func onMock(t *testing.T, release catalog.Release, topology string) live.CommandRunner {
	t.Helper()
	return live.NewCommandRunner(clientOfMock(t, release, topology))
}

func clientOfMock(t *testing.T, release catalog.Release, topology string) *mongo.Client {
	t.Helper()
	_, client := mocktest.New(t, topology, mock.Config{Release: release})
	return client
}

// TestOverviewAgreesWithTheReader: an overview leads to the same diagnosis as the
// whole cluster does.
func TestOverviewAgreesWithTheReader(t *testing.T) {
	for _, release := range testedReleases() {
		client := clientOfMock(t, release, `{
		  "shards": [{"id": "a", "zones": ["Z"]}, {"id": "b", "draining": true}, {"id": "c", "zones": ["Y"]}],
		  "collections": [
		    {"ns": "x.uneven", "key": {"k": 1}, "noBalance": true, "chunks": [
		      {"shard": "a", "max": {"k": 0}, "bytes": "9GiB", "docs": 9000, "jumbo": true}, {"shard": "a"}]},
		    {"ns": "x.draining", "key": {"k": 1}, "chunks": [{"shard": "b", "max": {"k": 0}}, {"shard": "a"}],
		     "zones": [{"zone": "Z", "min": {"k": 0}, "max": {"k": 5}}]}]
		}`)
		reader := live.NewReader(client, live.ReaderOptions{Parts: live.DefaultPartsAndStatus})
		whole, err := reader.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen, err := live.NewCommandReader(live.NewCommandRunner(client), live.ReaderOptions{
			Parts: live.Settings | live.Balancer | live.Shards | live.Drains | live.Databases | live.Collections |
				live.Unsharded | live.BalanceStatuses | live.ChunkCounts | live.Zones | live.Rounds | live.MigrationOutcomes | live.RunningMigrations,
			Now: whole.Time(), OutcomeSpan: diagnosis.MaxFailureAge, Release: release,
		}).Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want, got := diagnosis.Diagnose(whole), diagnosis.Diagnose(seen)
		if !reflect.DeepEqual(got.Balances, want.Balances) {
			t.Errorf("%s: balances %+v, of the reader %+v", release, got.Balances, want.Balances)
		}
		texts := func(d *diagnosis.Diagnosis) (list []string) {
			for _, f := range d.Findings {
				list = append(list, f.Text())
			}
			return list
		}
		if got, want := texts(got), texts(want); !slices.Equal(got, want) || len(want) < 5 {
			t.Errorf("%s: finds\n%s\nthe reader\n%s", release, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestOverview: of old and new servers alike.
func TestOverview(t *testing.T) {
	for _, release := range testedReleases() {
		version := release.String()
		a := onMock(t, release, `{
		  "shards": [{"id": "a", "zones": ["Z"]}, {"id": "b", "draining": true}],
		  "collections": [
		    {"ns": "x.fine", "key": {"k": 1}, "chunks": [{"shard": "a"}]},
		    {"ns": "x.draining", "key": {"k": 1}, "noBalance": true, "chunks": [
		      {"shard": "b", "max": {"k": 0}}, {"shard": "a", "max": {"k": 5}, "jumbo": true}, {"shard": "b"}],
		     "zones": [{"zone": "Z", "min": {"k": 0}, "max": {"k": 5}}]}]
		}`)
		var distribution []bson.Raw
		seen, err := live.NewCommandReader(a, live.ReaderOptions{
			Parts: live.Settings | live.Balancer | live.Shards | live.Drains | live.Databases | live.Collections |
				live.BalanceStatuses | live.ChunkCounts | live.Zones | live.Sizes | live.Rounds | live.MigrationOutcomes | live.RunningMigrations,
			Now: time.Now(), OutcomeSpan: time.Hour, Release: release,
			OnDocuments: func(of string, docs []bson.Raw) {
				if of == "shardedDataDistribution" {
					distribution = docs
				}
			},
		}).Read(t.Context())
		if err != nil {
			t.Fatal(version, err)
		}
		c := seen.Collection("x.draining")
		want := map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: 1, Jumbo: 1}, "b": {Chunks: 2}}
		if c == nil || !maps.Equal(c.Counts, want) || !c.NoBalance || c.Table != nil {
			t.Errorf("%s: collection %+v", version, c)
		} else if r := c.ReportedStatus; r.Compliant || r.Violation != "draining" || r.ChunkSizeMB > 0 != release.BalancesBySize() {
			t.Errorf("%s: reported %+v", version, r)
		}
		b, _ := seen.Shard("b")
		told := b.ReportedDrain != nil
		if !b.Draining || told != release.FCVAtLeast(catalog.Release83) || told && b.ReportedDrain.Chunks != 2 {
			t.Errorf("%s: shard %+v %+v", version, b, b.ReportedDrain)
		}
		p := seen.Parts()
		if p.Balancer.Mode == "" || p.Settings.Mode == "" || p.Outcomes == nil {
			t.Errorf("%s: %+v", version, p)
		}
		if len(p.Databases) != 1 || len(p.Config["tags"]) != 1 {
			t.Errorf("%s: %+v", version, p)
		}
		if known := len(p.Source.Gaps) == 0; known != (distribution != nil) || known != (c.Sizes != nil) {
			t.Errorf("%s: gaps %v, sizes %v", version, p.Source.Gaps, c.Sizes)
		}
	}
}

// TestOverviewOfAPart: only the collections and the shard that are asked for.
func TestOverviewOfAPart(t *testing.T) {
	for _, release := range testedReleases() {
		a := onMock(t, release, `{
		  "shards": [{"id": "a"}, {"id": "b"}],
		  "collections": [
		    {"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "b"}]},
		    {"ns": "x.z", "key": {"k": 1}, "chunks": [{"shard": "a"}]}]
		}`)
		look := live.ReaderOptions{Parts: live.Collections | live.ChunkCounts, Shard: "a", Release: release}
		for _, of := range [][]string{nil, {"x.y"}, {"no.thing"}} {
			look.Namespaces = of
			seen, err := live.NewCommandReader(a, look).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, ns := range []string{"x.y", "x.z"} {
				c := seen.Collection(ns)
				if wanted := of == nil || of[0] == ns; wanted != (c != nil) {
					t.Errorf("%s: of %v read %v", release, of, c)
				} else if wanted && c.Count() != (catalog.ChunkCount{Chunks: 1}) {
					t.Errorf("%s: %s has %v on a", release, ns, c.Counts)
				}
			}
		}
	}
}

// scripted answers from documents by collection, and notes what it was asked.
type scripted struct {
	docs    map[string][]bson.Raw // by database and collection, by stage, or by command
	refused string                // what is answered with errRefused
	because error                 // in place of errRefused
	asked   []string
}

var errRefused = fmt.Errorf("%w", mongo.CommandError{Message: "refused"}) // by a server

func (s *scripted) answer(database string, command bson.D) ([]bson.Raw, error) {
	what := command[0].Key
	switch of := command[0].Value.(type) {
	case string:
		if database == "config" {
			what = database + "." + of
		}
	case int32:
		if what == "aggregate" {
			what = command[1].Value.(bson.A)[0].(bson.D)[0].Key
		}
	}
	if command[0].Key == "balancerCollectionStatus" {
		what = "balancerCollectionStatus " + command[0].Value.(string)
	}
	s.asked = append(s.asked, what)
	if what == s.refused {
		return nil, cmp.Or(s.because, errRefused)
	}
	return s.docs[what], nil
}

func (s *scripted) RunCursorCommand(_ context.Context, database string, command bson.D) ([]bson.Raw, error) {
	return s.answer(database, command)
}

func (s *scripted) RunCommand(_ context.Context, database string, command bson.D) (bson.Raw, error) {
	docs, err := s.answer(database, command)
	if len(docs) == 0 {
		return bson.Raw{5, 0, 0, 0, 0}, err
	}
	return docs[0], err
}

func doc(t *testing.T, fields ...bson.E) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(bson.D(fields))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestLooksAskForNoMore: each part sends its own commands and no others.
func TestLooksAskForNoMore(t *testing.T) {
	for _, tc := range []struct {
		look live.ReaderOptions
		want string
	}{
		{live.ReaderOptions{Parts: live.Collections | live.BalanceStatuses},
			"config.collections, balancerCollectionStatus x.y, balancerCollectionStatus x.z"},
		{live.ReaderOptions{Parts: live.BalanceStatuses, Namespaces: []string{"x.z"}}, "balancerCollectionStatus x.z"},
		{live.ReaderOptions{Parts: live.Collections | live.ChunkCounts}, "config.collections, config.chunks"},
		{live.ReaderOptions{Parts: live.Shards | live.Drains}, "config.shards"},
		{live.ReaderOptions{Parts: live.Shards | live.Drains, Release: catalog.Release83},
			"config.shards, shardDrainingStatus, getTransitionToDedicatedConfigServerStatus"},
		{live.ReaderOptions{Parts: live.Shards | live.Drains, Release: catalog.Release83, Shard: "a"},
			"config.shards, shardDrainingStatus"},
		{live.ReaderOptions{Parts: live.Settings | live.Balancer | live.Zones | live.Databases},
			"config.settings, balancerStatus, config.databases, config.tags"},
		{live.ReaderOptions{Parts: live.Sizes | live.Rounds | live.MigrationOutcomes},
			"$shardedDataDistribution, config.actionlog, config.changelog, config.changelog"},
		{live.ReaderOptions{Parts: live.RunningMigrations}, "$currentOp, config.migrations, config.locks"},
	} {
		a := &scripted{docs: map[string][]bson.Raw{
			"config.collections": {doc(t, bson.E{Key: "_id", Value: "x.y"}), doc(t, bson.E{Key: "_id", Value: "x.z"})},
			"config.shards": {
				doc(t, bson.E{Key: "_id", Value: "a"}),
				doc(t, bson.E{Key: "_id", Value: "b"}, bson.E{Key: "draining", Value: true}),
				doc(t, bson.E{Key: "_id", Value: "config"}, bson.E{Key: "draining", Value: true}),
			},
		}}
		if _, err := live.NewCommandReader(a, tc.look).Read(t.Context()); err != nil {
			t.Error(err)
		}
		if got := strings.Join(a.asked, ", "); got != tc.want {
			t.Errorf("asked for %s, want %s", got, tc.want)
		}
	}
}

// TestErrorsOfALook: what may not be read is an error, or a gap where it is
// often so.
func TestErrorsOfALook(t *testing.T) {
	one := map[string][]bson.Raw{"config.collections": {doc(t, bson.E{Key: "_id", Value: "x.y"})}}
	for _, tc := range []struct {
		refused  string
		parts    live.Part
		required live.Part
		err      string
		gaps     []catalog.Gap
	}{
		{"config.collections", live.Collections, live.Collections, "reading collections: " + errRefused.Error(), nil},
		{"balancerCollectionStatus x.y", live.Collections | live.BalanceStatuses, live.AllParts, "reading balance of x.y: " + errRefused.Error(), nil},
		{"balancerCollectionStatus x.y", live.Collections | live.BalanceStatuses, live.Collections, "",
			[]catalog.Gap{{What: "balance", Namespace: "x.y", Reason: errRefused.Error()}}},
		{"balancerStatus", live.Balancer, live.AllParts, "reading balancer: " + errRefused.Error(), nil},
		{"balancerStatus", live.Balancer, 0, "", []catalog.Gap{{What: "balancer", Reason: errRefused.Error()}}},
		{"$shardedDataDistribution", live.Sizes, 0, "", []catalog.Gap{{What: "sizes", Reason: errRefused.Error()}}},
		{"$currentOp", live.RunningMigrations, 0, "", []catalog.Gap{{What: "operations", Reason: errRefused.Error()}}},
		{"config.locks", live.RunningMigrations, 0, "", []catalog.Gap{{What: "locks", Reason: errRefused.Error()}}},
	} {
		look := live.ReaderOptions{Parts: tc.parts, Required: tc.required}
		seen, err := live.NewCommandReader(&scripted{docs: one, refused: tc.refused}, look).Read(t.Context())
		var part *live.ReadError
		switch {
		case tc.err == "" && err == nil:
			if got := seen.Parts().Source.Gaps; !slices.Equal(got, tc.gaps) {
				t.Errorf("%s: gaps %v, want %v", tc.refused, got, tc.gaps)
			}
		case err == nil || err.Error() != tc.err || !errors.As(err, &part) || !errors.Is(part.Err, errRefused):
			t.Errorf("%s: error %v, want %s", tc.refused, err, tc.err)
		}
	}
}

// TestGapsTellRefusedFromDown: whether the user may not know, or nobody was there
// to say it, tells the code. That of Atlas (8000) stands in no list of the server's.
func TestGapsTellRefusedFromDown(t *testing.T) {
	for _, tc := range []struct {
		code          int32
		name, want    string
		refused, down bool
	}{
		{13, "Unauthorized", "Unauthorized", true, false},
		{13, "", "Unauthorized", true, false}, // not all proxies send the name
		{8000, "AtlasError", "AtlasError", true, false},
		{6, "HostUnreachable", "HostUnreachable", false, true},
		{133, "FailedToSatisfyReadPreference", "FailedToSatisfyReadPreference", false, true},
		{59, "CommandNotFound", "CommandNotFound", false, false},
	} {
		because := mongo.CommandError{Code: tc.code, Name: tc.name, Message: "what it says does not matter"}
		look := live.ReaderOptions{Parts: live.Balancer}
		seen, err := live.NewCommandReader(&scripted{refused: "balancerStatus", because: because}, look).Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gap := seen.Parts().Source.Gaps[0]
		if int32(gap.Code) != tc.code || gap.CodeName != tc.want || isUnauthorized(gap) != tc.refused || gap.Down != tc.down {
			t.Errorf("%d: %+v, refused %v", tc.code, gap, isUnauthorized(gap))
		}
	}
}

// TestOddEntries: documents that nobody parses still say whose chunks they have
// and whether the balancer may touch them.
func TestOddEntries(t *testing.T) {
	look := live.ReaderOptions{Parts: live.Collections | live.ChunkCounts | live.Shards}
	seen, err := live.NewCommandReader(&scripted{docs: map[string][]bson.Raw{
		"config.collections": {doc(t,
			bson.E{Key: "_id", Value: "x.y"}, bson.E{Key: "key", Value: bson.D{{Key: "k", Value: 1}}},
			bson.E{Key: "noBalance", Value: "yes"}, bson.E{Key: "permitMigrations", Value: false})},
		"config.chunks": {doc(t, bson.E{Key: "_id", Value: bson.D{{Key: "ns", Value: "x.y"}, {Key: "shard", Value: "a"}}},
			bson.E{Key: "n", Value: 3.0}, bson.E{Key: "jumbo", Value: int32(1)})},
		"config.shards": {doc(t, bson.E{Key: "_id", Value: "a"}, bson.E{Key: "tags", Value: bson.A{"Z", 5}})},
	}}, look).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := seen.Collection("x.y")
	n := c.CountOn("a")
	if !c.NoBalance || c.PermitMigrations || !c.AllowMigrations || c.Pattern.IsZero() || n.Chunks != 3 || n.Jumbo != 1 {
		t.Errorf("collection %+v", c)
	}
	if a, ok := seen.Shard("a"); !ok || !slices.Equal(a.Zones, []string{"Z"}) {
		t.Errorf("shard %+v", a)
	}
}

// TestMigrationsAreListedOnce, whichever of their operations and locks tell of
// them; the balancer's own lock is none.
func TestMigrationsAreListedOnce(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	lock := func(id string) bson.Raw {
		return doc(t, bson.E{Key: "_id", Value: id}, bson.E{Key: "when", Value: now.Add(-time.Hour)})
	}
	seen, err := live.NewCommandReader(&scripted{docs: map[string][]bson.Raw{
		"$currentOp": {
			doc(t, bson.E{Key: "desc", Value: "migrateThread"}, bson.E{Key: "ns", Value: "x.y"},
				bson.E{Key: "secs_running", Value: int64(5)}),
			doc(t, bson.E{Key: "secs_running", Value: int64(60)}, bson.E{Key: "command", Value: bson.D{
				{Key: "_shardsvrMoveRange", Value: "x.y"}, {Key: "fromShard", Value: "a"}, {Key: "toShard", Value: "b"}}}),
			doc(t, bson.E{Key: "desc", Value: "ReshardingMetricsCoordinator"}, bson.E{Key: "ns", Value: "x.w"},
				bson.E{Key: "coordinatorState", Value: "cloning"}),
		},
		"config.migrations": {doc(t, bson.E{Key: "ns", Value: "x.y"},
			bson.E{Key: "fromShard", Value: "c"}, bson.E{Key: "toShard", Value: "d"})},
		"config.locks": {lock("x.y"), lock("balancer"), lock("x.z")},
	}}, live.ReaderOptions{Parts: live.RunningMigrations, Now: now}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []catalog.ActiveMigration{
		{Namespace: "x.y", From: "a", To: "b", Since: now.Add(-time.Minute)},
		{Namespace: "x.y", From: "c", To: "d"},
		{Namespace: "x.z", Since: now.Add(-time.Hour)},
	}
	got := slices.Clone(seen.Parts().Migrations)
	for i := range got {
		got[i].Since = got[i].Since.UTC()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("migrations %+v", got)
	}
	if got := seen.Parts().Reshardings; len(got) != 1 || got[0].Namespace != "x.w" || got[0].State != "cloning" {
		t.Errorf("reshardings %+v", got)
	}
}

// A Look at reshardings adds up what their participants tell, and asks for nothing
// else.
func TestReshardingsAlone(t *testing.T) {
	op := func(fields ...bson.E) bson.Raw {
		return doc(t, append(fields, e("desc", "ReshardingMetrics"), e("ns", "x.w"))...)
	}
	seen, err := live.NewCommandReader(&scripted{docs: map[string][]bson.Raw{
		"$currentOp": {
			op(e("coordinatorState", "cloning"), e("remainingOperationTimeEstimatedSecs", int64(90))),
			op(e("recipientState", "cloning"), e("bytesCopied", int64(100)), e("approxBytesToCopy", int64(400))),
			op(e("recipientState", "cloning"), e("bytesCopied", int64(50)), e("approxBytesToCopy", int64(400))),
		},
		"config.reshardingOperations": {doc(t, e("ns", "x.v"), e("state", "applying"))},
		"config.locks":                {doc(t, e("_id", "x.z"))},
	}}, live.ReaderOptions{Parts: live.RunningReshardings}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := seen.Parts().Reshardings
	if len(list) != 2 || len(seen.Parts().Migrations) != 0 || list[0].Namespace != "x.v" || list[0].State != "applying" {
		t.Fatalf("%+v, %+v", list, seen.Parts().Migrations)
	}
	if r := list[1]; r.State != "cloning" || r.CopiedBytes != 150 || r.TotalBytes != 800 || r.Remaining != 90*time.Second {
		t.Errorf("%+v", r)
	}
}

// standalone answers hello as a server that is not a mongos.
type standalone struct{}

func (standalone) Handle(context.Context, wire.Request) bson.Raw {
	raw, err := bson.Marshal(bson.D{
		{Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true},
		{Key: "maxWireVersion", Value: 25}, {Key: "minWireVersion", Value: 0}, {Key: "ok", Value: 1.0},
	})
	if err != nil {
		return nil
	}
	return raw
}

func TestNotAMongos(t *testing.T) {
	if err := live.CheckSharded(t.Context(), live.NewCommandRunner(mocktest.Connect(t, standalone{}))); !errors.Is(err, live.ErrNotSharded) {
		t.Errorf("error %v, want %v", err, live.ErrNotSharded)
	}
}

// isUnauthorized reports whether a server has refused the read to this user. 8000 is the code that Atlas returns
// for operations that it does not permit to its users.
func isUnauthorized(g catalog.Gap) bool { return g.Code == mongoerr.Unauthorized || g.Code == 8000 }
