package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// toy is a mongos of a few commands, each a function of the request.
type toy struct {
	mu       sync.Mutex
	commands map[string]func(context.Context, wire.Request) bson.D
	left     []int32
}

func (t *toy) on(name string, f func(context.Context, wire.Request) bson.D) *toy {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.commands == nil {
		t.commands = make(map[string]func(context.Context, wire.Request) bson.D)
	}
	t.commands[name] = f
	return t
}

func (t *toy) Handle(ctx context.Context, r wire.Request) bson.Raw {
	t.mu.Lock()
	command := t.commands[r.Command]
	t.mu.Unlock()
	var reply bson.D
	switch {
	case command != nil:
		reply = command(ctx, r)
	case strings.EqualFold(r.Command, "isMaster") || r.Command == "hello":
		reply = hello(ctx, r)
	case r.Command == "ping" || r.Command == "endSessions":
		reply = bson.D{{Key: "ok", Value: 1.0}}
	default:
		reply = mongoerr.Reply(mongoerr.New(mongoerr.CommandNotFound, "no such command: '%s'", r.Command))
	}
	raw, err := bson.Marshal(reply)
	if err != nil {
		panic(err)
	}
	return raw
}

func (t *toy) Leave(c *wire.ClientConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = append(t.left, c.ID)
}

// hello waits when asked to, as no topology of the toy ever changes.
func hello(ctx context.Context, r wire.Request) bson.D {
	if wait, ok := r.Body.Lookup("maxAwaitTimeMS").AsInt64OK(); ok {
		select {
		case <-time.After(time.Duration(wait) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return bson.D{
		{Key: "ismaster", Value: true},
		{Key: "isWritablePrimary", Value: true},
		{Key: "msg", Value: "isdbgrid"},
		{Key: "helloOk", Value: true},
		{Key: "topologyVersion", Value: bson.D{{Key: "processId", Value: bson.ObjectID{1}},
			{Key: "counter", Value: int64(0)}}},
		{Key: "maxBsonObjectSize", Value: int32(16777216)},
		{Key: "maxMessageSizeBytes", Value: int32(48000000)},
		{Key: "maxWriteBatchSize", Value: int32(100000)},
		{Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
		{Key: "connectionId", Value: r.Client.ID},
		{Key: "minWireVersion", Value: int32(0)},
		{Key: "maxWireVersion", Value: int32(25)},
		{Key: "ok", Value: 1.0},
	}
}

// serve runs a server on l for the length of the test and sees to it that
// nothing is left of it.
func serve(t testing.TB, s *wire.Server, l net.Listener) {
	t.Helper()
	before := runtime.NumGoroutine()
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		checkGoroutines(t, before)
	})
}

// checkGoroutines waits for goroutines that are about to end, but not long.
func checkGoroutines(t testing.TB, before int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			return
		}
		runtime.Gosched()
	}
}

func connect(t testing.TB, dialer options.ContextDialer, host string,
	more ...func(*options.ClientOptions)) *mongo.Client {
	t.Helper()
	// A streaming monitor now and then takes ten seconds to notice that its
	// client is done (the driver loses the news); TestMonitorsGetAStream has one
	// without a driver.
	opts := options.Client().SetHosts([]string{host}).SetDirect(true).SetServerSelectionTimeout(10 * time.Second).
		SetServerMonitoringMode(connstring.ServerMonitoringModePoll)
	if dialer != nil {
		opts.SetDialer(dialer)
	}
	for _, f := range more {
		f(opts)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil && !errors.Is(err, mongo.ErrClientDisconnected) {
			t.Errorf("Disconnect: %v", err)
		}
	})
	return client
}

func TestDriverOverPipeAndTCP(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pipe := wire.NewPipe()
	h := new(toy).on("insert", func(_ context.Context, r wire.Request) bson.D {
		docs, err := r.Body.Lookup("documents").Array().Values()
		if err != nil {
			return mongoerr.Reply(err)
		}
		return bson.D{{Key: "n", Value: int32(len(docs))}, {Key: "ok", Value: 1.0}}
	}).on("whoami", func(_ context.Context, r wire.Request) bson.D {
		return bson.D{{Key: "db", Value: r.Database}, {Key: "legacy", Value: r.Legacy}, {Key: "local", Value: r.Client.Local},
			{Key: "ok", Value: 1.0}}
	})
	s := &wire.Server{Handler: h}
	serve(t, s, tcp)
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), pipe) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})

	for _, way := range []struct {
		name, host string
		dialer     options.ContextDialer
	}{
		{"pipe", "mock:27017", pipe},
		{"tcp", tcp.Addr().String(), nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			ctx := context.Background()
			client := connect(t, way.dialer, way.host)
			if err := client.Ping(ctx, nil); err != nil {
				t.Fatal(err)
			}

			var who struct {
				DB     string
				Legacy bool
				Local  string
			}
			if err := client.Database("app").RunCommand(ctx, bson.D{{Key: "whoami", Value: 1}}).Decode(&who); err != nil {
				t.Fatal(err)
			}
			if who.DB != "app" || who.Legacy || who.Local != way.host {
				t.Errorf("whoami: %+v", who)
			}

			docs := make([]any, 1000)
			for i := range docs {
				docs[i] = bson.D{{Key: "_id", Value: i}}
			}
			res, err := client.Database("app").Collection("orders").InsertMany(ctx, docs)
			if err != nil || len(res.InsertedIDs) != len(docs) {
				t.Errorf("insert: %v, %v", res, err)
			}

			err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "atlasVersion", Value: 1}}).Err()
			if code, ok := errors.AsType[mongo.CommandError](err); !ok || code.Code != 59 || code.Name != "CommandNotFound" {
				t.Errorf("unknown command: %v", err)
			}
		})
	}
}

func TestLargeDocumentsBothWays(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy).on("echo", func(_ context.Context, r wire.Request) bson.D {
		return bson.D{{Key: "back", Value: r.Body.Lookup("echo")}, {Key: "ok", Value: 1.0}}
	})
	serve(t, &wire.Server{Handler: h}, pipe)
	client := connect(t, pipe, "mock")
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	var got struct{ Back []byte }
	err := client.Database("app").RunCommand(context.Background(), bson.D{{Key: "echo", Value: want}}).Decode(&got)
	if err != nil || !bytes.Equal(got.Back, want) {
		t.Errorf("%d bytes came back as %d: %v", len(want), len(got.Back), err)
	}
}

func TestReplyTooLargeIsAnError(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy).on("flood", func(context.Context, wire.Request) bson.D {
		return bson.D{{Key: "much", Value: make([]byte, 17<<20)}}
	})
	serve(t, &wire.Server{Handler: h}, pipe)
	client := connect(t, pipe, "mock")
	err := client.Database("app").RunCommand(context.Background(), bson.D{{Key: "flood", Value: 1}}).Err()
	if e, ok := errors.AsType[mongo.CommandError](err); !ok || e.Code != int32(mongoerr.BSONObjectTooLarge) {
		t.Errorf("error is %v", err)
	}
}

func TestUnacknowledgedWriteIsHandledWithoutReply(t *testing.T) {
	pipe := wire.NewPipe()
	inserted := make(chan int, 1)
	h := new(toy).on("insert", func(_ context.Context, r wire.Request) bson.D {
		docs, _ := r.Body.Lookup("documents").Array().Values()
		inserted <- len(docs)
		return bson.D{{Key: "ok", Value: 1.0}}
	})
	serve(t, &wire.Server{Handler: h}, pipe)
	client := connect(t, pipe, "mock", func(o *options.ClientOptions) { o.SetMaxPoolSize(1) })
	coll := client.Database("app").Collection("orders",
		options.Collection().SetWriteConcern(writeconcern.Unacknowledged()))
	_, err := coll.InsertMany(context.Background(), []any{bson.D{}, bson.D{}})
	if err != nil {
		t.Fatal(err)
	}
	if n := <-inserted; n != 2 {
		t.Errorf("%d documents", n)
	}
	// A reply nobody asked for would be taken for this one's.
	if err := client.Ping(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func TestPanicFailsTheCommandOnly(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy).on("explode", func(context.Context, wire.Request) bson.D { panic("boom") })
	serve(t, &wire.Server{Handler: h}, pipe)
	client := connect(t, pipe, "mock", func(o *options.ClientOptions) { o.SetMaxPoolSize(1) })
	err := client.Database("app").RunCommand(context.Background(), bson.D{{Key: "explode", Value: 1}}).Err()
	if e, ok := errors.AsType[mongo.CommandError](err); !ok || e.Code != int32(mongoerr.InternalError) {
		t.Errorf("error is %v", err)
	}
	if err := client.Ping(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	client := connect(t, pipe, "mock")
	var group sync.WaitGroup
	failed := make(chan error, 1000)
	for range 20 {
		group.Go(func() {
			for range 50 {
				if err := client.Ping(context.Background(), nil); err != nil {
					failed <- fmt.Errorf("ping: %w", err)
				}
			}
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

func TestEveryClientLeavesOnce(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy)
	s := &wire.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), pipe) }()
	client := connect(t, pipe, "mock")
	if err := client.Ping(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if s.Connections() == 0 {
		t.Error("no connection counted")
	}
	if err := errors.Join(client.Disconnect(context.Background()), s.Close(), <-served); err != nil {
		t.Fatal(err)
	}
	seen := make(map[int32]bool)
	for _, id := range h.left {
		if seen[id] {
			t.Errorf("client %d left twice", id)
		}
		seen[id] = true
	}
	if len(seen) == 0 || s.Connections() != 0 {
		t.Errorf("%d clients left, %d connections open", len(seen), s.Connections())
	}
}
