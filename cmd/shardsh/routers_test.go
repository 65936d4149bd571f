package main

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// twoRouters are two ports of one cluster. A ping with the comment "die" kills the
// one that it comes to.
func twoRouters(t *testing.T) (address string) {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(unbalanced))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: topology})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	handler := router.New(cluster, nil)
	var addresses []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := &wire.Server{}
		server.Handler = handlerFunc(func(ctx context.Context, r wire.Request) bson.Raw {
			if comment, _ := r.Body.Lookup("comment").StringValueOK(); comment == "die" {
				go func() { _ = server.Close() }()
			}
			return handler.Handle(ctx, r)
		})
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(context.Background(), listener) }()
		t.Cleanup(func() { _ = server.Close(); <-served })
		addresses = append(addresses, listener.Addr().String())
	}
	return "mongodb://" + strings.Join(addresses, ",") + "/shop?heartbeatFrequencyMS=500"
}

// One of two routers dies in the middle of a script: reads, writes and helpers go
// on with the other. Cursors that were open on it are lost, the others are not: the
// driver draws lots, so there are enough of them that both routers have some.
func TestTwoRouters(t *testing.T) {
	const script = `
const c = db.getSiblingDB("shop").things;
for (let i = 0; i < 20; i++) c.insertOne({ _id: i });
const cursors = Array.from({ length: 40 }, () => { const x = c.find().batchSize(2); x.next(); x.next(); return x; });
try { db.adminCommand({ ping: 1, comment: "die" }); } catch (e) { print("ping: " + e.name); }
for (let i = 20; i < 60; i++) c.insertOne({ _id: i });
const lost = cursors.filter(x => { try { x.toArray(); return false; } catch (e) { return true; } }).length;
print(c.countDocuments({}), lost < cursors.length ? "some cursors" : "no cursor", sh.listShards().length, sh.chunks("shop.even").itcount() > 0);
`
	for range 3 {
		code, stdout, stderr := runProgram(t, "", "--quiet", twoRouters(t), "--timeout", "60s", "--eval", script)
		text := strings.TrimPrefix(stdout, "ping: MongoNetworkError\n")
		if code != exitOK || !strings.HasPrefix(text, "60 some cursors ") || !strings.HasSuffix(text, " 2 true\n") {
			t.Errorf("exit code %d, %s%s", code, stdout, stderr)
		}
	}
}

// At a shard or a config server it is said what that is, and what it is not.
func TestAMemberIsNoRouter(t *testing.T) {
	p := startServe(t, "--shard-ports", "--shards", "2")
	code, hosts, stderr := runProgram(t, "", p.uri, "--quiet", "--eval",
		"[sh.listShards()[1].host, db.adminCommand({getShardMap: 1}).map.config].map(h => h.split('/')[1]).join(' ')")
	if code != exitOK {
		t.Fatal(hosts, stderr)
	}
	members := strings.Fields(hosts)
	for i, want := range []string{"a member of shard shard1", "a config server"} {
		address := members[i]
		code, stdout, stderr := runProgram(t, "", address, "--eval", "try { sh.balancerSummary() } catch (e) { e.code }")
		if code != exitOK || !strings.Contains(stderr, "Warning: this is "+want+", not a mongos: ") ||
			stdout != "SHAPI-10003\n" {
			t.Errorf("exit code %d, %s%s", code, stdout, stderr)
		}
		if _, _, stderr := runProgram(t, "", "--quiet", address, "--eval", "1"); stderr != "" {
			t.Errorf("with --quiet: %s", stderr)
		}
	}
}

// Each router of "serve --routers" has a line with its address, a document in
// config.mongos, and its own knowledge of where chunks lie.
func TestServeRouters(t *testing.T) {
	p := startServe(t, "--routers", "2", "--shards", "2", "--shard-ports")
	one := p.driver(p.uri)
	routers, _ := adminCommand(t, one, "mockStatus", 1).Lookup("routers").Array().Values()
	if len(routers) != 2 || "mongodb://"+routers[0].StringValue()+"/" != p.uri {
		t.Fatalf("routers at %v", routers)
	}
	second := "mongodb://" + routers[1].StringValue() + "/"
	two := p.driver(second)
	version := func(c *mongo.Client) string {
		return adminCommand(t, c, "getShardVersion", "app.c").Lookup("version").String()
	}
	adminCommand(t, one, "shardCollection", "app.c", "key", document("k", 1))
	adminCommand(t, one, "split", "app.c", "middle", document("k", 0))
	was := version(two)
	owner, _ := adminCommand(t, one, "getDatabaseVersion", "app").Lookup("primaryShard").StringValueOK()
	to := map[string]string{"shard0": "shard1", "shard1": "shard0"}[owner]
	adminCommand(t, one, "moveChunk", "app.c", "find", document("k", 1), "to", to)
	if version(one) == was || version(two) != was {
		t.Errorf("version %s before the move; %s at the router that moved, %s at the other", was, version(one), version(two))
	}
	if _, err := two.Database("app").Collection("c").InsertOne(t.Context(), document("k", 5)); err != nil {
		t.Fatal(err)
	}
	if version(one) != version(two) {
		t.Error("the other router has sent a request and learned nothing")
	}
	if n, err := two.Database("config").Collection("mongos").CountDocuments(t.Context(), bson.D{}); n != 2 || err != nil {
		t.Errorf("%d documents in config.mongos, %v", n, err)
	}
	p.stop(syscall.SIGTERM)
	if lines := p.more.String(); strings.TrimSpace(lines) != second {
		t.Errorf("after the first line came %q", lines)
	}
}

// Scripts reach the embedded mock's other routers by the names that mock.status() has.
func TestRoutersInTheShell(t *testing.T) {
	const script = `
const [one, two] = mock.status().routers.map(name => new Mongo(name));
sh.enableSharding("app", "shard0");
sh.shardCollection("app.c", { k: 1 });
sh.splitAt("app.c", { k: 0 });
const version = m => m.getDB("app").c.getShardVersion().version.t;
const seen = [version(one), version(two)];
sh.moveRange("app.c", "shard1", { k: 0 });
seen.push(version(two));
two.getDB("app").c.insertOne({ k: 1 });
seen.push(version(two), db.getSiblingDB("config").mongos.countDocuments({}));
print(seen.join(" "));
`
	topology := writeFile(t, "two", `{"routers": 2, "shards": [{"id": "shard0"}, {"id": "shard1"}]}`)
	for _, args := range [][]string{{"--mock=2", "--routers", "2"}, {"--mock=" + topology}, {"--mock=2", "--routers", "2", "--sandbox"}} {
		code, stdout, stderr := runProgram(t, "", append(args, "--quiet", "--eval", script)...)
		if code != exitOK || stdout != "1 1 1 2 2\n" {
			t.Errorf("%v: exit code %d, %q %s", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := runProgram(t, "", "--mock=2", "--routers", "17", "--eval", "1"); code != exitUsage ||
		!strings.Contains(stderr, "--routers takes 1 to 16, not 17") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
