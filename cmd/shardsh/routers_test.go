package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

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
