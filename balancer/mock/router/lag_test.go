package router_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// took is the cluster's time that commands take.
func (p pair) took(commands func()) time.Duration {
	p.one.Cluster.Lock()
	began := p.one.Cluster.Now()
	p.one.Cluster.Unlock()
	commands()
	p.one.Cluster.Lock()
	defer p.one.Cluster.Unlock()
	return p.one.Cluster.Now().Sub(began)
}

// Writes that ask for the secondary wait for it where it is behind, or end with the
// error of a timeout; those that don't are done at once.
func TestWritesWaitForTheSecondary(t *testing.T) {
	p := newPair(t)
	p.one.OK("admin", d("mockSlow", "b", "secondary", "10s"))
	n := 100
	insert := func(k int, concern bson.D) (time.Duration, bson.Raw) {
		n++
		var reply bson.Raw
		took := p.took(func() {
			reply = p.one.OK("app", d("insert", "c", "documents", bson.A{d("_id", n, "k", k)}, "writeConcern", concern))
		})
		return took, reply
	}
	const onA, onB = 50, 150
	for _, tt := range []struct {
		what    string
		k       int
		concern bson.D
		least   time.Duration
		code    int64
	}{
		{"one node", onB, d("w", 1), 0, 0},
		{"two nodes", onB, d("w", 2), 10 * time.Second, 0},
		{"the majority of two", onB, d("w", "majority"), 10 * time.Second, 0},
		{"patience enough", onB, d("w", 2, "wtimeout", 20_000), 10 * time.Second, 0},
		{"too little patience", onB, d("w", 2, "wtimeout", 3000), 3 * time.Second, 64},
		{"three nodes", onB, d("w", 3), 0, 100},
		{"the majority of one", onA, d("w", "majority"), 0, 0},
		{"two nodes of one", onA, d("w", 2), 0, 100},
	} {
		took, reply := insert(tt.k, tt.concern)
		code, _ := reply.Lookup("writeConcernError", "code").AsInt64OK()
		if took < tt.least || took > tt.least+time.Second || code != tt.code || reply.Lookup("n").AsInt64() != 1 {
			t.Errorf("%s: it took %v, %s", tt.what, took, reply)
		}
		text, _ := reply.Lookup("writeConcernError", "errmsg").StringValueOK()
		if strings.Contains(text, "{ wtimeout: true, writeConcern: {") != (tt.code == 64) {
			t.Errorf("%s: %s", tt.what, reply)
		}
	}
}

// A write that does not say how many nodes it waits for waits for those of the default: a
// majority from 5.0 on (docs: Implicit Default Write Concern), or what was set.
func TestWritesWaitByDefault(t *testing.T) {
	for _, tt := range []struct {
		what    string
		release catalog.Release
		set     bson.D
		write   bson.D
		least   time.Duration
		source  string // of an error 64
	}{
		{"8.0", catalog.Release80, nil, d(), 10 * time.Second, ""},
		{"5.0", catalog.Release50, nil, d(), 10 * time.Second, ""},
		{"4.4", catalog.Release44, nil, d(), 0, ""},
		{"one node", catalog.Release80, nil, d("writeConcern", d("w", 1)), 0, ""},
		{"nobody", catalog.Release80, nil, d("writeConcern", d("w", 0)), 0, ""},
		{"a time alone", catalog.Release80, nil, d("writeConcern", d("wtimeout", 2000)), 2 * time.Second, "implicitDefault"},
		{"one node is set", catalog.Release80, d("w", 1), d(), 0, ""},
		{"two nodes are set, with a time", catalog.Release80, d("w", 2, "wtimeout", 3000), d(), 3 * time.Second, "customDefault"},
		{"two nodes are set for 4.4", catalog.Release44, d("w", 2), d(), 10 * time.Second, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			topology, err := mock.ParseTopology([]byte(lying))
			if err != nil {
				t.Fatal(err)
			}
			x := routertest.New(t, mock.Config{Topology: topology, Release: tt.release})
			x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 0, "k", 150)}))
			if tt.set != nil {
				x.OK("admin", d("setDefaultRWConcern", 1, "defaultWriteConcern", tt.set))
			}
			x.OK("admin", d("mockSlow", "b", "secondary", "10s"))
			var reply bson.Raw
			took := pair{one: x}.took(func() {
				reply = x.OK("app", append(d("insert", "c", "documents", bson.A{d("_id", 1, "k", 150)}), tt.write...))
			})
			text, _ := reply.Lookup("writeConcernError", "errmsg").StringValueOK()
			named := tt.source == "" && text == "" || tt.source != "" && strings.Contains(text, `provenance: "`+tt.source+`"`)
			if took < tt.least || took > tt.least+time.Second || !named || reply.Lookup("n").AsInt64() != 1 {
				t.Errorf("it took %v: %s", took, reply)
			}
			reading := pair{one: x}.took(func() {
				x.OK("app", d("find", "c"))
				x.OK("app", d("aggregate", "c", "pipeline", bson.A{}, "cursor", d()))
			})
			if reading > time.Second {
				t.Errorf("reading took %v", reading)
			}
		})
	}
}

// Of three members of which one is behind the other two are a majority: only what asks for all three waits. An index of
// a collection with documents asks for all, whatever its write concern; what changes collections never does.
func TestAMajorityDoesNotWait(t *testing.T) {
	host := `"host": "rs/h1:27017,h2:27017,h3:27017"`
	x := routertest.NewFromTopology(t, strings.Replace(lying, `{"id": "b"}`, `{"id": "b", `+host+`}`, 1))
	p := pair{one: x}
	x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 150)}))
	x.OK("admin", d("mockSlow", "b", "secondary", "10s"))
	index := func(name string, more ...any) bson.D {
		return append(d("createIndexes", "c", "indexes", bson.A{d("key", d(name, 1), "name", name)}), d(more...)...)
	}
	concern := func(w any) bson.D { return d("w", w, "wtimeout", 3000) }
	update := d("update", "c", "updates", bson.A{d("q", d("k", 150), "u", d("$inc", d("n", 1)))})
	for _, tt := range []struct {
		what    string
		command bson.D
		least   time.Duration
		code    int
		text    string
	}{
		{"the default", update, 0, 0, ""},
		{"two", append(update, d("writeConcern", concern(2))...), 0, 0, ""},
		{"three", append(update, d("writeConcern", concern(3))...), 3 * time.Second, 64, "WriteConcernFailed: waiting for replication timed out; " +
			`Error details: { wtimeout: true, writeConcern: { w: 3, wtimeout: 3000, provenance: "clientSupplied" } } at b`},
		{"four", append(update, d("writeConcern", concern(4))...), 0, 100, "UnsatisfiableWriteConcern: Not enough data-bearing nodes; " +
			`Error details: { writeConcern: { w: 4, wtimeout: 3000, provenance: "clientSupplied" } } at b`},
		{"an index", index("i"), 10 * time.Second, 0, ""},
		{"an index of a majority", index("j", "commitQuorum", "majority"), 0, 0, ""},
		{"a collection", d("create", "new", "writeConcern", concern(3)), 0, 0, ""},
	} {
		var reply bson.Raw
		took := p.took(func() { reply = x.OK("app", tt.command) })
		code, _ := reply.Lookup("writeConcernError", "code").AsInt64OK()
		text, _ := reply.Lookup("writeConcernError", "errmsg").StringValueOK()
		if took < tt.least || took > tt.least+time.Second || int(code) != tt.code || text != tt.text {
			t.Errorf("%s: it took %v, %s", tt.what, took, reply)
		}
	}
	if reply := x.Run("app", index("m", "maxTimeMS", 1000)); reply.Lookup("errmsg").StringValue() != "Request timed out" {
		t.Errorf("an index that must not wait so long: %s", reply)
	}
}

// A migration waits until the recipient's secondary has all, with the throttle after each
// batch besides; a deletion that is waited for until the donor's has deleted all. After a
// minute the recipient gives up (rules/02-migration-and-metadata §5.4, step 5).
func TestMigrationsWaitForTheSecondary(t *testing.T) {
	throttle := d("_secondaryThrottle", true, "writeConcern", d("w", 2))
	for _, tt := range []struct {
		what, slow, lag string
		options         bson.D
		least           time.Duration
		code            int
	}{
		{"nobody is behind", "", "", nil, 0, 0},
		{"the recipient", "c", "20s", nil, 20 * time.Second, 0},
		{"the recipient, for the clone's batch too", "c", "20s", throttle, 40 * time.Second, 0},
		{"a throttle of one node is none", "c", "20s", d("_secondaryThrottle", true, "writeConcern", d("w", 1)), 20 * time.Second, 0},
		{"the donor, whose deletion nobody waits for", "a", "20s", nil, 0, 0},
		{"the donor, whose deletion is waited for", "a", "20s", d("_waitForDelete", true), 20 * time.Second, 0},
		{"more than a minute", "c", "2m", nil, time.Minute, 96},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := newPair(t)
			if tt.slow != "" {
				p.one.OK("admin", d("mockSlow", tt.slow, "secondary", tt.lag))
			}
			code := 0
			took := p.took(func() {
				reply := p.one.Run("admin", append(d("moveChunk", "app.c", "find", d("k", 50), "to", "c"), tt.options...))
				n, _ := reply.Lookup("code").AsInt64OK()
				code = int(n)
			})
			if took < tt.least || took > tt.least+5*time.Second || code != tt.code {
				t.Errorf("it took %v and ended with %d", took, code)
			}
			if err := p.one.Cluster.CheckInvariants(); err != nil {
				t.Error(err)
			}
		})
	}
}
