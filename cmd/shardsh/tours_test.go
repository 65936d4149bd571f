package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// tourVariants are the ways to serve that each driver has to cope with.
var tourVariants = []struct{ auth, tls bool }{{false, false}, {true, false}, {false, true}, {true, true}}

// tour serves in every variant and gives the connection string and the file of
// the certificate's authority, empty without TLS.
func tour(t *testing.T, take func(t *testing.T, p *servedProgram, uri, authority string)) {
	checkGoroutines(t)
	for _, v := range tourVariants {
		t.Run(fmt.Sprintf("auth %v, TLS %v", v.auth, v.tls), func(t *testing.T) {
			t.Parallel()
			args := []string{"--log-level", "warn"}
			if v.auth {
				args = append(args, "--auth", "root:"+writeFile(t, "password", "p@ss/wörd\n"))
			}
			authority := ""
			if v.tls {
				cert, key := writeCertificate(t)
				authority = cert
				args = append(args, "--tls-cert", cert, "--tls-key", key)
			}
			p := startServeParallel(t, args...)
			uri := p.uri
			if v.auth {
				uri = strings.Replace(uri, "mongodb://", "mongodb://"+url.UserPassword("root", "p@ss/wörd").String()+"@", 1)
			}
			if v.auth { // zlib is what all drivers have
				uri += map[bool]string{true: "&", false: "?"}[v.tls] + "compressors=zlib"
			}
			take(t, p, uri, authority)
		})
	}
}

// takeTour runs a tour in another language; it must end well.
func takeTour(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("the tour is over")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func withAuthority(args []string, authority string) []string {
	if authority == "" {
		return args
	}
	return append(args, authority)
}

func TestNodeTour(t *testing.T) {
	if testing.Short() {
		t.Skip("no tours in short tests")
	}
	dir, err := installed("testdata/tours/node", "node-driver")
	if err != nil {
		missing(t, "NO TOUR with the Node driver: it can't be installed: %v", err)
	}
	source, err := filepath.Abs("testdata/tours/node/tour.mjs")
	if err != nil {
		t.Fatal(err)
	}
	tour(t, func(t *testing.T, _ *servedProgram, uri, authority string) {
		takeTour(t, dir, "node", withAuthority([]string{source, uri}, authority)...)
	})
}

// pythonWithDriver returns a Python that has PyMongo.
func pythonWithDriver(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import pymongo").Run() == nil {
			return name
		}
	}
	missing(t, "NO TOUR with PyMongo: no python3 that has it (Debian: python3-pymongo)")
	return ""
}

// The Python driver is taken where the system has one (Debian's
// python3-pymongo): no registry of Python packages is needed.
func TestPythonTour(t *testing.T) {
	if testing.Short() {
		t.Skip("no tours in short tests")
	}
	python := pythonWithDriver(t)
	tour(t, func(t *testing.T, _ *servedProgram, uri, authority string) {
		takeTour(t, ".", python, withAuthority([]string{"testdata/tours/python/tour.py", uri}, authority)...)
	})
}

// The C driver is taken where the system has one (Debian's libmongoc-dev), with
// a compiler.
func TestCTour(t *testing.T) {
	if testing.Short() {
		t.Skip("no tours in short tests")
	}
	flags, err := exec.CommandContext(t.Context(), "pkg-config", "--cflags", "--libs", "libmongoc-1.0").Output()
	if err != nil {
		missing(t, "NO TOUR with libmongoc: pkg-config does not find libmongoc-1.0 (Debian: libmongoc-dev)")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		missing(t, "NO TOUR with libmongoc: %v", err)
	}
	program := filepath.Join(t.TempDir(), "tour")
	args := append([]string{"-Wall", "-Werror", "-o", program, "testdata/tours/c/tour.c"},
		strings.Fields(string(flags))...)
	if out, err := exec.CommandContext(t.Context(), "gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tour(t, func(t *testing.T, _ *servedProgram, uri, authority string) {
		takeTour(t, ".", program, withAuthority([]string{uri}, authority)...)
	})
}

func TestGoTour(t *testing.T) {
	tour(t, func(t *testing.T, p *servedProgram, uri, authority string) {
		if authority != "" {
			uri += "&tlsCAFile=" + url.QueryEscape(authority)
		}
		client := p.driver(uri)
		t.Run("sharding", func(t *testing.T) { goSharding(t, client) })
		t.Run("documents", func(t *testing.T) { goDocuments(t, client) })
		t.Run("sessions", func(t *testing.T) { goSessions(t, client) })
		t.Run("the balancer", func(t *testing.T) { goBalancer(t, client) })
		t.Run("change streams", func(t *testing.T) { goChangeStream(t, client) })
		t.Run("refusals", func(t *testing.T) { goRefusals(t, client) })
		if strings.Contains(uri, "@") {
			t.Run("authentication", func(t *testing.T) { goAuthentication(t, p, uri) })
		}
	})
}

// adminCommand runs on admin and must succeed.
func adminCommand(t *testing.T, client *mongo.Client, pairs ...any) bson.Raw {
	t.Helper()
	raw, err := client.Database("admin").RunCommand(t.Context(), document(pairs...)).Raw()
	if err != nil {
		t.Fatalf("%v: %v", pairs, err)
	}
	return raw
}

func document(pairs ...any) bson.D {
	doc := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}

// wantCode wants an error of the server with a code.
func wantCode(t *testing.T, what string, err error, code int) {
	t.Helper()
	var server mongo.ServerError
	if !errors.As(err, &server) || !server.HasErrorCode(code) {
		t.Errorf("%s: %v, want code %d", what, err, code)
	}
}

func goSharding(t *testing.T, client *mongo.Client) {
	adminCommand(t, client, "enableSharding", "app")
	adminCommand(t, client, "shardCollection", "app.orders", "key", document("customer", 1))
	shards, err := adminCommand(t, client, "listShards", 1).Lookup("shards").Array().Values()
	if err != nil || len(shards) != 3 {
		t.Fatalf("%d shards, %v", len(shards), err)
	}
	adminCommand(t, client, "split", "app.orders", "middle", document("customer", 100))
	adminCommand(t, client, "moveRange", "app.orders", "min", document("customer", 100), "toShard", "shard2")
	var chunk struct{ Shard string }
	err = client.Database("config").Collection("chunks").FindOne(t.Context(),
		document("min", document("customer", 100))).Decode(&chunk)
	if err != nil || chunk.Shard != "shard2" {
		t.Errorf("the chunk is on %q, %v", chunk.Shard, err)
	}
}

func goDocuments(t *testing.T, client *mongo.Client) {
	ctx, orders := t.Context(), client.Database("app").Collection("orders")
	var docs []any
	for i := range 300 {
		docs = append(docs, document("_id", i, "customer", i, "total", i%7))
	}
	if _, err := orders.InsertMany(ctx, docs); err != nil {
		t.Fatal(err)
	}
	if n, err := orders.CountDocuments(ctx, document("customer", document("$gte", 100))); err != nil || n != 200 {
		t.Errorf("%d documents, %v", n, err)
	}
	if r, err := orders.UpdateMany(ctx, document("total", 0), document("$inc", document("total", 10))); err != nil ||
		r.ModifiedCount != 43 {
		t.Errorf("updated %v, %v", r, err)
	}
	if r, err := orders.DeleteOne(ctx, document("customer", 299)); err != nil || r.DeletedCount != 1 {
		t.Errorf("deleted %v, %v", r, err)
	}
	bulk, err := orders.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(document("customer", 1000)),
		mongo.NewUpdateOneModel().SetFilter(document("customer", 1001)).SetUpdate(document("$set",
			document("total", 1))).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(document("customer", 1000)),
	})
	if err != nil || bulk.InsertedCount != 1 || bulk.UpsertedCount != 1 || bulk.DeletedCount != 1 {
		t.Errorf("bulk write %+v, %v", bulk, err)
	}
	_, err = orders.InsertOne(ctx, document("_id", 1, "customer", 1))
	wantCode(t, "a duplicate", err, 11000)
	cursor, err := orders.Find(ctx, bson.D{}, options.Find().SetBatchSize(10).SetSort(document("customer", -1)))
	if err != nil {
		t.Fatal(err)
	}
	var found []struct{ Customer int }
	if err := cursor.All(ctx, &found); err != nil || len(found) != 300 || found[0].Customer != 1001 {
		t.Errorf("%d documents, %v", len(found), err)
	}
	cursor, err = orders.Aggregate(ctx, bson.A{document("$match", document("customer", document("$lt", 299))),
		document("$group", document("_id", "$total")), document("$sort", document("_id", 1))})
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		ID int `bson:"_id"`
	}
	if err := cursor.All(ctx, &groups); err != nil || len(groups) != 7 || groups[6].ID != 10 {
		t.Errorf("groups %v, %v", groups, err)
	}
	silent := client.Database("app").Collection("orders",
		options.Collection().SetWriteConcern(writeconcern.Unacknowledged()))
	if _, err := silent.InsertOne(ctx, document("customer", 5000)); err != nil {
		t.Errorf("an unacknowledged write: %v", err)
	}
}

func goSessions(t *testing.T, client *mongo.Client) {
	session, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(t.Context())
	ctx := mongo.NewSessionContext(t.Context(), session)
	app := client.Database("app")
	retry := document("insert", "orders", "documents", bson.A{document("customer", 8000)}, "txnNumber", int64(1000))
	for i := range 2 {
		raw, err := app.RunCommand(ctx, retry).Raw()
		if err != nil || raw.Lookup("n").Int32() != 1 || raw.Lookup("retriedStmtIds").IsZero() != (i == 0) {
			t.Errorf("try %d: %s, %v", i, raw, err)
		}
	}
	if n, err := app.Collection("orders").CountDocuments(ctx, document("customer", 8000)); err != nil || n != 1 {
		t.Errorf("the retried insert made %d documents, %v", n, err)
	}
	cursor, err := client.Database("admin").Aggregate(ctx, bson.A{document("$listLocalSessions", bson.D{})})
	if err != nil {
		t.Fatal(err)
	}
	var sessions []struct {
		ID struct{ ID bson.Binary } `bson:"_id"`
	}
	if err := cursor.All(ctx, &sessions); err != nil {
		t.Fatal(err)
	}
	mine := session.ID().Lookup("id")
	_, id, _ := mine.BinaryOK()
	listed := slices.ContainsFunc(sessions, func(s struct {
		ID struct{ ID bson.Binary } `bson:"_id"`
	}) bool {
		return bytes.Equal(s.ID.ID.Data, id)
	})
	if !listed {
		t.Errorf("the session %s is not among %v", mine, sessions)
	}
}

func goBalancer(t *testing.T, client *mongo.Client) {
	for _, tt := range []struct{ command, mode string }{{"balancerStop", "off"}, {"balancerStart", "full"}} {
		adminCommand(t, client, tt.command, 1)
		if mode := adminCommand(t, client, "balancerStatus", 1).Lookup("mode").StringValue(); mode != tt.mode {
			t.Errorf("after %s the mode is %q", tt.command, mode)
		}
	}
	if status := adminCommand(t, client, "balancerCollectionStatus",
		"app.orders"); !status.Lookup("balancerCompliant").Boolean() {
		t.Errorf("not balanced: %s", status)
	}
}

func goChangeStream(t *testing.T, client *mongo.Client) {
	ctx, orders := t.Context(), client.Database("app").Collection("orders")
	stream, err := orders.Watch(ctx, mongo.Pipeline{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close(ctx)
	if _, err := orders.InsertOne(ctx, bson.D{{Key: "customer", Value: 8000}}); err != nil {
		t.Fatal(err)
	}
	if !stream.Next(ctx) || stream.Current.Lookup("fullDocument", "customer").AsInt64() != 8000 {
		t.Errorf("the stream has %s, %v", stream.Current, stream.Err())
	}
	if _, err := orders.DeleteOne(ctx, bson.D{{Key: "customer", Value: 8000}}); err != nil {
		t.Fatal(err)
	}
	behind, err := orders.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(stream.ResumeToken()))
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close(ctx)
	if !behind.Next(ctx) || behind.Current.Lookup("operationType").StringValue() != "delete" {
		t.Errorf("the stream behind it has %s, %v", behind.Current, behind.Err())
	}
}

func goRefusals(t *testing.T, client *mongo.Client) {
	ctx, app := t.Context(), client.Database("app")
	session, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		return app.Collection("orders").InsertOne(ctx, document("customer", 1))
	})
	wantCode(t, "a transaction", err, 263)
	wantCode(t, "an unknown command", app.RunCommand(ctx, document("nonsense", 1)).Err(), 59)
}

func goAuthentication(t *testing.T, p *servedProgram, uri string) {
	ctx := t.Context()
	for _, mechanism := range []string{"SCRAM-SHA-1", "SCRAM-SHA-256"} {
		client := p.driver(uri, func(o *options.ClientOptions) { o.Auth.AuthMechanism = mechanism })
		if got := adminCommand(t, client, "connectionStatus", 1).Lookup("authInfo", "authenticatedUsers", "0",
			"user").StringValue(); got != "root" {
			t.Errorf("%s: authenticated as %q", mechanism, got)
		}
	}
	wrong := p.driver(uri, func(o *options.ClientOptions) { o.Auth.Password = "wrong" })
	wantCode(t, "a wrong password", wrong.Ping(ctx, nil), 18)
	nobody := p.driver(uri, func(o *options.ClientOptions) { o.Auth = nil })
	wantCode(t, "no password", nobody.Database("app").RunCommand(ctx, document("find", "orders")).Err(), 13)
	if log := p.log.String(); strings.Contains(log, "wörd") || !strings.Contains(log, "authentication failed") {
		t.Errorf("the log is %s", log)
	}
}
