package runner

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// A range whose time has come, and that a round has not chosen since, is not waited
// for: the move whose answer got lost was carried out.
func TestLedgerNext(t *testing.T) {
	var l skippedRanges
	doc, err := bson.Marshal(bson.D{{Key: "k", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(doc)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	delay, again := l.scheduleRetry("shop.orders", pattern.GlobalMin(), now, "the connection broke")
	if !again || delay <= 0 {
		t.Fatalf("tried again: %t, after %v", again, delay)
	}
	for _, tc := range []struct {
		since time.Duration
		waits bool
	}{{0, true}, {delay - 1, true}, {delay, false}, {delay + time.Hour, false}} {
		at, waits := l.nextRetry(now.Add(tc.since))
		if waits != tc.waits || waits && !at.Equal(now.Add(delay)) {
			t.Errorf("%v after it failed: waits %t until %v", tc.since, waits, at)
		}
	}
}

// A long run with a cool-down forgets what it has moved once that may move again, but not failures. Asking for a
// range does not record it.
func TestSkippedRangesAreForgotten(t *testing.T) {
	var s skippedRanges
	doc, err := bson.Marshal(bson.D{{Key: "k", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(doc)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if s.forced("shop.orders", pattern.GlobalMin()) != nil || len(s.ranges) != 0 {
		t.Errorf("asking records %+v", s.ranges)
	}
	s.skipUntil("shop.orders", pattern.GlobalMin(), now.Add(time.Hour), "it was moved recently")
	s.scheduleRetry("shop.carts", pattern.GlobalMin(), now, "the connection broke")
	if list := s.skippedAt("shop.orders", now); len(list) != 1 || len(s.ranges) != 2 {
		t.Errorf("%+v are skipped of %d", list, len(s.ranges))
	}
	if list := s.skippedAt("shop.orders", now.Add(time.Hour)); len(list) != 0 || len(s.ranges) != 1 {
		t.Errorf("%+v are skipped of %d", list, len(s.ranges))
	}
}
