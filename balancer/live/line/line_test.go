package line_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live/line"
	"shardsh/balancer/mock/wire"
)

// greeter answers greetings, and pings with the text that they carry.
type greeter struct{}

func (greeter) Handle(_ context.Context, r wire.Request) bson.Raw {
	reply := bson.D{{Key: "ok", Value: 1.0}}
	switch r.Command {
	case "ping":
		reply = append(reply, bson.E{Key: "text", Value: r.Body.Lookup("text")})
	case "hello", "isMaster", "ismaster":
		reply = append(reply, bson.E{Key: "msg", Value: "isdbgrid"}, bson.E{Key: "isWritablePrimary", Value: true},
			bson.E{Key: "maxWireVersion", Value: 25}, bson.E{Key: "serviceId", Value: bson.NewObjectID()},
			bson.E{Key: "logicalSessionTimeoutMinutes", Value: 30}, bson.E{Key: "maxMessageSizeBytes", Value: 48000000},
			bson.E{Key: "maxBsonObjectSize", Value: 16 << 20})
	}
	doc, err := bson.Marshal(reply)
	if err != nil {
		panic(err)
	}
	return doc
}

// greeting serves until the end of the test, and returns its address.
func greeting(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, done := &wire.Server{Handler: greeter{}}, make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(context.Background()), <-done); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// lost notes connections that are given up before the end.
type lost struct {
	mu     sync.Mutex
	events []string
}

func (l *lost) note(e *event.PoolEvent) {
	if e.Type == event.ConnectionPoolCleared || e.Type == event.ConnectionClosed && e.Reason != event.ReasonPoolClosed {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, e.Type+" "+e.Reason)
	}
}

func (l *lost) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// pinged sends a ping and tells what comes of it.
func pinged(ctx context.Context, client *mongo.Client, text string) string {
	reply, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "ping", Value: int32(1)},
		{Key: "text", Value: text}}).Raw()
	if err == nil {
		if got, _ := reply.Lookup("text").StringValueOK(); got != text {
			return fmt.Sprintf("the reply to another one: %.50s", reply)
		}
		return "pong"
	}
	varies := regexp.MustCompile(`127\.0\.0\.1:\d+|\[-\d+\]|(read|write) (tcp .*|pipe):`)
	return fmt.Sprintf("%s (network %v, timeout %v, cancelled %v, late %v)", varies.ReplaceAllString(err.Error(), "*"),
		mongo.IsNetworkError(err), mongo.IsTimeout(err), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded))
}

// What goes wrong with a command has the same end as with the driver's own
// connections, and so have the commands after it.
func TestFaultsAreTheDrivers(t *testing.T) {
	t.Parallel()
	const half = time.Second / 2 // after which a message that was to be sent has been
	for name, tc := range map[string]struct {
		fault fault
		text  string
		// How the context ends when nothing comes.
		late, cancelled bool
	}{
		"none":                    {},
		"a byte at a time":        {fault: fault{reads: slices.Repeat([]read{{bytes: 1}}, 30)}},
		"a large reply":           {text: strings.Repeat("x", 1<<20)},
		"a large one in pieces":   {text: strings.Repeat("x", 1<<20), fault: fault{reads: slices.Repeat([]read{{bytes: 3}}, 99)}},
		"closed before the reply": {fault: fault{reads: []read{{err: io.EOF}}}},
		"closed in the length":    {fault: fault{reads: []read{{bytes: 2}, {err: io.EOF}}}},
		"closed in the header":    {fault: fault{reads: []read{{bytes: 10}, {err: io.EOF}}}},
		"closed in the reply":     {fault: fault{reads: []read{{bytes: 30}, {err: io.EOF}}}},
		"reset":                   {fault: fault{reads: []read{{err: syscall.ECONNRESET}}}},
		"reset in the reply":      {fault: fault{reads: []read{{bytes: 30}, {err: syscall.ECONNRESET}}}},
		"too large":               {fault: fault{reads: []read{{other: "\x01\x6c\xdc\x02"}}}},
		"a negative length":       {fault: fault{reads: []read{{other: "\xff\xff\xff\xff"}}}},
		"no length":               {fault: fault{reads: []read{{other: "\x03\x00\x00\x00"}}}},
		"no header":               {fault: fault{reads: []read{{other: "\x08\x00\x00\x00\x00\x00\x00\x00"}}}},
		"not written":             {fault: fault{write: func(*faultyConn, []byte) (int, error) { return 0, syscall.EPIPE }}},
		"written in part": {fault: fault{write: func(c *faultyConn, b []byte) (int, error) {
			n, _ := c.Conn.Write(b[:len(b)/2])
			return n, syscall.ECONNRESET
		}}},
		"late":                 {fault: fault{reads: []read{{silent: true}}}, late: true},
		"late in the length":   {fault: fault{reads: []read{{bytes: 2}, {silent: true}}}, late: true},
		"late in the reply":    {fault: fault{reads: []read{{bytes: 30}, {silent: true}}}, late: true},
		"late when written":    {fault: fault{write: stuck}, late: true},
		"cancelled":            {fault: fault{reads: []read{{silent: true}, {silent: true}}}, cancelled: true},
		"cancelled in a reply": {fault: fault{reads: []read{{bytes: 30}, {silent: true}, {silent: true}}}, cancelled: true},
		"cancelled writing":    {fault: fault{write: stuck}, cancelled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := greeting(t)
			outcome := func(connect func(*options.ClientOptions) (*mongo.Client, error)) []string {
				var events lost
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				lines := &faulty{waits: func() {}}
				if tc.cancelled {
					lines.waits = cancel
				}
				client, err := connect(options.Client().ApplyURI("mongodb://" + address + "/?loadBalanced=true").
					SetPoolMonitor(&event.PoolMonitor{Event: events.note}).SetDialer(lines))
				if err != nil {
					t.Fatal(err)
				}
				list := []string{pinged(t.Context(), client, "before")}
				lines.next.Store(&tc.fault)
				if tc.late {
					ctx, cancel = context.WithTimeout(ctx, half)
					defer cancel()
				}
				list = append(list, pinged(ctx, client, tc.text))
				for range 3 {
					list = append(list, pinged(t.Context(), client, "after"))
				}
				list = append(list, events.seen()...) // what comes late may come after the end
				if err := client.Disconnect(context.Background()); err != nil {
					t.Error(err)
				}
				return list
			}
			theirs := outcome(func(o *options.ClientOptions) (*mongo.Client, error) { return mongo.Connect(o) })
			ours := outcome(line.Connect)
			if !slices.Equal(ours, theirs) {
				t.Errorf("%s\nand of the driver\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
			}
		})
	}
}

// A goroutine for each message is what this package is there to save.
func TestNoGoroutineForACommand(t *testing.T) {
	const commands = 500
	client, err := line.Connect(options.Client().ApplyURI("mongodb://" + greeting(t) + "/?loadBalanced=true"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.Background())
	ctx, cancel := context.WithCancel(t.Context()) // one that may end, as that of a script
	defer cancel()
	started := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(started)
	before := started[0].Value.Uint64()
	for range commands {
		if got := pinged(ctx, client, "x"); got != "pong" {
			t.Fatal(got)
		}
	}
	metrics.Read(started)
	if n := started[0].Value.Uint64() - before; n >= commands {
		t.Errorf("%d goroutines for %d commands", n, commands)
	}
}
