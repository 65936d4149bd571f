package action

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
	"shardsh/balancer/humanize"
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
	h := Heat{Namespaces: []string{"db.c0"}, CountDuration: time.Second, SamplesPerSecond: 5}
	source := Source{Client: w.client, Clock: w.cluster.Clock()}
	if _, err := h.Run(t.Context(), source, nil); !errors.As(err, new(*OptionError)) {
		t.Errorf("where nothing may change: %v", err)
	}
	cluster := w.actionCluster()
	cluster.Policies = []*consent.Policy{{Verbs: []string{"apply"}}}
	source.WritableCluster = &cluster
	if _, err := h.Run(t.Context(), source, nil); !errors.As(err, new(*consent.RefusedError)) {
		t.Errorf("a policy without the verb: %v", err)
	}
	if modes := analyzers(); len(modes) != 0 {
		t.Fatalf("what was refused is on: %q", modes)
	}
	cluster.Policies = nil
	result, err := h.Run(t.Context(), source, nil)
	if err != nil || len(result.Collections) != 1 || result.Collections[0].Source.SamplesPerSecond != 5 {
		t.Errorf("%+v, %v", result, err)
	}
	if modes := analyzers(); len(modes) != 1 || modes[0] != "off" {
		t.Errorf("afterwards: %q", modes)
	}
	// Nobody's load is not a finding.
	if f := result.Collections[0].Findings; len(f) != 0 {
		t.Errorf("%+v", f)
	}
}

// The load of a collection whose chunks could not be read is an error, and not an empty answer.
func TestHeatWithoutChunks(t *testing.T) {
	w := newWorld(t, crowded(12), catalog.Release80, 1)
	s := w.snapshot()
	s.Collection("db.c0").Table = nil
	_, err := Heat{Namespaces: []string{"db.c0"}, CountDuration: time.Second}.RunOnSnapshot(t.Context(),
		Source{Client: w.client, Clock: w.cluster.Clock()}, s, nil)
	if err == nil || !strings.Contains(err.Error(), "config.chunks can't be read") {
		t.Errorf("the error is %v", err)
	}
}

// Logs say which chunk is hot where no release samples queries; what shards have written of a query
// that goes to all of them counts once.
func TestHeatOfLogs(t *testing.T) {
	w := newWorld(t, crowded(12), catalog.Release44, 1)
	table := w.snapshot().Collection("db.c0").Table
	hot := table.At(5)
	entry := func(filter string, ofShard bool) string {
		shard := ""
		if ofShard {
			shard = `,"locks":{}`
		}
		return fmt.Sprintf(`{"t":{"$date":"2026-05-01T10:00:01.250Z"},"msg":"Slow query","attr":{"type":"command","ns":"db.c0",`+
			`"command":{"find":"c0","filter":%s}%s}}`, filter, shard)
	}
	lines := []string{"not JSON", strings.Repeat("x", maxLogLineBytes+10)}
	for range 80 {
		lines = append(lines, entry(humanize.Literal(table.Pattern().Bound(hot.Min)), false))
	}
	for range 20 * len(table.Owners()) {
		lines = append(lines, entry(`{"other": 1}`, true))
	}
	path := filepath.Join(t.TempDir(), "mongos.log")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Client: w.client, Clock: w.cluster.Clock()}
	result, err := Heat{Namespaces: []string{"db.c0"}, CountDuration: time.Second, Logs: []string{path}}.Run(t.Context(), source, nil)
	if err != nil || len(result.Collections) != 1 {
		t.Fatal(result, err)
	}
	c := result.Collections[0]
	if !c.Source.Logged || c.Source.Samples != 100 || c.Source.SamplingCommand != "" {
		t.Errorf("the source is %+v", c.Source)
	}
	if c.ScatteredShare.Reads != 0.2 {
		t.Errorf("%v of the reads go to all shards", c.ScatteredShare.Reads)
	}
	if len(c.Chunks) == 0 || c.Chunks[0].Samples != 80 ||
		c.Chunks[0].Min != humanize.Literal(table.Pattern().Bound(hot.Min)) {
		t.Errorf("the hottest chunk is %+v, not %v", c.Chunks, hot.Min)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readLoggedOperations(ended, []string{path}, nil, 0); !errors.Is(err, context.Canceled) ||
		errors.As(err, new(*OptionError)) {
		t.Errorf("an interrupted reading of a log: %v", err)
	}
	_, err = Heat{Logs: []string{path + "x"}}.Run(t.Context(), source, nil)
	if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a log that is missing: %v", err)
	}
}
