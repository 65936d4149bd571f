package live_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/live/suite/proxy"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// line is the way of messages between a client and a cluster. It notes the commands,
// and may be cut, once.
type line struct {
	mu       sync.Mutex
	sent     []string // commands
	cut      string   // the command of which something is cut
	answer   bool     // what is cut: the answer, not the question
	question int32    // of the answer to be cut
	always   bool     // cut it each time
	freeze   bool     // instead of cutting, let nothing through any more
	done     bool
}

func (l *line) judge(_ int, m proxy.Message) proxy.Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Direction == proxy.ToCluster {
		l.sent = append(l.sent, m.Name())
	}
	switch {
	case l.done && !l.always || l.cut == "":
		return proxy.Pass()
	case m.Direction == proxy.ToClient && l.question != 0 && m.InReplyTo() == l.question,
		m.Name() == l.cut && !l.answer:
		l.done = true
		if l.freeze {
			return proxy.Freeze()
		}
		return proxy.Cut()
	case m.Name() == l.cut:
		l.question = m.ID()
	}
	return proxy.Pass()
}

// count returns how often a command was sent.
func (l *line) count(name string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sent := range l.sent {
		if sent == name {
			n++
		}
	}
	return n
}

// onLine serves a mock on a port, and returns clients of it by lines of their own.
func onLine(t *testing.T, topology string) func(*testing.T, *line) *mongo.Client {
	t.Helper()
	cluster := mocktest.Cluster(t, topology, mock.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &wire.Server{Handler: router.New(cluster, nil)}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		_ = server.Shutdown(context.Background())
		<-served
	})
	return func(t *testing.T, cable *line) *mongo.Client {
		t.Helper()
		p, err := proxy.Listen(l.Addr().String(), cable.judge)
		if err != nil {
			t.Fatal(err)
		}
		client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + p.Address() + "/?directConnection=true").
			SetServerMonitoringMode(options.ServerMonitoringModePoll))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = client.Disconnect(context.Background()), p.Close() })
		return client
	}
}

// A connection that is cut once, in place of any answer, keeps nobody who only
// reads from an answer.
func TestReadingOutlivesACut(t *testing.T) {
	connect := onLine(t, variety)
	look := live.ReaderOptions{Parts: live.Identity | live.Settings | live.Balancer | live.Shards | live.Collections | live.BalanceStatuses |
		live.ChunkCounts | live.Sizes | live.BalancerSwitches | live.Zones | live.Databases | live.RunningMigrations}
	for name, read := range map[string]func(context.Context, *mongo.Client) ([]string, error){
		"look": func(ctx context.Context, c *mongo.Client) ([]string, error) {
			s, err := live.NewCommandReader(live.NewCommandRunner(c), look).Read(ctx)
			if err != nil {
				return nil, err
			}
			return gapsOf(s), nil
		},
		"reader": func(ctx context.Context, c *mongo.Client) ([]string, error) {
			s, err := live.NewReader(c, live.ReaderOptions{Parts: live.DefaultPartsAndStatus | live.ExplanationData}).Read(ctx)
			if err != nil {
				return nil, err
			}
			return gapsOf(s), nil
		},
	} {
		whole := &line{}
		want, err := read(t.Context(), connect(t, whole))
		if err != nil {
			t.Fatal(err)
		}
		names := slices.Compact(slices.Sorted(slices.Values(whole.sent)))
		if len(names) < 6 {
			t.Fatalf("%s sends only %v", name, names)
		}
		for _, command := range names {
			if command == "" || command == "endSessions" {
				continue // how connections begin and end is the driver's business
			}
			t.Run(name+" "+command, func(t *testing.T) {
				t.Parallel()
				cable := &line{cut: command, answer: true}
				got, err := read(t.Context(), connect(t, cable))
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%v, gaps %q, want %q", err, got, want)
				}
				if !cable.done {
					t.Error("nothing was cut")
				}
			})
		}
	}
}

// A command's own limit holds for a context with a later deadline, whatever the type of its number.
func TestSingleTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, ms := range []any{int64(2000), int32(2000), 2000} {
		limited, command, done := live.WithSingleTimeout(ctx,
			bson.D{{Key: "find", Value: "c"}, {Key: "maxTimeMS", Value: ms}})
		defer done()
		if at, ok := limited.Deadline(); !ok || time.Until(at) > 2*time.Second {
			t.Errorf("%T: the deadline is in %v", ms, time.Until(at))
		}
		if len(command) != 1 {
			t.Errorf("%T: %v", ms, command)
		}
	}
}

// A read whose context has ended does not wait for a hung server to close its cursor.
func TestReadingEndsOnAHungConnection(t *testing.T) {
	cable := &line{cut: "getMore", freeze: true}
	client := onLine(t, variety)(t, cable)
	if err := client.Ping(t.Context(), nil); err != nil { // connecting takes its time on a busy machine
		t.Fatal(err)
	}
	const allowed = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), allowed)
	defer cancel()
	began := time.Now()
	_, err := live.NewCommandRunner(client).RunCursorCommand(ctx, "config",
		bson.D{{Key: "find", Value: "shards"}, {Key: "batchSize", Value: int32(1)}})
	if took := time.Since(began); took > allowed+time.Second {
		t.Errorf("it ended %v after its context", took-allowed)
	}
	cable.mu.Lock()
	defer cable.mu.Unlock()
	if err == nil || !cable.done {
		t.Errorf("error %v, frozen %t", err, cable.done)
	}
}

func gapsOf(s *catalog.Snapshot) (list []string) {
	for _, g := range s.Parts().Source.Gaps {
		list = append(list, fmt.Sprintf("%+v", g))
	}
	return append(list, fmt.Sprintf("%d shards, %d collections", len(s.Shards()), len(s.Collections())))
}

// What changes something is sent once, whether or not it arrived.
func TestChangingIsNeverRepeated(t *testing.T) {
	connect := onLine(t, variety)
	for _, command := range []bson.D{
		{{Key: "moveRange", Value: "shop.orders"}}, {{Key: "update", Value: "collections"}},
		{{Key: "killOp", Value: 1}, {Key: "op", Value: 1}},
	} {
		for _, answer := range []bool{false, true} {
			cable := &line{cut: command[0].Key, answer: answer}
			_, err := live.NewCommandRunner(connect(t, cable)).RunCommand(t.Context(), "admin", command)
			if !errors.As(live.ServerError(err), new(*mongoerr.UnansweredError)) || cable.count(command[0].Key) != 1 {
				t.Errorf("%s: sent %d times, %v", command[0].Key, cable.count(command[0].Key), err)
			}
		}
	}
}

// Who is cut off again is told so, after the second time.
func TestReadingGivesUp(t *testing.T) {
	cable := &line{}
	client := onLine(t, variety)(t, cable)
	commands := live.NewCommandRunner(client)
	if _, err := commands.RunCommand(t.Context(), "admin", bson.D{{Key: "balancerStatus", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	cable.mu.Lock()
	cable.cut, cable.always = "balancerStatus", true
	cable.mu.Unlock()
	_, err := commands.RunCommand(t.Context(), "admin", bson.D{{Key: "balancerStatus", Value: 1}})
	if !errors.As(live.ServerError(err), new(*mongoerr.UnansweredError)) || cable.count("balancerStatus") != 3 {
		t.Errorf("sent %d times, %v", cable.count("balancerStatus"), err)
	}
}
