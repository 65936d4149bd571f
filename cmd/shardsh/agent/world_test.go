package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// heaped has a collection whose chunks are all on one of two shards.
const heaped = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "shop", "primary": "a"}], "collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [
	{"shard": "a", "bytes": 100000000, "docs": 100000, "max": {"x": 1000}},
	{"shard": "a", "bytes": 100000000, "docs": 100000, "max": {"x": 2000}},
	{"shard": "a", "bytes": 100000000, "docs": 100000, "max": {"x": 3000}},
	{"shard": "a", "bytes": 100000000, "docs": 100000, "max": {"x": 4000}},
	{"shard": "a", "bytes": 100000000, "docs": 100000, "max": {"x": 5000}},
	{"shard": "a", "bytes": 100000000, "docs": 100000}]}]}`

// world is a mock cluster, a server of it, and a client of the protocol's own library.
type world struct {
	testing.TB
	client  *mongo.Client
	cluster *mock.Cluster
	agent   *mcp.ClientSession
	input   io.Writer // of the server
	ended   chan error

	mu   sync.Mutex
	sent map[string]int // by command
}

func newWorld(t testing.TB, topology string, plans *Plans) *world {
	t.Helper()
	w := &world{TB: t, sent: make(map[string]int), ended: make(chan error, 1)}
	w.cluster = mocktest.Cluster(t, topology, mock.Config{Release: catalog.Release80, Seed: 1})
	w.client = mocktest.Connect(t, router.New(w.cluster, nil), func(o *options.ClientOptions) {
		o.SetMonitor(&event.CommandMonitor{Started: w.note})
	})
	server := New(Options{
		Version: "test", Plans: plans, Timeout: time.Minute,
		Open: func(context.Context) (action.Source, error) {
			return action.Source{
				Client: w.client, Clock: w.cluster.Clock(), Origin: catalog.Source{Kind: catalog.SourceMock, Name: "mock"},
			}, nil
		},
		Cluster: func(context.Context) (action.Cluster, error) {
			return action.Cluster{Client: w.client, Clock: w.cluster.Clock()}, nil
		},
	})
	fromAgent, toServer := io.Pipe()
	fromServer, toAgent := io.Pipe()
	w.input = toServer
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.ended <- server.Serve(ctx, fromAgent, toAgent)
		close(w.ended)
	}()
	var err error
	w.agent, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = w.agent.Close() // a test may have ended it
		for range w.ended { // until it is closed
		}
	})
	return w
}

func (w *world) note(_ context.Context, e *event.CommandStartedEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[e.CommandName]++
}

// call calls a tool, and returns its answer, or what it refuses with.
func (w *world) call(name string, arguments any) (a Answer, refusal string) {
	w.Helper()
	r, err := w.agent.CallTool(w.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return a, err.Error()
	}
	var text strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	if r.IsError {
		return a, text.String()
	}
	if err := decode(r.StructuredContent, &a); err != nil {
		w.Fatal(err)
	}
	return a, ""
}

// decode reads a value of JSON into another one.
func decode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// reads reports whether only commands were sent that change nothing, and names the others.
func (w *world) reads() (others []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	harmless := []string{"listIndexes", "listCollections", "collStats", "endSessions", "ping", "getMore", "killCursors"}
	for name := range w.sent {
		if !live.IsReadCommand(name) && !slices.Contains(harmless, name) {
			others = append(others, name)
		}
	}
	return others
}

// metadata returns the chunks of all collections, as text.
func (w *world) metadata() string {
	w.Helper()
	s, err := live.NewReader(w.client, live.ReaderOptions{}).Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, c := range s.Collections() {
		for chunk := range c.Table.All() {
			fmt.Fprintln(&b, c.Namespace, chunk.Min, chunk.Max, chunk.Shard)
		}
	}
	return b.String()
}
