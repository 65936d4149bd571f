package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// late answers each command a while later, and counts them by name.
type late struct {
	wire.Handler
	by    time.Duration
	count *atomic.Int64
}

func (l late) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if l.count != nil && r.Command != "hello" && r.Command != "isMaster" {
		l.count.Add(1)
	}
	time.Sleep(l.by)
	return l.Handler.Handle(ctx, r)
}

// hanging does not answer deletes once it hangs.
type hanging struct {
	wire.Handler
	hangs func() // called when it does
}

func (h hanging) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Command == "delete" {
		h.hangs()
		<-ctx.Done()
	}
	return h.Handler.Handle(ctx, r)
}

// manyCollections is a topology with so many sharded collections.
func manyCollections(n int) (topology string, names []string) {
	var list []string
	for i := range n {
		names = append(names, fmt.Sprintf("shop.c%04d", i))
		list = append(list, fmt.Sprintf(`{"ns": %q, "key": {"k": 1}, "chunks": [{"shard": "a"}]}`, names[i]))
	}
	return `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}}, "collections": [` +
		strings.Join(list, ",") + `]}`, names
}

func (c conformance) off(t *testing.T) []string {
	t.Helper()
	var off []string
	err := c.client.Database("config").Collection("collections").
		Distinct(t.Context(), "_id", bson.D{{Key: "noBalance", Value: true}}).Decode(&off)
	if err != nil {
		t.Fatal(err)
	}
	return off
}

func (c conformance) noLease(t *testing.T) {
	t.Helper()
	if n, err := live.LeaseCollectionOf(c.client).CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
		t.Errorf("%d documents of leases stay, %v", n, err)
	}
}

func (c conformance) take(t *testing.T, doing string) *live.LeasedCluster {
	t.Helper()
	l, err := live.Acquire(t.Context(), c.client, live.NewCommandRunner(c.client), live.NewHolder(doing))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// However many collections there are, nothing stays disabled, and what is sent for each of
// them is little more than the two commands for it: one where a write can have many.
func TestGiveBackManyCollections(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	const collections = 3000
	topology, names := manyCollections(collections)
	for _, tc := range []struct {
		release catalog.Release
		most    int64
	}{{catalog.Release80, 2*collections + 200}, {catalog.Release70, 200}} {
		var count atomic.Int64
		c := served(t, tc.release, topology, func(h wire.Handler) wire.Handler {
			return late{Handler: h, by: 5 * time.Millisecond, count: &count}
		})
		lease := c.take(t, "balance")
		before := count.Load()
		if err := lease.SetBalancing(t.Context(), names, false); err != nil || len(lease.PausedCollections()) != collections {
			t.Fatalf("%d are off, %v", len(lease.PausedCollections()), err)
		}
		var doc bson.Raw
		leases := live.LeaseCollectionOf(c.client)
		if err := leases.FindOne(t.Context(), bson.D{{Key: "_id", Value: "engine"}}).Decode(&doc); err != nil || len(doc) > 1000 {
			t.Errorf("the lease has %d bytes, %v", len(doc), err)
		}
		told := 0
		lease.OnRestoreProgress = func(_, of int) {
			if told++; of != collections {
				t.Errorf("%d to give back", of)
			}
		}
		if err := lease.RestoreAndRelease(t.Context()); err != nil || told == 0 {
			t.Errorf("at the end, told %d times: %v", told, err)
		}
		if sent := count.Load() - before; sent > tc.most {
			t.Errorf("release %v: %d commands", tc.release, sent)
		}
		if off := c.off(t); len(off) > 0 {
			t.Errorf("%d collections stay disabled", len(off))
		}
		c.noLease(t)
	}
}

// refusing answers some commands with an error.
type refusing struct {
	wire.Handler
	which func(wire.Request) bool
}

func (r refusing) Handle(ctx context.Context, q wire.Request) bson.Raw {
	if !r.which(q) {
		return r.Handler.Handle(ctx, q)
	}
	reply, err := bson.Marshal(mongoerr.Reply(mongoerr.New(mongoerr.Unauthorized, "not now")))
	if err != nil {
		panic(err)
	}
	return reply
}

// If a later batch can't be disabled, the earlier one is given back with the same care: what another user
// has disabled since stays so.
func TestGiveBackAfterABatchFails(t *testing.T) {
	topology, names := manyCollections(501) // a batch, and one
	var reads atomic.Int32
	c := served(t, catalog.Release80, topology, func(h wire.Handler) wire.Handler {
		return refusing{h, func(q wire.Request) bool {
			return q.Command == "find" && q.Body.Lookup("filter", "_id", "$in").Type == bson.TypeArray && reads.Add(1) == 2
		}}
	})
	lease := c.take(t, "balance")
	if err := lease.SetBalancing(t.Context(), names, false); err == nil {
		t.Fatal("the second batch did not fail")
	}
	c.ok(t, "admin", e("configureCollectionBalancing", "shop.c0000"), e("enableBalancing", true))
	c.ok(t, "admin", e("configureCollectionBalancing", "shop.c0000"), e("enableBalancing", false))
	if err := lease.RestoreAndRelease(t.Context()); err != nil {
		t.Error(err)
	}
	if off := c.off(t); !slices.Equal(off, []string{"shop.c0000"}) {
		t.Errorf("off: %v", off)
	}
}

// A collection that is renamed while its balancing is disabled has it enabled under its new
// name, by the run itself or by the next one.
func TestGiveBackAfterRenames(t *testing.T) {
	topology, names := manyCollections(3)
	for _, next := range []bool{false, true} {
		c := served(t, catalog.Release80, topology, asItIs)
		lease := c.take(t, "balance")
		if err := lease.SetBalancing(t.Context(), names, false); err != nil {
			t.Fatal(err)
		}
		c.ok(t, "admin", e("renameCollection", names[1]), e("to", "shop.renamed"))
		c.ok(t, "shop", e("drop", "c0002"))
		if next {
			if err := lease.Suspend(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			lease = c.take(t, "giving back")
		}
		if err := lease.RestoreAndRelease(t.Context()); err != nil {
			t.Error(err)
		}
		if off := c.off(t); len(off) > 0 {
			t.Errorf("%v are off", off)
		}
		c.noLease(t)
	}
}

// A cluster that stops answering just when a record is removed of what was given back holds
// nobody up who does not want to wait.
func TestGiveBackHangsAtTheRecord(t *testing.T) {
	topology, names := manyCollections(1)
	hangs := make(chan struct{})
	hung := sync.OnceFunc(func() { close(hangs) })
	c := served(t, catalog.Release80, topology, func(h wire.Handler) wire.Handler { return hanging{h, hung} })
	lease := c.take(t, "balance")
	if err := lease.SetBalancing(t.Context(), names, false); err != nil {
		t.Fatal(err)
	}
	hard, stop := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- lease.EndRun(t.Context(), hard) }()
	<-hangs
	stop()
	select {
	case err := <-left:
		if err == nil || len(c.off(t)) > 0 {
			t.Errorf("%d are off, %v", len(c.off(t)), err)
		}
	case <-time.After(20 * time.Second): // the time limit of the record itself is twice that
		t.Error("it waits for the record")
	}
}

// A user who does not want to wait leaves the rest to the next run, which knows of all of
// it. The error is one line.
func TestGiveBackIsLeftAndGoesOn(t *testing.T) {
	topology, names := manyCollections(1200)
	c := served(t, catalog.Release80, topology, func(h wire.Handler) wire.Handler {
		return late{Handler: h, by: 20 * time.Millisecond}
	})
	lease := c.take(t, "balance")
	if err := lease.SetBalancing(t.Context(), names, false); err != nil {
		t.Fatal(err)
	}
	hard, stop := context.WithCancel(t.Context())
	lease.OnRestoreProgress = func(done, _ int) {
		if done > 0 {
			stop()
		}
	}
	err := lease.EndRun(t.Context(), hard)
	off := c.off(t)
	if err == nil || len(off) == 0 || len(off) > 700 || len(err.Error()) > 300 ||
		!strings.Contains(err.Error(), "collections (shop.c") || !strings.Contains(err.Error(), "shardsh balance --give-back") {
		t.Fatalf("%d are off, %v", len(off), err)
	}
	next := c.take(t, "giving back")
	for _, ns := range off {
		if !slices.Contains(next.PausedCollections(), ns) {
			t.Fatalf("%s is not recorded", ns)
		}
	}
	if err := next.RestoreAndRelease(t.Context()); err != nil || len(c.off(t)) > 0 {
		t.Errorf("%d are off, %v", len(c.off(t)), err)
	}
	c.noLease(t)
}

// What is not ours stays as somebody else wants it.
func TestGiveBackLeavesWhatOthersDid(t *testing.T) {
	write := func(off bool) func(*testing.T, conformance) {
		return func(t *testing.T, c conformance) {
			_, err := c.client.Database("config").Collection("collections").UpdateOne(t.Context(),
				bson.D{{Key: "_id", Value: "shop.c0000"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "noBalance", Value: off}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	configure := func(options ...bson.E) func(*testing.T, conformance) {
		return func(t *testing.T, c conformance) {
			c.ok(t, "admin", append([]bson.E{e("configureCollectionBalancing", "shop.c0000")}, options...)...)
		}
	}
	nothing := func(*testing.T, conformance) {}
	for _, tc := range []struct {
		name          string
		before, while func(*testing.T, conformance)
		off           bool
		kept          int
	}{
		{"nobody did anything", nothing, nothing, false, 0},
		{"it was off before", write(true), nothing, true, 0},
		{"disabled by command, as it was", nothing, configure(e("enableBalancing", false)), true, 1},
		{"enabled, and disabled by command", nothing, func(t *testing.T, c conformance) {
			configure(e("enableBalancing", true))(t, c)
			configure(e("enableBalancing", false))(t, c)
		}, true, 1},
		{"enabled by hand", nothing, write(false), false, 0},
		{"another chunk size", nothing, configure(e("chunkSize", 64)), false, 0},
		{"commands of before the run", configure(e("enableBalancing", true)), nothing, false, 0},
		{"kept by sh.disableBalancing", nothing, func(t *testing.T, c conformance) {
			kept, err := live.KeepBalancingDisabled(t.Context(), live.NewCommandRunner(c.client), "shop.c0000")
			if !kept || err != nil {
				t.Errorf("%t, %v", kept, err)
			}
		}, true, 1},
		{"dropped", nothing, func(t *testing.T, c conformance) { c.ok(t, "shop", e("drop", "c0000")) }, false, 0},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %t", tc.name, killed), func(t *testing.T) {
				topology, names := manyCollections(2)
				c := served(t, catalog.Release80, topology, asItIs)
				tc.before(t, c)
				lease := c.take(t, "balance")
				if err := lease.SetBalancing(t.Context(), names, false); err != nil {
					t.Fatal(err)
				}
				tc.while(t, c)
				if killed {
					c.ok(t, "admin", e("mockAdvance", "2m"))
					lease = c.take(t, "giving back")
				}
				if err := lease.RestoreAndRelease(t.Context()); err != nil {
					t.Error(err)
				}
				if off := c.off(t); slices.Contains(off, "shop.c0000") != tc.off || slices.Contains(off, "shop.c0001") {
					t.Errorf("off: %v", off)
				}
				known := tc.kept > 0 && !(killed && strings.HasPrefix(tc.name, "kept by")) // the next run has no record
				if (len(lease.DisabledByOthers()) > 0) != known {
					t.Errorf("kept: %v", lease.DisabledByOthers())
				}
				c.noLease(t)
			})
		}
	}
}

// Giving back waits for a cluster that does not answer for a while.
func TestGiveBackThroughFailures(t *testing.T) {
	topology, names := manyCollections(20)
	c := served(t, catalog.Release80, topology, asItIs)
	lease := c.take(t, "balance")
	if err := lease.SetBalancing(t.Context(), names, false); err != nil {
		t.Fatal(err)
	}
	c.ok(t, "admin", e("mockFailNext", "configureCollectionBalancing"), e("times", 30), e("code", 46))
	if err := lease.RestoreAndRelease(t.Context()); err != nil || len(c.off(t)) > 0 {
		t.Errorf("%d are off, %v", len(c.off(t)), err)
	}
	c.noLease(t)
}

// What can't be switched is named in one line, and stays recorded.
func TestGiveBackRefused(t *testing.T) {
	topology, names := manyCollections(50)
	c := served(t, catalog.Release80, topology, asItIs)
	lease := c.take(t, "balance")
	if err := lease.SetBalancing(t.Context(), names, false); err != nil {
		t.Fatal(err)
	}
	c.ok(t, "admin", e("mockFailNext", "configureCollectionBalancing"), e("times", 50), e("code", 13))
	err := lease.RestoreAndRelease(t.Context())
	if failed := new(live.BalancingError); !errors.As(err, &failed) || len(failed.Namespaces) != 50 || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
	left, err := live.ReadPausedCollections(t.Context(), c.client)
	if err != nil || len(left) != 50 {
		t.Errorf("%d are recorded, %v", len(left), err)
	}
}
