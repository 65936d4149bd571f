package action

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// primaryMoves shows a movePrimary under way, of servers of a version.
type primaryMoves struct {
	wire.Handler
	version string
	asked   *int
}

func (p primaryMoves) Handle(ctx context.Context, r wire.Request) bson.Raw {
	reply := p.Handler.Handle(ctx, r)
	marshal := func(d bson.D) bson.Raw {
		raw, err := bson.Marshal(d)
		if err != nil {
			return reply
		}
		return raw
	}
	switch text := r.Body.String(); {
	case r.Command == "buildInfo":
		return marshal(bson.D{{Key: "version", Value: p.version}, {Key: "ok", Value: 1.0}})
	case r.Command == "aggregate" && strings.Contains(text, "$currentOp") && strings.Contains(text, "_shardsvrMovePrimary"):
		*p.asked++
		op := bson.D{{Key: "shard", Value: "s1"}, {Key: "command", Value: bson.D{{Key: "_shardsvrMovePrimary", Value: "app"}}}}
		return marshal(bson.D{{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: "admin.$cmd.aggregate"},
			{Key: "firstBatch", Value: bson.A{op}}}}, {Key: "ok", Value: 1.0}})
	}
	return reply
}

// A draining does not begin beside a movePrimary of somebody else, where that loses metadata:
// the cluster is asked.
func TestDrainBesideMovePrimary(t *testing.T) {
	for version, stops := range map[string]bool{"9.0.1": true, "9.0.2": false} {
		w := &world{TB: t, release: catalog.Release83}
		asked := 0
		w.cluster = mocktest.Cluster(t, healthy("", "", "", ""), mock.Config{Release: w.release, Seed: 1})
		w.client = mocktest.Connect(t, primaryMoves{router.New(w.cluster, nil), version, &asked})
		found, err := Drain{Shard: "s0", Remove: true, RunOptions: RunOptions{
			Pace: Pace{Parallel: 1}, NoJournal: true, PreflightOptions: PreflightOptions{PreflightOnly: true}}}.Run(t.Context(), w.actionCluster(), nil)
		if err != nil {
			t.Fatal(err)
		}
		stopped := false
		for _, o := range found.Preflight.StoppingObstacles() {
			stopped = stopped || o.Code == diagnosis.KnownFault && strings.HasPrefix(o.Sentence, "SERVER-134533 ")
		}
		if stopped != stops || asked > 0 != stops {
			t.Errorf("%s: stopped: %t, asked %d times: %v", version, stopped, asked, texts(found.Preflight.Obstacles))
		}
	}
}
