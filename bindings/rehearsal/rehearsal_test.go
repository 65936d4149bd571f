package rehearsal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/changes"
	"shardsh/bindings/rehearsal"
)

// overheard is a cluster that notes what would change something on it.
type overheard struct {
	wire.Handler
	table   map[string]*commands.Command
	changed []string
	onRead  func() // of chunks; may be nil
}

func (o *overheard) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if collection, _ := r.Body.Lookup("find").StringValueOK(); collection == "chunks" && o.onRead != nil {
		o.onRead()
	}
	if !commands.IsReadOnly(o.table, r.Body) && r.Command != "endSessions" && r.Command != "killCursors" {
		o.changed = append(o.changed, r.Command)
	}
	return o.Handler.Handle(ctx, r)
}

// rehearsed is a cluster, a client of it, and one that only rehearses.
type rehearsed struct {
	t           *testing.T
	real, dry   *mongo.Client
	told, notes []string
	over        *overheard
	run         *rehearsal.Rehearsal
}

const topology = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}}, "collections": [
	{"ns": "shop.orders", "key": {"k": 1}, "chunks": [{"shard": "a", "bytes": "10GB", "docs": 1000000}]}]}`

func rehearse(t *testing.T) *rehearsed {
	t.Helper()
	cluster := mocktest.Cluster(t, topology, mock.Config{})
	r := &rehearsed{t: t, over: &overheard{Handler: router.New(cluster, nil), table: commands.ByName()}}
	r.real = mocktest.Connect(t, r.over)
	r.run = rehearsal.New(rehearsal.Options{
		OnChange: func(database string, command bson.Raw) { r.told = append(r.told, changes.Describe(database, command)) },
		Note:     func(text string) { r.notes = append(r.notes, text) },
		Clock:    cluster.Clock(),
	})
	way, err := r.run.Connect(t.Context(), r.real, options.Client(), "mock")
	if err != nil || !way.IsRouter {
		t.Fatalf("%v, plays %v", err, way.IsRouter)
	}
	r.dry = way.Client
	t.Cleanup(func() {
		_ = way.Client.Disconnect(context.Background())
		way.Close()
		r.run.Close()
	})
	return r
}

// unchanged fails for what got to the cluster since it was made ready.
func (r *rehearsed) unchanged(what func()) {
	r.t.Helper()
	r.over.changed = nil
	what()
	if len(r.over.changed) > 0 {
		r.t.Errorf("the cluster got %v", r.over.changed)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func insert(t *testing.T, c *mongo.Collection, n int) {
	t.Helper()
	docs := make([]any, n)
	for i := range docs {
		docs[i] = bson.D{{Key: "_id", Value: i}, {Key: "v", Value: i % 7}}
	}
	must[*mongo.InsertManyResult](t)(c.InsertMany(t.Context(), docs))
}

// What a program changes it finds changed, and what it does not change is the
// cluster's; nothing gets to the cluster.
func TestRehearsal(t *testing.T) {
	r := rehearse(t)
	ctx := t.Context()
	insert(t, r.real.Database("app").Collection("small"), 500)
	insert(t, r.real.Database("app").Collection("large"), 3000)
	insert(t, r.real.Database("other").Collection("c"), 3)
	index := mongo.IndexModel{Keys: bson.D{{Key: "v", Value: 1}}, Options: options.Index().SetUnique(false)}
	must[string](t)(r.real.Database("app").Collection("small").Indexes().CreateOne(ctx, index))
	app := r.dry.Database("app")
	count := func(name string, filter bson.D) int64 {
		return must[int64](t)(app.Collection(name).CountDocuments(ctx, filter))
	}
	r.unchanged(func() {
		// A cursor that is open over the first change goes on.
		open := must[*mongo.Cursor](t)(app.Collection("large").Find(ctx, bson.D{}, options.Find().SetBatchSize(100)))
		if count("small", bson.D{}) != 500 || len(r.notes) > 0 {
			t.Errorf("before a change: %v", r.notes)
		}
		must[*mongo.UpdateResult](t)(app.Collection("small").UpdateMany(ctx, bson.D{{Key: "v", Value: 3}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "seen", Value: true}}}}))
		if n := count("small", bson.D{{Key: "seen", Value: true}}); n != 71 || len(r.notes) != 1 {
			t.Errorf("%d documents of a small collection were updated, %v", n, r.notes)
		}
		if n := must[int64](t)(r.real.Database("app").Collection("small").CountDocuments(ctx,
			bson.D{{Key: "seen", Value: true}})); n != 0 {
			t.Errorf("%d documents of the cluster were", n)
		}
		if names := must[[]mongo.IndexSpecification](t)(app.Collection("small").Indexes().ListSpecifications(ctx)); len(names) != 2 {
			t.Errorf("its indexes are %v", names)
		}
		if n := count("large", bson.D{}); n != 3000 {
			t.Errorf("a collection that was not changed has %d documents", n)
		}
		must[*mongo.InsertOneResult](t)(app.Collection("large").InsertOne(ctx, bson.D{{Key: "_id", Value: "new"}}))
		if n := count("large", bson.D{}); n != 1 || !strings.Contains(r.notes[len(r.notes)-1], "app.large: it is too large") {
			t.Errorf("a large one that was has %d, %v", n, r.notes)
		}
		n := 0
		for open.Next(ctx) {
			n++
		}
		if n != 3000 || open.Err() != nil {
			t.Errorf("the cursor gave %d, %v", n, open.Err())
		}
		must[any](t)(nil, app.Collection("made").Drop(ctx))
		must[any](t)(nil, r.dry.Database("other").Drop(ctx))
		must[*mongo.InsertOneResult](t)(r.dry.Database("fresh").Collection("c").InsertOne(ctx, bson.D{}))
		if names := must[[]string](t)(r.dry.ListDatabaseNames(ctx, bson.D{})); slices.Contains(names, "other") ||
			!slices.Contains(names, "fresh") || !slices.Contains(names, "app") {
			t.Errorf("databases %v", names)
		}
		if names := must[[]string](t)(app.ListCollectionNames(ctx, bson.D{})); len(names) != 2 {
			t.Errorf("collections %v", names)
		}
		if n := must[int64](t)(r.dry.Database("other").Collection("c").CountDocuments(ctx, bson.D{})); n != 0 {
			t.Errorf("a dropped database has %d documents", n)
		}
	})
	databases := must[int64](t)(r.real.Database("config").Collection("databases").CountDocuments(ctx,
		bson.D{{Key: "_id", Value: "fresh"}}))
	if databases != 0 {
		t.Error("the cluster has a database more")
	}
	if want := `app: update small: 1 update, `; len(r.told) != 5 || !strings.HasPrefix(r.told[0], want) {
		t.Errorf("told %q", r.told)
	}
}

// The catalog, the balancer and time are the mock's from the first change on.
func TestCursorsClosedEarlyEndTheirSessions(t *testing.T) {
	r := rehearse(t)
	insert(t, r.real.Database("app").Collection("large"), 300)
	open := must[*mongo.Cursor](t)(r.dry.Database("app").Collection("large").Find(t.Context(), bson.D{}, options.Find().SetBatchSize(100)))
	if n := r.real.NumberSessionsInProgress(); n != 1 {
		t.Fatalf("%d sessions while the cursor is open", n)
	}
	if err := open.Close(t.Context()); err != nil || r.real.NumberSessionsInProgress() != 0 {
		t.Errorf("%d sessions are left, %v", r.real.NumberSessionsInProgress(), err)
	}
}

func TestRehearsalOfBalancing(t *testing.T) {
	r := rehearse(t)
	ctx := t.Context()
	admin := func(c *mongo.Client, command bson.D) bson.Raw {
		return must[bson.Raw](t)(c.Database("admin").RunCommand(ctx, command).Raw())
	}
	owners := func(c *mongo.Client) []any {
		var list []any
		if err := c.Database("config").Collection("chunks").Distinct(ctx, "shard", bson.D{{Key: "min.k", Value: bson.D{{Key: "$exists", Value: true}}}}).Decode(&list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	r.unchanged(func() {
		before := r.run.Clock().Now()
		admin(r.dry, bson.D{{Key: "moveRange", Value: "shop.orders"}, {Key: "toShard", Value: "b"},
			{Key: "min", Value: bson.D{{Key: "k", Value: bson.MinKey{}}}}})
		if got := fmt.Sprint(owners(r.dry)); got != "[a b]" && got != "[b]" {
			t.Errorf("after a move chunks are on %v", got)
		}
		if got := fmt.Sprint(owners(r.real)); got != "[a]" {
			t.Errorf("on the cluster chunks are on %v", got)
		}
		if err := r.run.Clock().Sleep(ctx, time.Hour); err != nil || r.run.Clock().Now().Sub(before) < time.Hour {
			t.Errorf("time went from %v to %v, %v", before, r.run.Clock().Now(), err)
		}
		// The million documents that the metadata tell of are counted there.
		if n := must[int64](t)(r.dry.Database("shop").Collection("orders").EstimatedDocumentCount(ctx)); n != 1000000 {
			t.Errorf("%d documents", n)
		}
	})
}

// Users and roles that are there can be changed.
func TestRehearsalOfRoles(t *testing.T) {
	r := rehearse(t)
	admin := r.real.Database("admin")
	for _, command := range []bson.D{
		{{Key: "createRole", Value: "look"}, {Key: "privileges", Value: bson.A{}}, {Key: "roles", Value: bson.A{}}},
		{{Key: "createRole", Value: "act"}, {Key: "privileges", Value: bson.A{}}, {Key: "roles", Value: bson.A{"look"}}},
		{{Key: "createUser", Value: "joe"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{"act"}}},
	} {
		must[bson.Raw](t)(admin.RunCommand(t.Context(), command).Raw())
	}
	r.unchanged(func() {
		must[bson.Raw](t)(r.dry.Database("admin").RunCommand(t.Context(), bson.D{{Key: "dropUser", Value: "joe"}}).Raw())
		reply := must[bson.Raw](t)(r.dry.Database("admin").RunCommand(t.Context(), bson.D{{Key: "rolesInfo", Value: "act"}}).Raw())
		if !strings.Contains(reply.String(), "look") {
			t.Errorf("the role is %s", reply)
		}
		users := must[bson.Raw](t)(r.dry.Database("admin").RunCommand(t.Context(), bson.D{{Key: "usersInfo", Value: 1}}).Raw())
		if strings.Contains(users.String(), "joe") {
			t.Errorf("users are %s", users)
		}
	})
}

func TestOneNoteOfUsersThatCanNotBeRead(t *testing.T) {
	r := rehearse(t)
	must[bson.Raw](t)(r.real.Database("admin").RunCommand(t.Context(), bson.D{{Key: "mockFailNext", Value: "rolesInfo"},
		{Key: "code", Value: 13}, {Key: "times", Value: 9}}).Raw())
	_ = r.dry.Database("admin").RunCommand(t.Context(), bson.D{{Key: "dropUser", Value: "joe"}}).Err()
	if len(r.notes) != 2 || !strings.Contains(r.notes[1], "its users and roles are not in the rehearsal") {
		t.Errorf("notes: %q", r.notes)
	}
}

// A pipeline's result is in the rehearsal; a transaction works, and says what it
// lacks when it is given up.
func TestRehearsalOfResultsAndTransactions(t *testing.T) {
	r := rehearse(t)
	ctx := t.Context()
	insert(t, r.real.Database("app").Collection("small"), 10)
	r.unchanged(func() {
		app := r.dry.Database("app")
		for name, stage := range map[string]bson.D{
			"out": {{Key: "$out", Value: "out"}}, "merged": {{Key: "$merge", Value: bson.D{{Key: "into", Value: "merged"}}}},
		} {
			must[*mongo.Cursor](t)(app.Collection("small").Aggregate(ctx, bson.A{stage}))
			if n := must[int64](t)(app.Collection(name).CountDocuments(ctx, bson.D{})); n != 10 {
				t.Errorf("%s has %d documents", name, n)
			}
		}
		session := must[*mongo.Session](t)(r.dry.StartSession())
		defer session.EndSession(ctx)
		for _, commits := range []bool{true, false} {
			must[any](t)(nil, session.StartTransaction())
			in := mongo.NewSessionContext(ctx, session)
			must[*mongo.InsertOneResult](t)(app.Collection("small").InsertOne(in, bson.D{{Key: "committed", Value: commits}}))
			end := session.AbortTransaction
			if commits {
				end = session.CommitTransaction
			}
			must[any](t)(nil, end(in))
		}
		if n := must[int64](t)(app.Collection("small").CountDocuments(ctx, bson.D{{Key: "committed", Value: true}})); n != 1 {
			t.Errorf("%d documents were committed", n)
		}
		if !slices.ContainsFunc(r.notes, func(n string) bool { return strings.Contains(n, "its writes stay") }) {
			t.Errorf("notes %q", r.notes)
		}
	})
}

// Timers run on while the cluster is read for the first change.
func TestClockGoesOnWhileTheClusterIsRead(t *testing.T) {
	r := rehearse(t)
	told := make(chan time.Time, 1)
	r.over.onRead = sync.OnceFunc(func() {
		go func() { told <- r.run.Clock().Now() }()
		select {
		case now := <-told:
			told <- now
		case <-time.After(time.Minute):
		}
	})
	r.unchanged(func() {
		if _, err := r.dry.Database("shop").Collection("orders").InsertOne(t.Context(), bson.D{{Key: "k", Value: 1}}); err != nil {
			t.Fatal(err)
		}
	})
	select {
	case <-told:
	default:
		t.Error("nobody could ask for the time, or no chunks were read")
	}
}
