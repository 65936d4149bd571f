package clients_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

func TestBeforeAuthentication(t *testing.T) {
	x := routertest.NewWithAuth(t)
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("hello", 1), 0},
		{d("isMaster", 1), 0},
		{d("ping", 1), 0},
		{d("buildInfo", 1), 0},
		{d("connectionStatus", 1), 0},
		{d("logout", 1), 0},
		{d("endSessions", bson.A{}), 0},
		{d("find", "x"), 13},
		{d("insert", "x", "documents", bson.A{d()}), 13},
		{d("listDatabases", 1), 13},
		{d("serverStatus", 1), 13},
		{d("killSessions", bson.A{}), 13},
		{d("createUser", "u", "pwd", "p", "roles", bson.A{"root"}), 13},
		{d("saslContinue", 1, "conversationId", 1, "payload", bson.Binary{}), 17},
		{d("saslStart", 1, "mechanism", "MONGODB-X509", "payload", bson.Binary{}), 334},
		{d("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload", bson.Binary{Data: []byte("nonsense")}), 18},
		{d("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload", 1), 14},
		{d("saslStart", 1, "payload", bson.Binary{}), 4},
		{d("nonsense", 1), 59},
	} {
		code, _ := x.Run("admin", tt.command).Lookup("code").AsInt64OK()
		if int(code) != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	reply := x.Run("admin", d("find", "x"))
	if text := reply.Lookup("errmsg").StringValue(); text != "Command find requires authentication" {
		t.Errorf("errmsg %q", text)
	}
}

func TestHelloTellsTheMechanismsOfAUser(t *testing.T) {
	x := routertest.NewWithAuth(t)
	reply := x.OK("admin", d("hello", 1, "saslSupportedMechs", "admin.root"))
	if got := reply.Lookup("saslSupportedMechs").String(); got != `["SCRAM-SHA-1","SCRAM-SHA-256"]` {
		t.Errorf("mechanisms %s", got)
	}
	if code := x.Code("admin", d("hello", 1, "saslSupportedMechs", "nodot")); code != 2 {
		t.Errorf("a name without a database: code %d", code)
	}
}

// onConnection sends a command on one connection.
func onConnection(x *tester, client *wire.ClientConn, db string, command bson.D) bson.Raw {
	x.T.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		x.T.Fatal(err)
	}
	return x.Router.Handle(context.Background(), wire.Request{Database: db, Command: command[0].Key, Body: body, Client: client})
}

func TestConversationsBelongToTheirConnection(t *testing.T) {
	x := routertest.NewWithAuth(t)
	start := d("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload", bson.Binary{Data: []byte("n,,n=root,r=abc")})
	mine := &wire.ClientConn{ID: 1}
	reply := onConnection(x, mine, "admin", start)
	id := reply.Lookup("conversationId").Int32()
	next := d("saslContinue", 1, "conversationId", id, "payload", bson.Binary{Data: []byte("c=biws,r=abc,p=AAAA")})
	for _, tt := range []struct {
		name   string
		client *wire.ClientConn
		db     string
		next   bson.D
		code   int32
	}{
		{"another connection", &wire.ClientConn{ID: 2}, "admin", next, 17},
		{"another number", mine, "admin", d("saslContinue", 1, "conversationId", id+1, "payload", bson.Binary{}), 17},
		{"another database", mine, "test", next, 17},
		{"a wrong proof", mine, "admin", next, 18},
		{"after the end", mine, "admin", next, 17},
	} {
		if code, _ := onConnection(x, tt.client, tt.db, tt.next).Lookup("code").Int32OK(); code != tt.code {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.code)
		}
	}
}

func TestUsersThroughTheDriver(t *testing.T) {
	x := routertest.NewWithAuth(t)
	ctx := context.Background()
	root := x.Client(&options.Credential{Username: "root", Password: "secret"})
	admin, app := root.Database("admin"), root.Database("app")
	run := func(db *mongo.Database, command bson.D) bson.Raw {
		t.Helper()
		raw, err := db.RunCommand(ctx, command).Raw()
		if err != nil {
			t.Fatalf("%v: %v", command, err)
		}
		return raw
	}
	if got := run(admin, d("connectionStatus", 1)).Lookup("authInfo", "authenticatedUsers").String(); got != `[{"user": "root","db": "admin"}]` {
		t.Errorf("authenticated as %s", got)
	}
	run(app, d("createUser", "u", "pwd", "p1", "roles", bson.A{"readWrite", d("role", "read", "db", "other")}, "mechanisms", bson.A{"SCRAM-SHA-256"}))
	info := run(app, d("usersInfo", "u"))
	if got := info.Lookup("users", "0", "roles").String(); got != `[{"role": "readWrite","db": "app"},{"role": "read","db": "other"}]` {
		t.Errorf("roles %s", got)
	}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-1", ""} {
		credential := &options.Credential{Username: "u", Password: "p1", AuthSource: "app", AuthMechanism: mechanism}
		err := x.Client(credential).Ping(ctx, nil)
		if (err == nil) != (mechanism != "SCRAM-SHA-1") {
			t.Errorf("with %q: %v", mechanism, err)
		}
	}
	run(app, d("updateUser", "u", "pwd", "p2"))
	if err := x.Client(&options.Credential{Username: "u", Password: "p1", AuthSource: "app"}).Ping(ctx, nil); err == nil {
		t.Error("the old password still works")
	}
	run(app, d("dropUser", "u"))
	for _, tt := range []struct {
		command bson.D
		code    int32
	}{
		{d("createUser", "root", "pwd", "x", "roles", bson.A{}), 51003},
		{d("createUser", "v", "roles", bson.A{}), 2},
		{d("createUser", "v", "pwd", "", "roles", bson.A{}), 2},
		{d("createUser", "v", "pwd", "x"), 40414},
		{d("createUser", "v", "pwd", "x", "roles", bson.A{"king"}), 31},
		{d("createUser", "v", "pwd", "x", "roles", bson.A{}, "mechanisms", bson.A{"PLAIN"}), 2},
		{d("createUser", "v", "pwd", "x", "roles", bson.A{}, "nonsense", 1), 40415},
		{d("dropUser", "v"), 11},
		{d("updateUser", "v", "pwd", "x"), 11},
		{d("updateUser", "root"), 2},
		{d("usersInfo", true), 2},
	} {
		raw, _ := admin.RunCommand(ctx, tt.command).Raw()
		if code, _ := raw.Lookup("code").Int32OK(); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
	if err := admin.RunCommand(ctx, d("logout", 1)).Err(); err != nil {
		t.Fatal(err)
	}
}
