package live_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
)

// Whose turn it is switches collections off; when it is killed, the next one knows
// of it and switches them on again.
func TestTurnAfterAKill(t *testing.T) {
	c := served(t, catalog.Release80, variety, asItIs)
	take := func(doing string) (*live.LeasedCluster, error) {
		return live.Acquire(t.Context(), c.client, live.NewCommandRunner(c.client), live.Holder{Host: "ops1", PID: 42, Doing: doing})
	}
	off := func() bool {
		t.Helper()
		var doc struct{ NoBalance bool }
		err := c.client.Database("config").Collection("collections").
			FindOne(t.Context(), bson.D{{Key: "_id", Value: "shop.orders"}}).Decode(&doc)
		if err != nil {
			t.Fatal(err)
		}
		return doc.NoBalance
	}
	killed, err := take("balance shop.orders")
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.SetBalancing(t.Context(), []string{"shop.orders"}, false); err != nil || !off() {
		t.Fatalf("switched off: %t, %v", off(), err)
	}
	if _, err := take("drain s1"); !errors.As(err, new(*live.HeldError)) {
		t.Errorf("while it is held: %v", err)
	}
	// Killed: nothing is given back, and the lease runs out.
	command := bson.D{{Key: "mockAdvance", Value: (2 * time.Minute).Milliseconds()}}
	if err := c.client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
		t.Fatal(err)
	}
	killed.StandStill(2 * time.Minute)
	second, err := take("drain s1")
	if err != nil {
		t.Fatal(err)
	}
	if left := second.PausedCollections(); len(left) != 1 || left[0] != "shop.orders" {
		t.Errorf("left over: %v", left)
	}
	for name, do := range map[string]func() error{
		"Do":           func() error { return killed.Do(t.Context(), apply.Command{Kind: plan.Split}) },
		"Move":         func() error { return killed.Move(t.Context(), policy.Migration{}) },
		"Act":          func() error { return killed.Act(t.Context(), policy.StreamAction{}).Err },
		"SetBalancing": func() error { return killed.SetBalancing(t.Context(), []string{"shop.orders"}, true) },
	} {
		if err := do(); !errors.Is(err, live.ErrLeaseLost) {
			t.Errorf("%s of one that stood still: %v", name, err)
		}
	}
	if err := second.RestoreAndRelease(context.Background()); err != nil || off() {
		t.Errorf("at the end: off %t, %v", off(), err)
	}
	if n, err := live.LeaseCollectionOf(c.client).CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
		t.Errorf("%d leases stay, %v", n, err)
	}
}
