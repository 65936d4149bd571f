package routertest

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// NewWithAuth returns a router that requires authentication, with one user: root.
func NewWithAuth(t *testing.T) *Tester {
	t.Helper()
	directory := access.NewDirectory()
	root := access.UserSpec{Password: "secret", Roles: []access.Role{{Role: "root", Database: "admin"}}}
	if err := directory.Create("admin", "root", root); err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{Parameters: map[string]any{"enableTestCommands": true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Tester{T: t, Router: router.New(c, nil, router.WithUsers(directory, true)), Cluster: c}
}

// Client returns a driver client that is connected to the router by a pipe.
func (t *Tester) Client(credential *options.Credential) *mongo.Client {
	t.T.Helper()
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: t.Router}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(context.Background(), pipe) // ends with the test
	}()
	opts := options.Client().SetHosts([]string{"mock:27017"}).SetDirect(true).SetDialer(pipe).
		SetServerMonitoringMode(connstring.ServerMonitoringModePoll)
	if credential != nil {
		opts.SetAuth(*credential)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		t.T.Fatal(err)
	}
	t.T.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.T.Error(err)
		}
		if err := server.Close(); err != nil {
			t.T.Error(err)
		}
		<-served
	})
	return client
}

// RoleTester is a guarded router with one user for each role, named after the role, with the password "p".
type RoleTester struct {
	*Tester
	clients map[string]*mongo.Client
	root    *mongo.Client
}

// NewRoleTester returns a guarded router with documents in app and other.
func NewRoleTester(t *testing.T) *RoleTester {
	t.Helper()
	x := &RoleTester{Tester: NewWithAuth(t), clients: map[string]*mongo.Client{}}
	x.root = x.Login("root", "secret", "admin")
	x.As("root", "app", D("insert", "orders", "documents", bson.A{D("_id", 1), D("_id", 2), D("_id", 3)}))
	x.As("root", "app", D("insert", "secret", "documents", bson.A{D("_id", 1)}))
	x.As("root", "other", D("insert", "things", "documents", bson.A{D("_id", 1)}))
	return x
}

// Login returns an authenticated client.
func (r *RoleTester) Login(name, password, db string) *mongo.Client {
	r.T.Helper()
	return r.Client(&options.Credential{
		Username: name, Password: password, AuthSource: db, AuthMechanism: "SCRAM-SHA-256",
	})
}

// As sends a command as the user with a role: NAME@DB, or NAME for roles of admin.
func (r *RoleTester) As(role, db string, command bson.D) bson.Raw {
	r.T.Helper()
	client := r.clients[role]
	switch {
	case role == "root":
		client = r.root
	case client == nil:
		name, of, scoped := strings.Cut(role, "@")
		if !scoped {
			of = "admin"
		}
		made := r.As("root", "admin", D("createUser", role, "pwd", "p", "mechanisms", bson.A{"SCRAM-SHA-256"},
			"roles", bson.A{D("role", name, "db", of)}))
		if made.Lookup("ok").AsFloat64() != 1 {
			r.T.Fatalf("no user %s: %s", role, made)
		}
		client = r.Login(role, "p", "admin")
		r.clients[role] = client
	}
	raw, err := client.Database(db).RunCommand(context.Background(), command).Raw()
	if raw == nil {
		r.T.Fatalf("no reply to %v as %s: %v", command, role, err)
	}
	return raw
}

// IsUnauthorized reports whether a reply is an error for a missing privilege.
func IsUnauthorized(reply bson.Raw) bool {
	code, _ := reply.Lookup("code").Int32OK()
	text, _ := reply.Lookup("errmsg").StringValueOK()
	return code == 13 && strings.HasPrefix(text, "not authorized on ")
}
