package router_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// actingExcuses are the differences that there are to be while verbs act, with the reasons.
var actingExcuses = []struct {
	what *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`: connPoolStats 1: lacks (acquisitionWaitTimes|pools|hosts)\.`),
		"the mock's routers hold no connections to other nodes"},
	{regexp.MustCompile(`changelog: lacks .*\[(addShard|setClusterParameter\.start|setClusterParameter\.end)\]$`),
		"the shards are there from the start, nobody has added them"},
	{regexp.MustCompile(`: buildInfo 1: lacks buildEnvironment\.`), "the mock was not built as a server"},
}

// excusedActing is the place of the reason for a difference; -1 where there is none.
func excusedActing(what string) int {
	for i, e := range actingExcuses {
		if e.what.MatchString(what) {
			return i
		}
	}
	return -1
}

// aboutTimeSeries reports whether a command asks for the recorded cluster's time series, which the mock can't have.
func aboutTimeSeries(sent bson.D) bool {
	return strings.Contains(fmt.Sprint(sent), "shop.system.buckets.ts")
}

// stateBeforeActing is the cluster that the verbs found.
func stateBeforeActing(t *testing.T) *tester {
	t.Helper()
	began := time.Date(2026, 11, 23, 20, 34, 0, 0, time.UTC)
	x := liveState(t, began, 10, []int{500, 520, 540, 560, 580, 600, 620, 640})
	x.OK("config", d("update", "settings", "updates", bson.A{
		d("q", d("_id", "automerge"), "u", d("$set", d("enabled", false)), "upsert", true)}))
	third := int64(3074457345618258602) // the first chunks of a hashed collection are where they were recorded
	for shard, bounds := range map[string]bson.A{
		"shard2": {d("h", bson.MinKey{}), d("h", -third)}, "shard0": {d("h", -third), d("h", third)},
		"shard1": {d("h", third), d("h", bson.MaxKey{})},
	} {
		x.OK("admin", d("moveRange", "shop.hashed", "min", bounds[0], "max", bounds[1], "toShard", shard))
	}
	return x
}

// withSession is a command as it would have been sent here: of sessions nothing was recorded, and cursors have
// other ids.
func withSession(sent bson.D, n int, cursor int64) bson.D {
	for i, e := range sent {
		switch e.Key {
		case "txnNumber":
			sent[i].Value = int64(n)
			return append(sent, bson.E{Key: "lsid", Value: routertest.LSID(1)})
		case "getMore":
			sent[i].Value = cursor
		}
	}
	return sent
}

// What the verbs sent while they acted on a real cluster, one after the other, does the same here: presplit of
// shop.hashed, plan, undo, balance with 32 moves, defragment, drain and removal of a shard. Each reply has the same
// fields of the same types, so that each command after it finds what it is about.
func TestRecordedVerbsActAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 40 MB")
	}
	x := stateBeforeActing(t)
	asked, cursor, excused := 0, int64(0), make([]bool, len(actingExcuses))
	for q := range recordedLines[liveQuestion](t, "20-acting-shapes.jsonl.gz") {
		if aboutTimeSeries(q.Sent) {
			continue
		}
		asked++
		sent := withSession(withUUIDs(x, q.Sent).(bson.D), asked, cursor)
		what := fmt.Sprintf("%s: %s %v: ", q.Situation, sent[0].Key, sent[0].Value)
		if sent[0].Key == "getMore" {
			what = q.Situation + ": getMore " + fmt.Sprint(sent[1].Value) + ": "
		}
		reply := x.Run(q.DB, sent)
		if id, is := reply.Lookup("cursor", "id").Int64OK(); is && id != 0 {
			cursor = id
		}
		for _, difference := range shapeOf(reply).differences(q.Shape) {
			if excuse := excusedActing(what + difference); excuse >= 0 {
				excused[excuse] = true
				continue
			}
			t.Errorf("%s%s\n\t%v\n\t%.300s", what, difference, sent, reply)
		}
	}
	if asked != 1174 {
		t.Errorf("%d commands were sent", asked)
	}
	for i, e := range actingExcuses {
		if !excused[i] {
			t.Errorf("nothing differs any more for this reason: %s", e.why)
		}
	}
}
