package action

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
)

// To have queries sampled changes the cluster: nothing does that where nothing may change, or a
// policy does not allow it; and what was switched on is off at the end.
func TestHeatSamplesOnlyIfAllowed(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(3, 9)), stopped), catalog.Release80, 1)
	analyzers := func() (modes []string) {
		t.Helper()
		docs, err := w.client.Database("config").Collection("queryAnalyzers").Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Mode string }
		if err := docs.All(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			modes = append(modes, one.Mode)
		}
		return modes
	}
	h := Heat{Namespaces: []string{"db.c0"}, For: time.Second, Sample: 5}
	source := Source{Client: w.client, Clock: w.cluster.Clock()}
	if _, err := h.Run(t.Context(), source, nil); !errors.As(err, new(*OptionError)) {
		t.Errorf("where nothing may change: %v", err)
	}
	cluster := w.actionCluster()
	cluster.Policies = []*consent.Policy{{Verbs: []string{"apply"}}}
	source.Changes = &cluster
	if _, err := h.Run(t.Context(), source, nil); !errors.As(err, new(*consent.RefusedError)) {
		t.Errorf("a policy without the verb: %v", err)
	}
	if modes := analyzers(); len(modes) != 0 {
		t.Fatalf("what was refused is on: %q", modes)
	}
	cluster.Policies = nil
	result, err := h.Run(t.Context(), source, nil)
	if err != nil || len(result.Collections) != 1 || result.Collections[0].Source.Sampling != 5 {
		t.Errorf("%+v, %v", result, err)
	}
	if modes := analyzers(); len(modes) != 1 || modes[0] != "off" {
		t.Errorf("afterwards: %q", modes)
	}
	// Nobody's load is no finding.
	if f := result.Collections[0].Findings; len(f) != 0 {
		t.Errorf("%+v", f)
	}
}
