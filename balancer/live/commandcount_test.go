package live

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

var countBeside = flag.Int("live.beside", 300, "how many collections are beside the one that is balanced")

// counted counts the commands that a router answers, and their bytes.
type counted struct {
	wire.Handler
	mu       sync.Mutex
	commands map[string]int
	bytes    int
	untimed  map[string]int // reads without maxTimeMS
	scans    []string       // reads that no index serves
}

func (c *counted) Handle(ctx context.Context, r wire.Request) bson.Raw {
	reply := c.Handler.Handle(ctx, r)
	if r.Command == "hello" || r.Command == "isMaster" || r.Command == "ping" {
		return reply
	}
	name := r.Command
	if of, ok := r.Body.Lookup(name).StringValueOK(); ok && (name == "find" || name == "aggregate" || name == "count") {
		name += " " + of
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands[name]++
	if scan := mocktest.ScanReason(r); scan != "" {
		c.scans = append(c.scans, scan)
	}
	c.bytes += len(r.Body) + len(reply)
	reads := strings.HasPrefix(name, "find ") || strings.HasPrefix(name, "aggregate") || strings.HasPrefix(name, "count ")
	if reads && r.Body.Lookup("maxTimeMS").IsZero() {
		c.untimed[name]++
	}
	return reply
}

// reset forgets what was counted.
func (c *counted) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands, c.untimed, c.scans, c.bytes = map[string]int{}, map[string]int{}, nil, 0
}

// sum returns how many commands there were, and lists them.
func (c *counted) sum() (n, bytes int, list string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.commands)) {
		n += c.commands[name]
		list += fmt.Sprintf("\n%7d %s", c.commands[name], name)
	}
	return n, c.bytes, list
}

// beside is a cluster with a collection to balance, and others that are even.
func beside(n int) string {
	var list strings.Builder
	list.WriteString(`{"ns": "shop.hot", "key": {"k": 1}, "chunks": [`)
	for i := range 11 {
		fmt.Fprintf(&list, `{"shard": "a", "max": {"k": %d}, "bytes": "100MB", "docs": 1000},`, i)
	}
	list.WriteString(`{"shard": "a", "bytes": "100MB", "docs": 1000}]}`)
	for i := range n {
		fmt.Fprintf(&list, `,{"ns": "shop.c%05d", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}},
			{"shard": "b", "max": {"k": 9}}, {"shard": "c"}]}`, i)
	}
	return `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "settings": {"balancer": {"mode": "off"}}, "collections": [` +
		list.String() + `]}`
}

// countedCluster returns a cluster whose commands are counted.
func countedCluster(t testing.TB, topology string) (*counted, *mongo.Client, *LeasedCluster) {
	t.Helper()
	cluster := mocktest.Cluster(t, topology, mock.Config{})
	c := &counted{Handler: router.New(cluster, nil)}
	c.reset()
	client := mocktest.Connect(t, c)
	turn, err := Acquire(t.Context(), client, NewCommandRunner(client), Holder{Host: "h", PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c, client, turn
}

// A run reads what it may move once, and then what has changed: beside many collections a
// move takes as many commands as beside few.
func TestCommandsOfAMove(t *testing.T) {
	const most = 30
	for _, names := range [][]string{{"shop.hot"}, nil} {
		c, _, turn := countedCluster(t, beside(*countBeside))
		c.reset()
		moves, first, firstList := 0, 0, ""
		result, err := runner.Run(t.Context(), turn, runner.Options{Namespaces: names, Clock: new(hasty), OnEvent: func(e runner.Event) {
			if e.Kind != runner.Moved {
				return
			}
			if moves++; moves == 1 {
				first, _, firstList = c.sum()
				c.reset()
			}
		}})
		if err != nil || !result.Reached || moves < 4 {
			t.Fatalf("%d moves, %+v, %v", moves, result, err)
		}
		n, bytes, list := c.sum()
		t.Logf("%d commands to the first move:%s", first, firstList)
		each := n / (moves - 1)
		t.Logf("%v beside %d collections: %d commands a move, %d bytes:%s", names, *countBeside, each, bytes/(moves-1), list)
		if each > most {
			t.Errorf("%d commands a move", each)
		}
		if len(c.untimed) > 0 {
			t.Errorf("without maxTimeMS: %v", c.untimed)
		}
		if len(c.scans) > 0 {
			t.Errorf("scans: %v", c.scans)
		}
		if err := turn.RestoreAndRelease(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A plan's steps read what they are about.
func TestCommandsOfAStep(t *testing.T) {
	const most = 30
	c, client, turn := countedCluster(t, beside(*countBeside))
	s, err := NewReader(client, ReaderOptions{}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(s, plan.Options{Goal: plan.Goal{Kind: plan.Balance}})
	if err != nil || p.Totals.Moves < 4 {
		t.Fatalf("%+v, %v", p, err)
	}
	c.reset()
	result, err := apply.Run(t.Context(), turn, p, apply.Options{Clock: new(hasty), MovesContext: turn.LeaseContext()})
	if err != nil || !result.Finished {
		t.Fatalf("%+v, %v", result, err)
	}
	n, bytes, list := c.sum()
	t.Logf("beside %d collections: %d commands a step, %d bytes:%s", *countBeside, n/p.Totals.Moves, bytes/p.Totals.Moves, list)
	if n/p.Totals.Moves > most {
		t.Errorf("%d commands a step", n/p.Totals.Moves)
	}
}
