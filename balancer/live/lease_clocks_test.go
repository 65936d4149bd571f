package live_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// twoRouters is a cluster with clients of two routers; the second one's clock is ahead.
func twoRouters(t *testing.T, ahead string) (one, two *mongo.Client) {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(variety))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: topology, Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	first := router.New(cluster, nil)
	second, err := first.NewSibling("mock2:27017")
	if err != nil {
		t.Fatal(err)
	}
	one, two = mocktest.Connect(t, first), mocktest.Connect(t, second)
	command := bson.D{{Key: "mockSlow", Value: "router2"}, {Key: "ahead", Value: ahead}}
	if err := one.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
		t.Fatal(err)
	}
	return one, two
}

// A router whose clock is ahead takes no lease that is alive, and one whose clock is behind
// waits for none that has expired.
func TestLeaseByRoutersWithOtherClocks(t *testing.T) {
	one, two := twoRouters(t, "2m")
	lease, err := live.AcquireLease(t.Context(), live.LeaseCollectionOf(one), leaseOptions("balance"))
	if err != nil {
		t.Fatal(err)
	}
	o := leaseOptions("drain")
	var held *live.HeldError
	if _, err := live.AcquireLease(t.Context(), live.LeaseCollectionOf(two), o); !errors.As(err, &held) {
		t.Fatalf("a live lease is taken from the future: %v", err)
	}
	if err := lease.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := live.AcquireLease(t.Context(), live.LeaseCollectionOf(two), o); err != nil {
		t.Fatal(err)
	}
	if err := one.Database("admin").RunCommand(t.Context(), bson.D{{Key: "mockAdvance", Value: "61s"}}).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := live.AcquireLease(t.Context(), live.LeaseCollectionOf(one), leaseOptions("balance")); err != nil {
		t.Errorf("an expired lease of the future: %v", err)
	}
}

// Whoever watches takes a lease that nobody renews, whatever the clocks say, after as long
// as it lasts, and no lease that is renewed.
func TestWatchedLease(t *testing.T) {
	one, _ := twoRouters(t, "1s")
	leases := live.LeaseCollectionOf(one)
	o := leaseOptions("balance")
	o.Duration = time.Second
	lease, err := live.AcquireLease(t.Context(), leases, o)
	if err != nil {
		t.Fatal(err)
	}
	held, leave := lease.KeepAlive(t.Context())
	watching, told := o, 0
	watching.OnWatch = func(*live.HeldError) { told++ }
	if _, err := live.AcquireLease(t.Context(), leases, watching); !errors.As(err, new(*live.HeldError)) || told != 1 {
		t.Errorf("a lease that is renewed: %v, told %d times", err, told)
	}
	if held.Err() != nil {
		t.Error("it was lost")
	}
	if err := leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead, err := live.AcquireLease(t.Context(), leases, o)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	next, err := live.AcquireLease(t.Context(), leases, watching)
	if took := time.Since(began); err != nil || took < o.Duration {
		t.Fatalf("after %v: %v", took, err)
	}
	if err := dead.Renew(t.Context()); !errors.Is(err, live.ErrLeaseLost) {
		t.Errorf("the dead one renews: %v", err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
