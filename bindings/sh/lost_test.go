package sh_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// shaky is a router whose connections break at a command of choice.
type shaky struct {
	wire.Handler
	*wire.Pipe

	mu    sync.Mutex
	at    string // command at which they break
	moves string // before, after or during it
	dead  int    // how many dials are refused then
	open  []net.Conn
}

// Accept notes the connections.
func (s *shaky) Accept() (net.Conn, error) {
	conn, err := s.Pipe.Accept()
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open = append(s.open, conn)
	}
	return conn, err
}

// DialContext is that of a router that may be away.
func (s *shaky) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	away := s.dead > 0
	s.dead -= min(1, s.dead)
	s.mu.Unlock()
	if away {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return s.Pipe.DialContext(ctx, network, address)
}

func (s *shaky) Handle(ctx context.Context, r wire.Request) bson.Raw {
	s.mu.Lock()
	breaks, when := r.Command == s.at, s.moves
	if breaks {
		s.at = ""
	}
	s.mu.Unlock()
	if !breaks {
		return s.Handler.Handle(ctx, r)
	}
	switch when {
	case "before":
		s.cut()
		return shelltest.MustMarshal(ok())
	case "during":
		s.cut()
		return s.Handler.Handle(context.WithoutCancel(ctx), r)
	}
	defer s.cut()
	return s.Handler.Handle(ctx, r)
}

func (s *shaky) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		_ = c.Close()
	}
	s.open = nil
}

// breakAt has the connections break at the next command of a name.
func (s *shaky) breakAt(command, when string, dead int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.moves, s.dead = command, when, dead
}

// patient is how long the driver waits for a router that comes back at once.
const patient = 20 * time.Second

// onShaky is a shell on a mock behind such a router, with a collection of two
// chunks on shard0.
func onShaky(t *testing.T, cfg mock.Config, patience time.Duration) (*connected, *shaky) {
	t.Helper()
	cluster, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s := &shaky{Handler: router.New(cluster, nil), Pipe: wire.NewPipe()}
	server := &wire.Server{Handler: s}
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background(), s) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	c, client := s.shell(t, cluster, patient)
	shelltest.Run(t, c,
		step{"sh.enableSharding('shop', 'shard0').ok && sh.shardCollection('shop.orders', {k: 1}).ok", "1"},
		step{"sh.splitAt('shop.orders', {k: 50}).ok && sh.stopBalancer().ok", "1"},
		step{"mock.fill('shop.orders', {bytes: '20MB'}).ok", "1"},
	)
	_ = client.Disconnect(context.Background())
	c, client = s.shell(t, cluster, patience)
	for tries := 0; client.Ping(context.Background(), nil) != nil; tries++ {
		if tries == 100 {
			t.Fatal("there is no connection")
		}
	}
	return c, s
}

// shell returns one whose driver waits so long for the router.
func (s *shaky) shell(t *testing.T, cluster *mock.Cluster, patience time.Duration) (*connected, *mongo.Client) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://mock:27017/?directConnection=true").SetDialer(s).
		SetServerMonitoringMode("poll").SetServerSelectionTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	c := &connected{Out: &bytes.Buffer{}, Errs: &bytes.Buffer{}}
	c.Shell, err = bindings.New(bindings.Config{
		Client: client, Address: "mongodb://mock:27017/", Deployment: "mock: mongos", Clock: cluster.Clock(),
		Stdout: c.Out, Stderr: c.Errs, Version: "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

// What became of a move whose connection broke is asked before anything is said.
func TestMovesWhoseConnectionBreaks(t *testing.T) {
	const byRange, byChunk, below = "sh.moveRange('shop.orders', 'shard1', {k: 50})",
		"sh.moveChunk('shop.orders', {k: 77}, 'shard1')", "sh.moveRange('shop.orders', 'shard1', null, {k: 50})"
	var all sync.WaitGroup
	for _, tc := range []struct {
		release catalog.Release
		call    string
		when    string
		fails   bool // on the recipient
		want    string
	}{
		{catalog.Release80, byRange, "before", false, "did not start, the range is on shard0: run it again"},
		{catalog.Release80, byRange, "after", false, "the move of shop.orders to shard1 succeeded.\n{ ok: 1 }"},
		{catalog.Release80, byRange, "after", true, "and the move of shop.orders to shard1 failed: "},
		{catalog.Release80, below, "before", false, "did not start, the range is on shard0: run it again"},
		{catalog.Release80, below, "after", false, "the move of shop.orders to shard1 succeeded.\n{ ok: 1 }"},
		{catalog.Release80, byChunk, "before", false, "did not start, the range is on shard0: run it again"},
		{catalog.Release80, byChunk, "after", false, "the move of shop.orders to shard1 succeeded.\n{ ok: 1 }"},
		{catalog.Release44, byChunk, "before", false, "did not start, the range is on shard0: run it again"},
		{catalog.Release44, byChunk, "after", false, "the move of shop.orders to shard1 succeeded.\n{ ok: 1 }"},
		{catalog.Release44, byChunk, "after", true, "and the move of shop.orders to shard1 failed: "},
	} {
		all.Go(func() { // most of it is waiting
			t.Run(fmt.Sprint(tc.release, tc.call, tc.when, tc.fails), func(t *testing.T) {
				c, s := onShaky(t, mock.Config{Seed: 7, Release: tc.release}, patient)
				refuse := "mock.failNext('_configsvrCommitChunkMigration', {code: 96}).ok"
				if tc.fails {
					shelltest.Run(t, c, step{refuse, "1"})
				} else { // an older failure is not that of this move
					_, _ = c.Show(refuse + "; " + tc.call)
					shelltest.Run(t, c, step{"sleep(60000)", ""})
				}
				command, _, _ := strings.Cut(strings.TrimPrefix(tc.call, "sh."), "(")
				s.breakAt(command, tc.when, 0)
				got, _ := c.Show(tc.call)
				if !strings.Contains(got, tc.want) || strings.Count(got, "\n") > 1 {
					t.Errorf("it shows %s", got)
				}
				if got, failed := c.Show(tc.call); failed { // running it again is right whatever came of it
					t.Errorf("again: %s", got)
				}
				shelltest.Run(t, c, step{"sh.chunks('shop.orders').toArray().filter(c => c.shard == 'shard1').length", "1"})
			})
		})
	}
	all.Wait()
}

// A router that stays away for a while is waited for, with a line.
func TestAMoveWaitsForItsRouter(t *testing.T) {
	t.Parallel() // most of it is waiting
	c, s := onShaky(t, mock.Config{Seed: 7}, 100*time.Millisecond)
	s.breakAt("moveRange", "after", 3)
	got, _ := c.Show("sh.moveRange('shop.orders', 'shard1', {k: 50})")
	line, result, _ := strings.Cut(got, "\n")
	if !strings.HasPrefix(line, "The router does not answer (") || !strings.HasSuffix(line,
		"Meanwhile the move of shop.orders to shard1 may be running or done; see show migrations; running it again is safe.") ||
		result != "{ ok: 1 }" {
		t.Error(got)
	}
}

// One that goes on is waited for until its end.
func TestAMoveThatGoesOnWithoutItsRouter(t *testing.T) {
	t.Parallel() // most of it is waiting
	c, s := onShaky(t, mock.Config{Seed: 7, RealTime: true}, patient)
	shelltest.Run(t, c, step{"mock.slow('shard1', {bandwidth: '6MB'}).ok", "1"})
	s.breakAt("moveRange", "during", 0)
	got, _ := c.Show("sh.moveRange('shop.orders', 'shard1', {k: 50})")
	if !strings.Contains(got, "; the move of shop.orders to shard1 continues, waiting for it.\n{ ok: 1 }") {
		t.Error(got)
	}
}

// The waits of other helpers go on when the router is back, and say what went on
// meanwhile: what they ask for at the end is not asked for twice.
func TestWaitsWhoseRouterGoes(t *testing.T) {
	var all sync.WaitGroup
	for _, tc := range []struct {
		before, call, at, when string
		want                   string
	}{
		{"sh.startBalancer()", "sh.waitForBalance('shop.orders').balanced", "balancerCollectionStatus", "before",
			"Meanwhile the balancer continues; sh.balancerSummary() shows its progress.\ntrue"},
		{"sh.startBalancer()", "sh.defragment('shop.orders', {wait: true}).defragmented", "balancerCollectionStatus", "before",
			"Meanwhile the balancer continues to defragment shop.orders; sh.defragmentStatus(\"shop.orders\") shows " +
				"its progress, sh.stopDefragment(\"shop.orders\") stops it.\ntrue"},
		{"sh.startBalancer(); sh.drain('shard2')", "sh.drain('shard2', {remove: true}).removed", "removeShard", "before",
			"Meanwhile shard shard2 keeps draining; sh.drainStatus(\"shard2\") shows its progress.\ntrue"},
		{"sh.startBalancer(); sh.drain('shard2')", "sh.drain('shard2', {remove: true}).removed", "removeShard", "after",
			"Meanwhile shard shard2 keeps draining; sh.drainStatus(\"shard2\") shows its progress.\ntrue"},
		{"const p = sh.plan('shop.orders', {goal: {drain: 'shard0'}})",
			"sh.apply(p, {journal: null, progress: false}).finished", "moveRange", "after",
			"waiting for it. A step under way may go on meanwhile: its outcome is checked before anything is sent again; " +
				"show migrations also shows it.\ntrue"},
	} {
		all.Go(func() { // most of it is waiting
			t.Run(tc.call+tc.when, func(t *testing.T) {
				c, s := onShaky(t, mock.Config{Seed: 7}, 100*time.Millisecond)
				_, _ = c.Show(tc.before)
				s.breakAt(tc.at, tc.when, 4)
				got, _ := c.Show(tc.call)
				if !strings.HasSuffix(got, tc.want) || strings.Count(got, "The router does not answer (") != 1 {
					t.Error(got)
				}
			})
		})
	}
	all.Wait()
}
