package action

import (
	"errors"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
)

// The catalog has a time series under the name of its buckets, users know it by its own:
// every verb takes both (rules/03-commands §1.4).
func TestTimeSeriesByItsOwnName(t *testing.T) {
	const buckets = "app.system.buckets.ts"
	w := &world{TB: t, release: catalog.Release80}
	w.cluster, w.client = mocktest.New(t, `{"shards": [{"id": "s0"}, {"id": "s1"}], "settings": {`+stopped+`},
		"databases": [{"name": "app", "primary": "s0"}],
		"collections": [{"ns": "`+buckets+`", "key": {"meta": 1}, "chunks": [
			{"shard": "s0", "bytes": 400000000, "docs": 4000, "max": {"meta": 1}},
			{"shard": "s0", "bytes": 400000000, "docs": 4000, "max": {"meta": 2}},
			{"shard": "s0", "bytes": 400000000, "docs": 4000, "max": {"meta": 3}},
			{"shard": "s0", "bytes": 400000000, "docs": 4000}]},
			{"ns": "app.other", "key": {"x": 1}, "chunks": [{"shard": "s1", "bytes": 1, "docs": 1}]}]}`,
		mock.Config{Release: w.release, Seed: 1})
	for _, name := range []string{"app.ts", buckets} {
		why, err := Why{Namespace: name}.Run(t.Context(), Source{Client: w.client}, nil)
		if err != nil || why.Answer.About.Namespace != buckets || why.Answer.Healthy() {
			t.Errorf("why %s: %+v, %v", name, why.Answer, err)
		}
		s, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.BalancerParts, Namespaces: []string{name}}).Read(t.Context())
		if err != nil || len(s.Collections()) != 1 || s.Collection(name) == nil {
			t.Errorf("reading %s alone: %d collections, %v", name, len(s.Collections()), err)
		}
		p, err := plan.Make(s, plan.Options{Goal: plan.Goal{Kind: plan.Balance, Namespaces: []string{name}}, IgnoreWindow: true})
		if err != nil || len(p.Steps) == 0 || p.Steps[0].Namespace != buckets {
			t.Errorf("plan of %s: %+v, %v", name, p, err)
		}
	}
	for _, name := range []string{"app.t", "app.tss", "other.ts", "app.system.ts"} {
		_, err := Why{Namespace: name}.Run(t.Context(), Source{Client: w.client}, nil)
		if !errors.As(err, new(*diagnosis.NotFoundError)) {
			t.Errorf("why %s: %v", name, err)
		}
	}
	r, err := Balance{Namespaces: []string{"app.t*"}, Pace: Pace{Parallel: 1}}.Run(t.Context(), w.actionCluster(), nil)
	if err != nil || r.Moves == 0 || len(r.Namespaces) != 1 || r.Namespaces[0] != buckets {
		t.Errorf("balance: %+v, %v", r, err)
	}
}
