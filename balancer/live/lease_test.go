package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

const minute = time.Minute

func leaseOptions(doing string) live.LeaseOptions {
	return live.LeaseOptions{Name: "balance", Duration: minute, Holder: live.Holder{Host: "ops1", PID: 42, Doing: doing}}
}

// A lease is one holder's until it is given back or runs out, in cluster time.
func TestLease(t *testing.T) {
	c := served(t, catalog.Release80, variety, asItIs)
	leases := live.LeaseCollectionOf(c.client)
	take := func(doing string) (*live.Lease, error) {
		return live.AcquireLease(t.Context(), leases, leaseOptions(doing))
	}
	advance := func(d time.Duration) {
		t.Helper()
		command := bson.D{{Key: "mockAdvance", Value: d.Milliseconds()}}
		if err := c.client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
			t.Fatal(err)
		}
	}
	first, err := take("balance shop.orders")
	if err != nil {
		t.Fatal(err)
	}
	var held *live.HeldError
	if _, err := take("drain s1"); !errors.As(err, &held) || held.Holder.Doing != "balance shop.orders" ||
		held.Holder.Expires.Sub(held.Holder.Since) != minute || !strings.Contains(err.Error(), "process 42 on ops1, since 20") {
		t.Errorf("while it is held: %v", err)
	}
	taken := first.Holder()
	advance(minute * 2 / 3)
	if err := first.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if is := first.Holder(); is.Doing != "balance shop.orders" || !is.Since.Equal(taken.Since) || taken.Since.IsZero() ||
		is.Expires.Sub(taken.Expires) < minute*2/3 {
		t.Errorf("renewed it is held by %v until %v, before %v until %v", is, is.Expires, taken, taken.Expires)
	}
	advance(minute * 2 / 3)
	if _, err := take("drain s1"); !errors.As(err, &held) {
		t.Errorf("after it was renewed: %v", err)
	}
	advance(minute)
	if err := first.Renew(t.Context()); err != nil {
		t.Errorf("renewed after it ran out, and nobody took it: %v", err)
	}
	if _, err := take("drain s1"); !errors.As(err, &held) {
		t.Errorf("after it was renewed late: %v", err)
	}
	advance(minute)
	second, err := take("drain s1")
	if err != nil || second.Fence() != first.Fence()+1 {
		t.Fatalf("after it ran out: %+v, %v", second, err)
	}
	if err := errors.Join(first.Release(t.Context()), second.Renew(t.Context())); err != nil {
		t.Errorf("the first one gave away what is the second one's: %v", err)
	}
	if err := first.Renew(t.Context()); !errors.Is(err, live.ErrLeaseLost) {
		t.Errorf("the first one renewed what is the second one's: %v", err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if n, err := leases.CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
		t.Errorf("%d leases stay, %v", n, err)
	}
	if _, err := take("balance shop.orders"); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}

// Of many who want it at once, one gets it.
func TestLeaseForOne(t *testing.T) {
	c := served(t, catalog.Release44, variety, asItIs)
	leases := live.LeaseCollectionOf(c.client)
	for round := range 10 {
		var got atomic.Pointer[live.Lease]
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				l, err := live.AcquireLease(context.Background(), leases, leaseOptions(fmt.Sprint(i)))
				if held := new(live.HeldError); err != nil && !errors.As(err, &held) {
					t.Error(err)
				}
				if l != nil && got.Swap(l) != nil {
					t.Error("two have it")
				}
			})
		}
		all.Wait()
		if l := got.Load(); l == nil {
			t.Fatalf("round %d: nobody has it", round)
		} else if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A lease that lies on a shard whose secondary is behind is taken when that has it. Who
// has it waits for nobody from then on, nor to give it back.
func TestLeaseOnALaggingShard(t *testing.T) {
	c := served(t, catalog.Release80, variety, asItIs)
	c.cluster.Lock()
	shards := c.cluster.ShardIDs()
	c.cluster.Unlock()
	for _, shard := range shards {
		c.ok(t, "admin", e("mockSlow", string(shard)), e("secondary", "10s"))
	}
	var lease *live.Lease
	for _, tt := range []struct {
		what  string
		do    func() error
		least time.Duration
	}{
		{"taking it", func() (err error) {
			lease, err = live.AcquireLease(t.Context(), live.LeaseCollectionOf(c.client), leaseOptions("balance"))
			return err
		}, 10 * time.Second},
		{"renewing it", func() error { return lease.Renew(t.Context()) }, 0},
		{"noting what is switched off, which has to stay", func() error { return lease.RecordPaused(t.Context(), []string{"a.b"}, nil) }, 10 * time.Second},
		{"leaving the note", func() error { return lease.Release(t.Context()) }, 0},
		{"taking it again", func() (err error) {
			lease, err = live.AcquireLease(t.Context(), live.LeaseCollectionOf(c.client), leaseOptions("balance"))
			return err
		}, 10 * time.Second},
		{"noting that all is on", func() error { return lease.RemovePaused(t.Context(), []string{"a.b"}) }, 10 * time.Second},
		{"giving it back", func() error { return lease.Release(t.Context()) }, 0},
	} {
		began := c.cluster.Clock().Peek()
		err := tt.do()
		if took := c.cluster.Clock().Peek().Sub(began); err != nil || took < tt.least || took > tt.least+time.Second {
			t.Errorf("%s took %v, %v", tt.what, took, err)
		}
	}
	if n, err := live.LeaseCollectionOf(c.client).CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
		t.Errorf("%d leases stay, %v", n, err)
	}
}
