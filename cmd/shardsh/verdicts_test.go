package main

import (
	"strings"
	"testing"
)

// What one verb says of a cluster the others say, too.
func TestOneVerdict(t *testing.T) {
	const head = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "databases": [{"name": "shop", "primary": "a"}],
		"collections": [{"ns": "shop.orders", "key": {"k": 1}, "chunks": [`
	for name, tt := range map[string]struct {
		topology             string
		plan, forecast, kept string // what plan and forecast begin with, and why names
	}{
		"uneven, and only a jumbo chunk could go": {
			head + `{"max": {"k": 1}, "shard": "a", "bytes": "1GB", "docs": 1000, "jumbo": true},
				{"max": {"k": 2}, "shard": "b", "bytes": "100MB", "docs": 1000}, {"shard": "c", "bytes": "100MB", "docs": 1000}]}]}`,
			"the goal can't be reached", "not balanced as things stand: shop.orders: the only", "the only chunk on a is jumbo",
		},
		"even, with a jumbo chunk": {
			head + `{"max": {"k": 1}, "shard": "a", "bytes": "300MB", "docs": 1000, "jumbo": true},
				{"max": {"k": 2}, "shard": "b", "bytes": "300MB", "docs": 1000}, {"shard": "c", "bytes": "300MB", "docs": 1000}]}]}`,
			"nothing to do", "balanced: nothing to do", "(jumboChunks)",
		},
		"a primary that drains": {
			strings.Replace(head, `{"id": "a"}`, `{"id": "a", "draining": true}`, 1) +
				`{"max": {"k": 1}, "shard": "b", "bytes": "300MB", "docs": 1000}, {"shard": "c", "bytes": "300MB", "docs": 1000}]}]}`,
			"the goal can't be reached", "not balanced as things stand: shard a is", "(drainNeedsOperator)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mock := "--mock=" + writeFile(t, "topology.json", tt.topology)
			for verb, want := range map[string]string{"plan": tt.plan, "forecast": tt.forecast} {
				code, stdout, stderr := runProgram(t, "", verb, mock)
				if code != exitOK || !strings.HasPrefix(stdout, want) {
					t.Errorf("%s: exit code %d, %s%s; want %s", verb, code, stdout, stderr, want)
				}
			}
			code, stdout, stderr := runProgram(t, "", "why", mock)
			if code != exitOK || !strings.Contains(stdout, tt.kept) {
				t.Errorf("why: exit code %d, %s%s; want %s", code, stdout, stderr, tt.kept)
			}
		})
	}
}
