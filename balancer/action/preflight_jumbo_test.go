package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/plan"
)

// TestPreflightOfManyFlags: a preflight checks a limited number of flagged chunks, also of chunks that can be split.
func TestPreflightOfManyFlags(t *testing.T) {
	var collections []string
	for _, ns := range []string{"db.j", "db.k"} {
		var chunks []string
		for i := range maxFlaggedChunks - 1 {
			chunks = append(chunks, fmt.Sprintf(`{"shard": "s0", "max": {"x": %d}, "jumbo": true, "bytes": 5000000, "docs": 900}`, i*1000))
		}
		collections = append(collections, fmt.Sprintf(`{"ns": %q, "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [%s, {"shard": "s1"}]}`,
			ns, strings.Join(chunks, ", ")))
	}
	w := &world{TB: t, release: catalog.Release80}
	w.cluster = mocktest.Cluster(t, healthy("", "", "", ", "+strings.Join(collections, ", ")), mock.Config{
		Release: w.release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)})
	asked := map[string]int{}
	w.client = mocktest.Connect(t, router.New(w.cluster, nil), func(o *options.ClientOptions) {
		o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) { asked[e.CommandName]++ }})
	})
	look := preflightReader{Cluster: w.actionCluster()}
	look.run.Plan = &plan.Plan{Steps: []plan.Step{
		{Kind: plan.Move, Namespace: "db.j", From: "s0", To: "s1"}, {Kind: plan.Move, Namespace: "db.k", From: "s0", To: "s1"},
	}}
	look.facts.Snapshot = w.snapshot()
	clear(asked)
	look.readJumbo(t.Context())
	if n := asked["splitVector"]; n != maxFlaggedChunks || len(look.facts.Unmovable) > 0 {
		t.Errorf("%d chunks are checked, and %d can't be split: %v", n, len(look.facts.Unmovable), asked)
	}
	if want := []string{"100 of 198 chunks that are flagged jumbo were checked"}; !slices.Equal(look.unread, want) {
		t.Errorf("unread: %q", look.unread)
	}
}
