package live_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// laggard is a secondary of the config server that has stopped at a moment.
type laggard struct {
	router wire.Handler
	at     bson.Timestamp
}

// configMembers is a router whose config server has a primary and secondaries that are behind.
// A read goes to any of them. One that names a time waits until the member is as far, or,
// if the members are stuck, until its time is up.
type configMembers struct {
	wire.Handler // the primary
	r            *rand.Rand
	stuck        bool
	forgetful    bool // no member keeps to afterClusterTime

	mu      sync.Mutex
	behind  []laggard
	remote  int // reads of secondaries
	expired int
}

func (c *configMembers) Handle(ctx context.Context, r wire.Request) bson.Raw {
	reads := r.Database == "config" && (r.Command == "find" || r.Command == "aggregate")
	mode, _ := r.Body.Lookup("$readPreference", "mode").StringValueOK()
	if !reads || !strings.HasPrefix(mode, "secondary") {
		return c.Handler.Handle(ctx, r)
	}
	c.mu.Lock()
	c.remote++
	m := c.behind[c.r.IntN(len(c.behind))]
	c.mu.Unlock()
	var after bson.Timestamp
	after.T, after.I, _ = r.Body.Lookup("readConcern", "afterClusterTime").TimestampOK()
	switch {
	case !after.After(m.at) || c.forgetful:
		return withTime(m.router.Handle(ctx, withoutReadConcern(r)), m.at)
	case c.stuck:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.expired++
		return isTimeExpired()
	}
	return c.Handler.Handle(ctx, r)
}

// isTimeExpired is the reply to a command whose time is up.
func isTimeExpired() bson.Raw {
	raw, _ := bson.Marshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(50)},
		{Key: "codeName", Value: "MaxTimeMSExpired"}, {Key: "errmsg", Value: "operation exceeded time limit"}})
	return raw
}

// withoutReadConcern returns a request that a member answers as it is: it has no time to wait for.
func withoutReadConcern(r wire.Request) wire.Request {
	var doc bson.D
	_ = bson.Unmarshal(r.Body, &doc)
	r.Body, _ = bson.Marshal(slices.DeleteFunc(doc, func(e bson.E) bool { return e.Key == "readConcern" }))
	return r
}

// withTime returns a reply with the operation time of a member.
func withTime(reply bson.Raw, at bson.Timestamp) bson.Raw {
	var doc bson.D
	_ = bson.Unmarshal(reply, &doc)
	for i, e := range doc {
		if e.Key == "operationTime" {
			doc[i].Value = at
		}
	}
	raw, _ := bson.Marshal(doc)
	return raw
}

// newConfigMembers makes a cluster with a history, and a secondary at each moment of it.
func newConfigMembers(t *testing.T, seed uint64) (*configMembers, *mongo.Client) {
	t.Helper()
	cluster := mocktest.Cluster(t, `{"shards": [{"id": "a", "zones": ["Z"]}, {"id": "b"}],
		"settings": {"balancer": {"mode": "off"}}, "collections": [
		{"ns": "x.moved", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "a", "max": {"k": 5}}, {"shard": "b"}]},
		{"ns": "x.split", "key": {"k": 1}, "chunks": [{"shard": "a"}]},
		{"ns": "x.new", "key": {"k": 1}, "chunks": [{"shard": "b", "max": {"k": 0}}, {"shard": "a"}]}]}`, mock.Config{})
	members := &configMembers{Handler: router.New(cluster, nil), r: rand.New(rand.NewPCG(seed, 0))}
	client := mocktest.Connect(t, members)
	for i, change := range []bson.D{
		{{Key: "moveRange", Value: "x.moved"}, {Key: "min", Value: bson.D{{Key: "k", Value: 0}}}, {Key: "toShard", Value: "b"}},
		{{Key: "split", Value: "x.split"}, {Key: "middle", Value: bson.D{{Key: "k", Value: 3}}}},
		{{Key: "drop", Value: "new"}},
		{{Key: "shardCollection", Value: "x.new"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}}},
		{{Key: "updateZoneKeyRange", Value: "x.split"}, {Key: "min", Value: bson.D{{Key: "k", Value: 3}}},
			{Key: "max", Value: bson.D{{Key: "k", Value: 9}}}, {Key: "zone", Value: "Z"}},
	} {
		members.lag(t, cluster, fmt.Sprint(i))
		// The mock's time does not go on with each write, but with a new database it does.
		tick := bson.D{{Key: "enableSharding", Value: fmt.Sprint("new", i)}}
		if err := client.Database("admin").RunCommand(t.Context(), tick).Err(); err != nil {
			t.Fatal(err)
		}
		database := "admin"
		if change[0].Key == "drop" {
			database = "x"
		}
		if err := client.Database(database).RunCommand(t.Context(), change).Err(); err != nil {
			t.Fatalf("%v: %v", change, err)
		}
	}
	return members, client
}

// lag adds a secondary that goes no farther than now.
func (c *configMembers) lag(t *testing.T, cluster *mock.Cluster, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := cluster.Save(file); err != nil {
		t.Fatal(err)
	}
	body, err := bson.Marshal(bson.D{{Key: "find", Value: "version"}, {Key: "$db", Value: "config"}})
	if err != nil {
		t.Fatal(err)
	}
	reply := c.Handler.Handle(t.Context(), wire.Request{
		Database: "config", Command: "find", Client: new(wire.ClientConn), Body: body,
	})
	l := laggard{router: router.New(mocktest.Cluster(t, "", mock.Config{Snapshot: file}), nil)}
	var found bool
	if l.at.T, l.at.I, found = reply.Lookup("operationTime").TimestampOK(); !found {
		t.Fatal(reply)
	}
	c.behind = append(c.behind, l)
}

// largeParts are what is read of the large collections of config.
const largeParts = live.BalancerParts | live.ChunkCounts

// A look reads what is large from secondaries, and sees what a read of the primary sees,
// however far behind which of them is. Without the time that each read names it does not.
func TestLooksReadSecondaries(t *testing.T) {
	differ := 0
	for seed := range uint64(12) {
		members, client := newConfigMembers(t, seed)
		want := readBy(t, live.NewReader(client, live.ReaderOptions{Parts: largeParts}))
		if members.remote != 0 {
			t.Errorf("%d reads of secondaries for a run", members.remote)
		}
		got := readBy(t, live.NewSecondaryReader(client, nil, live.ReaderOptions{Parts: largeParts}))
		if members.remote < 5 {
			t.Errorf("%d reads of secondaries", members.remote)
		}
		if d := differences(got, want); len(d) > 0 {
			t.Errorf("seed %d: %v", seed, d)
		}
		members.forgetful = true
		got = readBy(t, live.NewSecondaryReader(client, nil, live.ReaderOptions{Parts: largeParts}))
		if len(differences(got, want)) > 0 {
			differ++
		}
	}
	if differ < 6 {
		t.Errorf("only %d of 12 looks at members that lag differ without afterClusterTime: the test shows nothing", differ)
	}
}

// differences compares what two reads have seen, but for when.
func differences(got, want *catalog.Snapshot) []string {
	return slices.DeleteFunc(snaptest.Diff(got, want), func(line string) bool {
		return strings.HasPrefix(line, "Time is") || strings.HasPrefix(line, "ClusterTime is")
	})
}

func readBy(t *testing.T, r *live.Reader) *catalog.Snapshot {
	t.Helper()
	s, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Secondaries that don't catch up are not waited for more than once; where somebody chose
// them, they are.
func TestSecondariesThatAreStuck(t *testing.T) {
	members, client := newConfigMembers(t, 1)
	members.stuck = true
	want := readBy(t, live.NewReader(client, live.ReaderOptions{Parts: largeParts}))
	o := live.ReaderOptions{Parts: largeParts, Parallel: 1}
	got := readBy(t, live.NewSecondaryReader(client, nil, o))
	if d := differences(got, want); len(d) > 0 || members.expired != 1 {
		t.Errorf("%d reads were waited for, and differ: %v", members.expired, d)
	}
	_, err := live.NewSecondaryReader(client, readpref.Secondary(), live.ReaderOptions{Parts: largeParts, Parallel: 1,
		Required: live.Collections}).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exceeded time limit") {
		t.Errorf("chosen secondaries: %v", err)
	}
	members.remote = 0
	got = readBy(t, live.NewSecondaryReader(client, readpref.Primary(), o))
	if d := differences(got, want); len(d) > 0 || members.remote != 0 {
		t.Errorf("%d reads of secondaries though the primary was chosen: %v", members.remote, d)
	}
}
