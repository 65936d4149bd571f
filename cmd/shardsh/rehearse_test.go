package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// fingerprint is all that a dry run may not change: the catalog, users and roles, and
// documents. What the cluster itself writes goes on, so its balancer is off.
func fingerprint(t *testing.T, client *mongo.Client) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(database, collection string) {
		cursor, err := client.Database(database).Collection(collection).Find(t.Context(), bson.D{},
			options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		if err != nil {
			t.Fatal(err)
		}
		var docs []bson.Raw
		if err := cursor.All(t.Context(), &docs); err != nil {
			t.Fatal(err)
		}
		found[database+"."+collection] = fmt.Sprint(docs)
	}
	for _, name := range []string{"shards", "databases", "collections", "chunks", "tags", "settings", "changelog"} {
		add("config", name)
	}
	names, err := client.ListDatabaseNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, database := range names {
		if database == "config" || database == "admin" {
			continue
		}
		collections, err := client.Database(database).ListCollectionNames(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range collections {
			add(database, name)
		}
	}
	for _, command := range []string{"rolesInfo", "usersInfo"} {
		reply, err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: command, Value: 1},
			{Key: "showPrivileges", Value: command == "rolesInfo"}}).Raw()
		if err != nil {
			t.Fatal(err)
		}
		found[command] = reply.Lookup("roles").String() + reply.Lookup("users").String()
	}
	return found
}

// The scripts that ship run to their end in a dry run, on the mock and on a cluster
// behind a port, which they leave as it was.
func TestDryRunOfScripts(t *testing.T) {
	p := startServe(t)
	prepare := `sh.stopBalancer(); sh.shardCollection("shop.orders", { k: 1 }); db.getSiblingDB("shop").orders.insertOne({ k: 1 });
sh.shardCollection("shardsh_quickstart.orders", { other: 1 }); db.getSiblingDB("shardsh_quickstart").orders.insertOne({ other: 1 });
db.getSiblingDB("admin").createRole({ role: "shardshLook", privileges: [], roles: [] })`
	if code, _, stderr := runProgram(t, "", "--quiet", p.uri, "--eval", prepare); code != 0 {
		t.Fatal(stderr)
	}
	client := p.driver(p.uri)
	before := fingerprint(t, client)
	for script, parts := range map[string][]string{
		"quickstart.js": {"would send to shardsh_quickstart: insert orders: 400 documents, 3.14 MiB", "balancerCompliant: true",
			"Done: every order is still there"},
		"status.js": {"no sharded collections"},
		"roles.js":  {`would send to admin: {"createRole":"shardshEngine"`, "shardshHelpers: created"},
	} {
		for name, address := range map[string]string{"mock": "--mock", "serve": p.uri} {
			code, stdout, stderr := runProgram(t, "", "--dry-run", address, "../../scripts/"+script)
			for _, part := range parts {
				if script == "status.js" && name == "serve" {
					part = "shop.orders"
				}
				if code != 0 || !strings.Contains(stdout, part) {
					t.Errorf("%s on %s lacks %q: exit code %d\n%s\n%s", script, name, part, code, stdout, stderr)
				}
			}
			if want := map[string]string{"mock": "shardshLook: created", "serve": "shardshLook: brought up to date"}[name]; script ==
				"roles.js" && !strings.Contains(stdout, want) {
				t.Errorf("%s on %s: %s", script, name, stdout)
			}
			if said := strings.Contains(stderr, "Dry run: nothing is changed."); said == (script == "status.js") {
				t.Errorf("%s on %s says %q", script, name, stderr)
			}
		}
	}
	for what, was := range before {
		if is := fingerprint(t, client)[what]; is != was {
			t.Errorf("%s\nwas %s\nis  %s", what, was, is)
		}
	}
}

// Ways around --dry-run: none changes anything, on whatever connection.
func TestDryRunHasNoWayAround(t *testing.T) {
	p := startServe(t, "--shard-ports")
	client := p.driver(p.uri)
	stop := bson.D{{Key: "balancerStop", Value: 1}} // it may begin a round of its own in the meantime
	if err := client.Database("admin").RunCommand(t.Context(), stop).Err(); err != nil {
		t.Fatal(err)
	}
	before := fingerprint(t, client)
	scripts := writing(p)
	var member struct{ Shards []struct{ Host string } }
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "listShards", Value: 1}}).Decode(&member); err != nil {
		t.Fatal(err)
	}
	_, host, _ := strings.Cut(member.Shards[0].Host, "/")
	scripts = append(scripts, `print(new Mongo("`+host+`").getDB("test").c.insertOne({}).acknowledged)`)
	for _, script := range scripts {
		_, stdout, stderr := runProgram(t, "", "--quiet", "--dry-run", p.uri, "--eval", script)
		if told := strings.Contains(stdout, "would send to "); !told && !strings.Contains(script, "eval") {
			t.Errorf("%s: stdout %q, stderr %q", script, stdout, stderr)
		}
	}
	for what, was := range before {
		if is := fingerprint(t, client)[what]; is != was {
			t.Errorf("%s\nwas %s\nis  %s", what, was, is)
		}
	}
}

// With --json there is but the result on stdout.
func TestDryRunWithJSON(t *testing.T) {
	code, stdout, stderr := runProgram(t, "", "--quiet", "--dry-run", "--json", "--eval",
		`db.c.insertMany([{}, {}]); ({ n: db.c.countDocuments() })`)
	var result struct{ N json.Number }
	if err := json.Unmarshal([]byte(stdout), &result); code != 0 || err != nil && !strings.Contains(stdout, "numberInt") {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
	if !strings.Contains(stderr, "would send to test: insert c: 2 documents") {
		t.Errorf("stderr %q", stderr)
	}
}
