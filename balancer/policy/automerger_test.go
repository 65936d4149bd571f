package policy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// merging is an auto-merger at the beginning of a round, with work by shard
// s0, s1, ...
func merging(work ...[]string) *AutoMerger {
	var m AutoMerger
	m.Enable(scheduled)
	var list []MergeWork
	for i, namespaces := range work {
		list = append(list, MergeWork{Shard: catalog.ShardID(fmt.Sprint("s", i)), Namespaces: namespaces})
	}
	m.GiveWork(list)
	return &m
}

func request(t *testing.T, m *AutoMerger, shard catalog.ShardID, ns string, throttled bool) Action {
	t.Helper()
	a, ok, _ := m.Next()
	if !ok || a.Kind != MergeAll || a.Shard != shard || a.Namespace != ns || a.Throttled != throttled {
		t.Fatalf("got %v %+v, want %s on %s, throttled %t", ok, a, ns, shard, throttled)
	}
	return a
}

func noRequest(t *testing.T, m *AutoMerger, events ...MergerEvent) {
	t.Helper()
	a, ok, got := m.Next()
	if ok || !slices.Equal(got, events) {
		t.Fatalf("got %v %+v %v, want no action and %v", ok, a, got, events)
	}
}

func TestAM02HandOutReschedulingEnd(t *testing.T) {
	m := merging([]string{"c"}, []string{"c"})
	m.Done(request(t, m, "s0", "c", true), ActionResult{Merged: 10})
	m.Done(request(t, m, "s1", "c", true), ActionResult{Merged: 10})
	m.Done(request(t, m, "s0", "c", true), ActionResult{})
	m.Done(request(t, m, "s1", "c", true), ActionResult{})
	noRequest(t, m, MergerEnds)
	noRequest(t, m)
}

func TestAM03ThrottleBetweenNamespaces(t *testing.T) {
	m := merging([]string{"a", "b"}, []string{"a"})
	request(t, m, "s0", "b", true)
	request(t, m, "s0", "a", false)
	request(t, m, "s1", "a", true)
}

func TestAM04AtMostTenOutstanding(t *testing.T) {
	m := merging(make([]string, 20))
	var last Action
	for i := range 10 {
		last = request(t, m, "s0", "", i == 0)
	}
	noRequest(t, m)
	want(t, "wake-up", m.Done(last, ActionResult{}), true)
	request(t, m, "s0", "", false)
	noRequest(t, m)
}

func TestAM05ReplyClasses(t *testing.T) {
	for _, c := range []struct {
		reply       ActionResult
		rescheduled bool
	}{
		{ActionResult{Err: serverError(mongoerr.ConflictingOperationInProgress, "busy")}, true},
		{ActionResult{Err: serverError(mongoerr.KeyPatternShorterThanBound, "zones")}, false},
		{ActionResult{Err: serverError(16634, "zones")}, false},
		{ActionResult{Err: serverError(mongoerr.HostUnreachable, "gone")}, false},
		{ActionResult{}, false},
		{ActionResult{Merged: 7}, true},
	} {
		m := merging([]string{"c"})
		m.Done(request(t, m, "s0", "c", true), c.reply)
		_, again, _ := m.Next()
		want(t, fmt.Sprintf("asked again after %+v", c.reply), again, c.rescheduled)
	}
}

func TestAM06Interval(t *testing.T) {
	for _, c := range []struct {
		after       time.Duration
		outstanding int
		begins      bool
	}{{3600_900 * time.Millisecond, 0, false}, {3601 * time.Second, 0, true}, {9000 * time.Second, 1, false}} {
		m := merging()
		m.outstanding = c.outstanding
		events := m.CheckRound(scheduled.Add(c.after), time.Hour)
		want(t, fmt.Sprintf("%+v", c), slices.Equal(events, []MergerEvent{MergerStarts}), c.begins)
	}
}

func TestAM07Switching(t *testing.T) {
	var m AutoMerger
	for _, c := range []struct {
		what   string
		events []MergerEvent
		logged []MergerEvent
	}{
		{"allowed for the first time", m.Enable(scheduled), []MergerEvent{MergerEnabled, MergerStarts}},
		{"again", m.Enable(scheduled), nil},
		{"stopped", m.Disable(), []MergerEvent{MergerDisabled}},
		{"stopped again", m.Disable(), nil},
		{"started", m.Enable(scheduled), []MergerEvent{MergerEnabled, MergerStarts}},
	} {
		if !slices.Equal(c.events, c.logged) {
			t.Errorf("%s: logged %v, want %v", c.what, c.events, c.logged)
		}
	}
}

// The server's counter is reset by a new round and then counted down by the
// replies of the old one; ours is not.
func TestRepliesOfAnOlderRoundDoNotBlock(t *testing.T) {
	m := merging([]string{"c"})
	old := request(t, m, "s0", "c", true)
	m.Disable()
	m.Enable(scheduled)
	m.Done(old, ActionResult{Merged: 3})
	want(t, "outstanding", m.outstanding, 0)
	noRequest(t, m, MergerEnds)
}
