package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// reading is a command that reads, with a read preference.
func reading(command bson.D, mode string, more ...any) bson.D {
	return append(command, d("$readPreference", append(d("mode", mode), d(more...)...))...)
}

// seenBy is what a find in app.c shows, by _id.
func seenBy(x *tester, mode string, filter bson.D, more ...bson.E) string {
	x.T.Helper()
	return ids(x.OK("app", append(reading(d("find", "c", "filter", filter, "sort", d("_id", 1)), mode), more...)))
}

func ids(reply bson.Raw) string {
	text := ""
	values, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	for _, v := range values {
		text += fmt.Sprint(v.Document().Lookup("_id").AsInt64())
	}
	return text
}

func advance(x *tester, by string) {
	x.T.Helper()
	x.OK("admin", d("mockAdvance", by))
}

// What a secondary shows that is behind: what there was then, by every command that
// reads, and with all read preferences but those for primaries.
func TestSecondariesShowThePast(t *testing.T) {
	p := newPair(t)
	x := p.one
	x.OK("admin", d("mockSlow", "b", "secondary", "10s"))
	x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 3, "k", 151), d("_id", 4, "k", 51)}, "writeConcern", d("w", 1)))
	x.OK("app", d("delete", "c", "deletes", bson.A{d("q", d("_id", 1, "k", 150), "limit", 1)}, "writeConcern", d("w", 1)))
	local := func(command bson.D, mode string) bson.Raw { return x.OK("app", reading(command, mode)) }
	check := func(when, old string, n int64) {
		t.Helper()
		for mode, want := range map[string]string{
			"primary": "0234", "primaryPreferred": "0234", "secondary": old, "secondaryPreferred": old, "nearest": old,
		} {
			if got := seenBy(x, mode, d()); got != want {
				t.Errorf("%s, %s shows %s, not %s", when, mode, got, want)
			}
			if mode == "primary" || mode == "primaryPreferred" {
				continue
			}
			pipeline := bson.A{d("$match", d("k", d("$gte", 100))), d("$sort", d("_id", 1)),
				d("$lookup", d("from", "c", "localField", "_id", "foreignField", "_id", "as", "same"))}
			reply := local(d("aggregate", "c", "pipeline", pipeline, "cursor", d()), mode)
			values, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
			for _, v := range values {
				if same, _ := v.Document().Lookup("same").Array().Values(); len(same) != 1 {
					t.Errorf("%s, %s: $lookup finds %s", when, mode, v)
				}
			}
			if got := local(d("count", "c"), mode).Lookup("n").AsInt64(); got != n {
				t.Errorf("%s, %s counts %d", when, mode, got)
			}
			if got := local(d("count", "c", "query", d("_id", d("$gte", 0))), mode).Lookup("n").AsInt64(); got != n {
				t.Errorf("%s, %s counts %d that match", when, mode, got)
			}
			distinct, _ := local(d("distinct", "c", "key", "_id"), mode).Lookup("values").Array().Values()
			if int64(len(distinct)) != n {
				t.Errorf("%s, %s: distinct %v", when, mode, distinct)
			}
			if got := seenBy(x, mode, d("_id", 3)); got == "3" != (old == "0234") {
				t.Errorf("%s, %s finds %s by its _id", when, mode, got)
			}
		}
	}
	check("at once", "0124", 4)
	advance(x, "9s")
	check("after nine seconds", "0124", 4)
	advance(x, "1s")
	check("after ten seconds", "0234", 4)

	x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 5, "k", 152)}, "writeConcern", d("w", 2)))
	if got := seenBy(x, "secondary", d("_id", 5)); got != "5" {
		t.Errorf("what two nodes have acknowledged: %q", got)
	}
	x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 6, "k", 153)}, "writeConcern", d("w", 1)))
	x.OK("admin", d("mockSlow", "b"))
	if got := seenBy(x, "secondary", d()); got != "023456" {
		t.Errorf("one that has caught up shows %s", got)
	}
}

// Where a collection has moved since, a secondary is waited for until it knows; a router
// that does not know either gets what there was. With "available", which was the default
// up to 4.4, nobody waits, and orphans show.
func TestSecondariesAndMoves(t *testing.T) {
	move := d("moveRange", "app.c", "min", d("k", 150), "max", d("k", 200), "toShard", "c")
	for _, tt := range []struct {
		what    string
		level   string
		stale   bool
		filter  bson.D
		want    string
		between [2]time.Duration
	}{
		{"the donor is not asked", "local", false, d("k", 50), "0", [2]time.Duration{0, time.Second}},
		{"the recipient has to know", "local", false, d("k", 150), "1", [2]time.Duration{9 * time.Second, 11 * time.Second}},
		{"all shards", "local", false, d(), "012", [2]time.Duration{9 * time.Second, 11 * time.Second}},
		{"majority", "majority", false, d(), "012", [2]time.Duration{9 * time.Second, 11 * time.Second}},
		{"neither knows", "local", true, d("k", 150), "1", [2]time.Duration{0, time.Second}},
		{"available, the recipient", "available", false, d("k", 150), "1", [2]time.Duration{0, time.Second}},
		{"available, the donor's orphan", "available", true, d("k", 150), "1", [2]time.Duration{0, time.Second}},
		{"available, all shards", "available", false, d(), "0112", [2]time.Duration{0, time.Second}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := newPair(t)
			for _, shard := range []string{"a", "b", "c"} {
				p.one.OK("admin", d("mockSlow", shard, "secondary", "10s"))
			}
			p.one.OK("admin", move)
			p.one.OK("admin", d("flushRouterConfig", 1))
			x := p.one
			if tt.stale {
				x = p.two
			}
			got := ""
			took := p.took(func() { got = seenBy(x, "secondary", tt.filter, d("readConcern", d("level", tt.level))...) })
			if got != tt.want || took < tt.between[0] || took > tt.between[1] {
				t.Errorf("%q after %v", got, took)
			}
		})
	}
}

// A collection that is new is waited for, but with available, and a database's new primary.
func TestSecondariesOfAnotherPrimary(t *testing.T) {
	p := newPair(t)
	p.one.OK("admin", d("mockSlow", "a", "secondary", "10s"))
	p.one.OK("admin", d("mockSlow", "b", "secondary", "10s"))
	p.one.OK("plain", d("insert", "new", "documents", bson.A{d("_id", 1)}, "writeConcern", d("w", 1)))
	available := append(reading(d("find", "new"), "secondary"), d("readConcern", d("level", "available"))...)
	if got := ids(p.one.OK("plain", available)); got != "" {
		t.Errorf("a new collection shows %q", got)
	}
	waited := p.took(func() {
		if got := ids(p.one.OK("plain", reading(d("find", "new"), "secondary"))); got != "1" {
			t.Errorf("a new collection shows %q", got)
		}
	})
	if waited < 9*time.Second || waited > 11*time.Second {
		t.Errorf("it took %v", waited)
	}
	p.one.OK("admin", d("movePrimary", "plain", "to", "b"))
	took := p.took(func() {
		if got := ids(p.two.OK("plain", reading(d("find", "c"), "secondary"))); got != "1" {
			t.Errorf("what has moved shows %q", got)
		}
	})
	if took < 9*time.Second || took > 11*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Who asks for a state that the secondary has not reached waits; who can't wait so long
// gets the error, and who wants it less stale than it is the primary, or nobody.
func TestWaitingForSecondaries(t *testing.T) {
	const onB = 150
	for _, tt := range []struct {
		what    string
		command bson.D
		want    string
		code    int
		took    time.Duration
	}{
		{"any staleness", reading(d("find", "c", "filter", d("k", onB)), "secondary"), "1", 0, 0},
		{"stale enough", reading(d("find", "c", "filter", d("k", onB)), "secondary", "maxStalenessSeconds", 110), "1", 0, 0},
		{"too stale", reading(d("find", "c", "filter", d("k", onB)), "secondary", "maxStalenessSeconds", 109), "", 133, 20 * time.Second},
		{"too stale, and there is a primary", reading(d("find", "c", "filter", d("k", onB)), "nearest", "maxStalenessSeconds", 109), "14", 0, 0},
		{"too stale, and impatient", reading(d("find", "c", "filter", d("k", onB), "maxTimeMS", 5000), "secondary",
			"maxStalenessSeconds", 100), "", 50, 5 * time.Second},
		{"linearizable", reading(d("find", "c", "readConcern", d("level", "linearizable")), "secondary"), "", 133, 20 * time.Second},
		{"linearizable, and impatient", reading(d("find", "c", "readConcern", d("level", "linearizable"), "maxTimeMS", 500),
			"secondary"), "", 50, 500 * time.Millisecond},
		{"a snapshot", reading(d("find", "c", "filter", d("k", onB), "readConcern", d("level", "snapshot")), "secondary"), "14", 0,
			99 * time.Second},
		{"a time that has not come", reading(d("find", "c", "readConcern", d("afterClusterTime", bson.Timestamp{T: 4e9, I: 1})),
			"secondary"), "", 72, 0},
		{"a time that nobody checks", reading(d("find", "c", "readConcern", d("level", "available", "afterClusterTime",
			bson.Timestamp{T: 1, I: 1})), "secondary"), "", 72, 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			p := newPair(t)
			p.one.OK("admin", d("mockSlow", "b", "secondary", "100s"))
			advance(p.one, "100s") // it is behind by as much as that only now
			p.one.OK("app", d("insert", "c", "documents", bson.A{d("_id", 4, "k", onB)}, "writeConcern", d("w", 1)))
			var reply bson.Raw
			took := p.took(func() { reply = p.one.Run("app", tt.command) })
			code, failed := reply.Lookup("code").AsInt64OK()
			if int(code) != tt.code || !failed && ids(reply) != tt.want || took < tt.took || took > tt.took+time.Second {
				t.Errorf("it took %v: %s", took, reply)
			}
		})
	}
	p := newPair(t)
	p.one.OK("admin", d("mockSlow", "b", "secondary", "10s"))
	written := p.one.OK("app", d("insert", "c", "documents", bson.A{d("_id", 4, "k", onB)}, "writeConcern", d("w", 1)))
	at, i, _ := written.Lookup("operationTime").TimestampOK()
	took := p.took(func() {
		if got := seenBy(p.one, "secondary", d("k", onB), d("readConcern", d("afterClusterTime", bson.Timestamp{T: at, I: i}))...); got != "14" {
			t.Errorf("after a write of the session: %q", got)
		}
	})
	if took < 9*time.Second || took > 11*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A read preference that makes no sense has the server's error, on whatever command.
func TestReadPreferences(t *testing.T) {
	x := routertest.NewFromTopology(t, lying)
	for _, tt := range []struct {
		preference any
		code       int
	}{
		{d("mode", "primary"), 0},
		{d("mode", "primary", "tags", bson.A{d()}), 0},
		{d("mode", "nearest", "tags", bson.A{d("dc", "x"), d()}, "hedge", d("enabled", true)), 0},
		{d("mode", "secondary", "maxStalenessSeconds", 90), 0},
		{d("mode", "secondary", "maxStalenessSeconds", 0), 0},
		{"secondary", 14},
		{d("tags", bson.A{}), 40414},
		{d("mode", 1), 14},
		{d("mode", "Secondary"), 2},
		{d("mode", "primary", "tags", bson.A{d("dc", "x")}), 2},
		{d("mode", "nearest", "tags", d("dc", "x")), 14},
		{d("mode", "secondary", "maxStalenessSeconds", 89), 160},
		{d("mode", "secondary", "maxStalenessSeconds", -1), 2},
		{d("mode", "secondary", "maxStalenessSeconds", "90"), 14},
		{d("mode", "secondary", "maxStalenessSeconds", 90.5), 2},
		{d("mode", "secondary", "maxStalenessSeconds", 1e18), 2},
		{d("mode", "primary", "maxStalenessSeconds", 90), 2},
	} {
		for _, command := range []bson.D{d("find", "c"), d("insert", "c", "documents", bson.A{d("k", 1)})} {
			code, _ := x.Run("app", append(command, d("$readPreference", tt.preference)...)).Lookup("code").AsInt64OK()
			if int(code) != tt.code {
				t.Errorf("%s with %v: %d, want %d", command[0].Key, tt.preference, code, tt.code)
			}
		}
	}
}

// Whatever is written and moved, secondaries that are all behind by the same time show
// the collection exactly as it was then, and primaries as it is.
func TestSecondariesShowOneMoment(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(t)
		const lag = 700 * time.Millisecond // of which a thousandth is less than a command takes
		for _, shard := range []string{"a", "b", "c"} {
			p.one.OK("admin", d("mockSlow", shard, "secondary", lag.String()))
		}
		type moment struct {
			at    time.Time
			shown string
		}
		now := func() time.Time {
			p.one.Cluster.Lock()
			defer p.one.Cluster.Unlock()
			return p.one.Cluster.Now()
		}
		past := []moment{{now(), seenBy(p.one, "primary", d())}}
		for n := range int32(rapid.IntRange(1, 25).Draw(rt, "steps")) {
			x := []*tester{p.one, p.two}[rapid.IntRange(0, 1).Draw(rt, "router")]
			k := rapid.Int32Range(0, 299).Draw(rt, "k")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1:
				x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 100+n, "k", k)}, "writeConcern", d("w", 1)))
			case 2:
				x.OK("app", d("delete", "c", "deletes", bson.A{d("q", d("k", d("$lt", k)), "limit", 0)}, "writeConcern", d("w", 1)))
			case 3:
				x.Run("admin", d("moveChunk", "app.c", "find", d("k", k), "to", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "to")))
			case 4:
				advance(p.one, fmt.Sprint(rapid.IntRange(1, 900).Draw(rt, "ms"), "ms"))
			}
			past = append(past, moment{now(), seenBy(p.one, "primary", d())})
			got := seenBy(x, "secondary", d())
			// What was seen at one moment was so a moment before, when it was written.
			then := now().Add(-lag)
			shown := func(at time.Time) string {
				text := past[0].shown
				for _, m := range past {
					if !m.at.After(at) {
						text = m.shown
					}
				}
				return text
			}
			if got != shown(then) && got != shown(then.Add(2*time.Millisecond)) {
				rt.Fatalf("step %d: %v ago it was %s, not %s", n, lag, shown(then), got)
			}
		}
	})
}

// A topology may begin with a secondary that is behind, and mockStatus tells of it. No
// router has one, and what is not a time is refused.
func TestSecondariesOfATopology(t *testing.T) {
	x := routertest.NewFromTopology(t, strings.Replace(lying, `{"id": "b"}`, `{"id": "b", "secondary": "1m"}`, 1))
	if ms := x.OK("admin", d("mockStatus", 1)).Lookup("slow", "b", "secondaryMillis").AsInt64(); ms != 60_000 {
		t.Errorf("it is behind by %d ms", ms)
	}
	x.OK("app", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 150), d("_id", 2, "k", 50)}, "writeConcern", d("w", 1)))
	if got := seenBy(x, "secondary", d()); got != "2" {
		t.Errorf("at once %q", got)
	}
	advance(x, "1m")
	if got := seenBy(x, "secondary", d()); got != "12" {
		t.Errorf("after a minute %q", got)
	}
	if code := x.Code("admin", d("mockSlow", "router", "secondary", "1s")); code != 2 {
		t.Errorf("a router: %d", code)
	}
	for _, lag := range []string{"soon", "-1s"} {
		topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a", "secondary": "` + lag + `"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mock.New(mock.Config{Topology: topology}); err == nil || !strings.Contains(err.Error(), "shards[0].secondary") {
			t.Errorf("%s: %v", lag, err)
		}
	}
}

// The member of a shard tells of its set of two, and how far a majority has come; with no
// secondary there is one member, which is a majority.
func TestAMemberTellsOfItsSecondary(t *testing.T) {
	x := routertest.NewFromTopology(t, lying)
	member := &tester{T: t, Router: router.Member{Shard: "b", Set: "b", Address: "127.0.0.1:27001"}.NewNode(x.Router), Cluster: x.Cluster}
	check := func(members int, lag time.Duration) {
		t.Helper()
		status, config := member.OK("admin", d("replSetGetStatus", 1)), member.OK("admin", d("replSetGetConfig", 1))
		listed := func(v bson.RawValue) []bson.RawValue {
			values, _ := v.Array().Values()
			return values
		}
		hello := member.OK("admin", d("hello", 1))
		repl := member.OK("admin", d("serverStatus", 1)).Lookup("repl").Document()
		for what, n := range map[string]int{
			"rs.status()": len(listed(status.Lookup("members"))), "rs.conf()": len(listed(config.Lookup("config", "members"))),
			"hello": len(listed(hello.Lookup("hosts"))), "votes": int(status.Lookup("votingMembersCount").AsInt64()),
			"majority": int(status.Lookup("majorityVoteCount").AsInt64()), "serverStatus": len(listed(repl.Lookup("hosts"))),
		} {
			if n != members {
				t.Errorf("%s: %d members", what, n)
			}
		}
		newest := status.Lookup("members", "0", "optimeDate").Time()
		for what, at := range map[string]time.Time{
			"rs.status()": status.Lookup("members", fmt.Sprint(members-1), "optimeDate").Time(),
			"committed":   status.Lookup("optimes", "lastCommittedWallTime").Time(),
			"hello":       hello.Lookup("lastWrite", "majorityWriteDate").Time(),
			"repl":        repl.Lookup("lastWrite", "majorityWriteDate").Time(),
		} {
			if newest.Sub(at) != lag {
				t.Errorf("%s is behind by %v", what, newest.Sub(at))
			}
		}
		if at := hello.Lookup("lastWrite", "lastWriteDate").Time(); !at.Equal(newest) {
			t.Errorf("the newest write was at %v, and at %v", at, newest)
		}
	}
	check(1, 0)
	x.OK("admin", d("mockSlow", "b", "secondary", "90s"))
	check(2, 90*time.Second)
	x.OK("admin", d("mockSlow", "b", "lag", "14s"))
	check(2, 14*time.Second)
	x.OK("admin", d("mockSlow", "b"))
	check(1, 0)
}
