package controls_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/router/routertest"
)

// twoStates are snapshots of a cluster with a user who may read app.gen, which
// says whose state it is.
func twoStates(t *testing.T) (x *tester, root *mongo.Client, files map[string]string) {
	x = routertest.NewWithAuth(t)
	root = x.Client(&options.Credential{Username: "root", Password: "secret"})
	files = map[string]string{}
	run := func(db string, command bson.D) {
		t.Helper()
		if err := root.Database(db).RunCommand(t.Context(), command).Err(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
	gone := ""
	for _, name := range []string{"first", "second"} {
		if gone != "" {
			run("app", d("dropAllUsersFromDatabase", 1))
			run("app", d("dropAllRolesFromDatabase", 1))
		}
		run("app", d("createRole", "of "+name, "privileges", bson.A{}, "roles", bson.A{"read"}))
		run("app", d("createUser", name, "pwd", "p", "roles", bson.A{"of " + name}))
		run("app", d("update", "gen", "updates", bson.A{
			d("q", d("_id", 1), "u", d("_id", 1, "of", name), "upsert", true),
		}))
		files[name] = filepath.Join(t.TempDir(), name)
		if err := x.Cluster.Save(files[name]); err != nil {
			t.Fatal(err)
		}
		gone = name
	}
	return x, root, files
}

// Users and roles are those of the loaded state from its first moment on, and
// those that the router was made with stay.
func TestLoadReplacesUsers(t *testing.T) {
	x, root, files := twoStates(t)
	for _, name := range []string{"first", "second", "first"} {
		if err := x.Cluster.Load(files[name]); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ db, command, list, name, want string }{
			{"app", "usersInfo", "users", "user", name},
			{"app", "rolesInfo", "roles", "role", "of " + name},
			{"admin", "usersInfo", "users", "user", "root"},
		} {
			reply, err := root.Database(tt.db).RunCommand(t.Context(), d(tt.command, 1)).Raw()
			if err != nil {
				t.Fatal(err)
			}
			list, _ := reply.Lookup(tt.list).Array().Values()
			if len(list) != 1 || list[0].Document().Lookup(tt.name).StringValue() != tt.want {
				t.Errorf("%s: %s %s shows %s", name, tt.db, tt.command, reply)
			}
		}
	}
}

// Nobody sees the data of one state with the rights of the other, whenever he
// asks.
func TestLoadIsOneStep(t *testing.T) {
	x, _, files := twoStates(t)
	if err := x.Cluster.Load(files["first"]); err != nil {
		t.Fatal(err)
	}
	first := x.Client(&options.Credential{Username: "first", Password: "p", AuthSource: "app"})
	gen := first.Database("app").Collection("gen")
	read := func() {
		var doc struct{ Of string }
		switch err := gen.FindOne(context.Background(), d()).Decode(&doc); {
		case err != nil:
			var refused mongo.CommandError
			if !errors.As(err, &refused) || refused.Code != 13 {
				t.Errorf("reading: %v", err)
			}
		case doc.Of != "first":
			t.Errorf("the user of the first state reads %q", doc.Of)
		}
	}
	read()
	loaded := make(chan error, 1)
	go func() {
		for n := range 100 {
			if err := x.Cluster.Load(files[[]string{"second", "first"}[n%2]]); err != nil {
				loaded <- err
				return
			}
		}
		loaded <- nil
	}()
	for {
		select {
		case err := <-loaded:
			if err != nil {
				t.Error(err)
			}
			read()
			return
		default:
			read()
		}
	}
}
