package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/wire"
)

var countedBeside = flag.Int("looks.beside", 300, "how many collections a cluster has that is looked at")

// tally counts the commands that a router answers, and their bytes.
type tally struct {
	mu      sync.Mutex
	names   map[string]int
	bytes   int
	untimed map[string]int // reads without maxTimeMS
	scans   []string       // reads that no index serves
}

// around counts what a handler is asked.
func (t *tally) around(next wire.Handler) wire.Handler {
	return handlerFunc(func(ctx context.Context, r wire.Request) bson.Raw {
		reply := next.Handle(ctx, r)
		if slices.Contains([]string{"hello", "isMaster", "ping", "endSessions"}, r.Command) {
			return reply
		}
		name := r.Command
		of, isText := r.Body.Lookup(name).StringValueOK()
		reads := name == "find" || name == "aggregate" || name == "count"
		if reads && isText {
			name += " " + of
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.names[name]++
		if scan := mocktest.ScanReason(r); scan != "" {
			t.scans = append(t.scans, scan)
		}
		t.bytes += len(r.Body) + len(reply)
		if reads && r.Body.Lookup("maxTimeMS").IsZero() {
			t.untimed[name]++
		}
		return reply
	})
}

// reset forgets what was counted.
func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names, t.untimed, t.scans, t.bytes = map[string]int{}, map[string]int{}, nil, 0
}

// sum returns how many commands there were, and lists them.
func (t *tally) sum() (n int, list string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.names)) {
		n += t.names[name]
		list += fmt.Sprintf("\n%7d %s", t.names[name], name)
	}
	return n, list
}

// manyCollections is a cluster of which one collection is uneven, some have zones or a jumbo
// chunk, and the others are even.
func manyCollections(n int) string {
	var list strings.Builder
	list.WriteString(`{"ns": "shop.hot", "key": {"k": 1}, "chunks": [`)
	for i := range 11 {
		fmt.Fprintf(&list, `{"shard": "a", "max": {"k": %d}, "bytes": "100MB", "docs": 1000},`, i)
	}
	list.WriteString(`{"shard": "a", "bytes": "100MB", "docs": 1000}]}`)
	for i := range n {
		jumbo, zones := "", ""
		if i%100 == 1 {
			jumbo = `, "jumbo": true`
		}
		if i%100 == 2 {
			zones = `, "zones": [{"zone": "Z", "min": {"k": 0}, "max": {"k": 9}}]`
		}
		fmt.Fprintf(&list, `,{"ns": "shop.c%05d", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}%s},
			{"shard": "b", "max": {"k": 9}}, {"shard": "c"}]%s}`, i, jumbo, zones)
	}
	return `{"shards": [{"id": "a"}, {"id": "b", "zones": ["Z"]}, {"id": "c"}], ` +
		`"settings": {"balancer": {"mode": "off"}}, "collections": [` + list.String() + `]}`
}

// What looks asks a number of commands that hardly grows with the number of collections,
// each of which ends by itself, and none of which scans a large collection.
func TestCommandsOfALook(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	n := *countedBeside
	var counts tally
	counts.reset()
	address := serve(t, manyCollections(n), func(s *setting) { s.around = counts.around }).address
	const causes = 300 // commands about indexes, jumbo chunks and zones
	for _, look := range []struct {
		name string
		args []string
		more int // commands, for what is asked of each of some collections
	}{
		{"why", []string{"why", address, "--quiet"}, causes},
		{"why --ns", []string{"why", address, "--ns", "shop.hot", "--quiet"}, 0},
		{"check", []string{"check", address, "--quiet"}, 0},
		{"plan", []string{"plan", address, "--quiet"}, 0},
		{"forecast", []string{"forecast", address, "--quiet"}, 0},
		{"sh.status()", []string{address, "--quiet", "--eval", "sh.status()"}, 0},
		{"watch", []string{"watch", address, "--once"}, 0},
		{"report", []string{"report", address, "-o", t.TempDir() + "/r.html"}, 0},
		{"map", []string{"map", address, "--ns", "shop.hot"}, 0},
		{"snapshot", []string{"snapshot", address, "-o", t.TempDir() + "/s.snap"}, causes},
	} {
		counts.reset()
		began := time.Now()
		code, _, stderr := runProgram(t, "", look.args...)
		if code != exitOK && code != exitFindings {
			t.Errorf("%s: exit code %d: %s", look.name, code, stderr)
		}
		sent, list := counts.sum()
		t.Logf("%-12s beside %d collections: %6d commands, %9d bytes, %s%s", look.name, n, sent, counts.bytes,
			time.Since(began).Round(time.Millisecond), list)
		if most := 60 + 9*n/1000 + look.more; sent > most {
			t.Errorf("%s: %d commands beside %d collections, want at most %d", look.name, sent, n, most)
		}
		if len(counts.untimed) > 0 {
			t.Errorf("%s: without maxTimeMS: %v", look.name, counts.untimed)
		}
		if len(counts.scans) > 0 {
			t.Errorf("%s scans: %v", look.name, counts.scans)
		}
	}
}
