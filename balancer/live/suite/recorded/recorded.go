// Package recorded contains the recorded replies of a real MongoDB 8.0.10 cluster, scenario by
// scenario, with the scripts that produced them, and compares them with current replies. The scripts
// run unchanged in mongosh and in shardsh.
package recorded

import (
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

//go:embed testdata/*.js testdata/*.json
var files embed.FS

// ServerParameterArgs returns the server parameters of the recorded cluster: ranges can move back
// immediately, and chunks can be merged immediately.
func ServerParameterArgs() (args []string) {
	for _, p := range []string{
		"orphanCleanupDelaySecs=0", "minSnapshotHistoryWindowInSeconds=0", "transactionLifetimeLimitSeconds=1",
		"reshardingMinimumOperationDurationMillis=0",
	} {
		args = append(args, "--set-parameter", p)
	}
	return args
}

// MockArgs are those of a mock that plays a scenario.
func (s Scenario) MockArgs(t testing.TB) []string {
	t.Helper()
	delay, args := "orphanCleanupDelaySecs=900", []string{"--routers", strconv.Itoa(s.Routers)}
	switch {
	case s.UsesMembers:
		path := filepath.Join(t.TempDir(), "topology.json")
		if err := os.WriteFile(path, []byte(threeMemberTopology), 0o600); err != nil {
			t.Fatal(err)
		}
		delay, args = "orphanCleanupDelaySecs=0", []string{"--mock", path} // members.js makes it longer
	case s.Routers == 0:
		return ServerParameterArgs()
	}
	for _, p := range []string{"enableTestCommands=1", delay,
		"minSnapshotHistoryWindowInSeconds=300", "reshardingMinimumOperationDurationMillis=0"} {
		args = append(args, "--set-parameter", p)
	}
	return args
}

// threeMemberTopology is a cluster whose first shard has three members.
const threeMemberTopology = `{"shards": [
  {"id": "shard0", "host": "sh0/127.0.0.1:27120,127.0.0.1:27130,127.0.0.1:27140"},
  {"id": "shard1", "host": "sh1/127.0.0.1:27121"}, {"id": "shard2", "host": "sh2/127.0.0.1:27122"}]}`

// Scenario is one that was recorded.
type Scenario struct {
	Name string
	// DependsOn are the scenarios that ran earlier on the recorded cluster and left visible changes:
	// shards whose zones were removed.
	DependsOn []string
	// DropsAllDatabases says that the scenario drops every database of the cluster.
	DropsAllDatabases bool
	// WaitsForRounds says that the scenario waits for rounds of the balancer.
	WaitsForRounds bool
	// ActsDuringRound says that mongosh has to act within a round of the balancer.
	ActsDuringRound bool
	// Routers is the number of routers that the scenario uses; 0 means one. ROUTER_B is the address of
	// the second router.
	Routers int
	// UsesMembers says that the scenario talks to the members of a shard. On a mock, members.js answers for them.
	UsesMembers bool
	// AlsoCompared are steps recorded as "info" that are compared nevertheless.
	AlsoCompared []string
}

// Scenarios returns the scenarios in an order in which they can run on one cluster.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "01-commands"}, {Name: "02-initial-chunks"}, {Name: "03-zones", WaitsForRounds: true}, {Name: "04-settings"},
		{Name: "05-balance-by-size", WaitsForRounds: true}, {Name: "06-defrag", WaitsForRounds: true},
		{Name: "07-jumbo", WaitsForRounds: true, ActsDuringRound: true},
		{Name: "08-catalog", DependsOn: []string{"03-zones"}},
		{Name: "09-drain", DependsOn: []string{"03-zones"}, DropsAllDatabases: true},
		{Name: "10-expressions"}, {Name: "11-queries"}, {Name: "12-bulk-and-validation"},
		{Name: "13-change-streams", WaitsForRounds: true, AlsoCompared: []string{"expanded events", "database dropped"}},
		{Name: "14-explain"}, {Name: "15-keys-and-moves", WaitsForRounds: true},
		{Name: "21-two-routers", Routers: 2}, {Name: "22-secondaries", UsesMembers: true},
	}
}

// Databases returns the databases that the scenarios create and drop.
func Databases() []string {
	return []string{"g1", "g1x", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "g11", "g12", "g13", "g14", "g15",
		"g21", "g21p", "g21q", "g21r", "g21v", "g22"}
}

// WriteScripts writes the scripts of a scenario to a directory, and returns their paths in the order in
// which they run: those of the scenarios it depends on, then its own.
func (s Scenario) WriteScripts(t testing.TB) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(slices.Clone(s.DependsOn), s.Name) {
		for _, script := range []string{"lib.js", "members.js", name + ".js"} {
			if script == "members.js" && !s.UsesMembers {
				continue
			}
			text, err := fs.ReadFile(files, "testdata/"+script)
			path := filepath.Join(dir, script)
			if err := errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	return paths
}

// Steps returns the recorded steps.
func (s Scenario) Steps(t testing.TB) []Step {
	t.Helper()
	data, err := fs.ReadFile(files, "testdata/"+s.Name+".json")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, data)
}

// KnownDifferences returns the steps whose reply intentionally differs in shardsh, as "scenario: step",
// with the reason.
func KnownDifferences() map[string]string {
	known := routerDifferences()
	maps.Copy(known, secondaryDifferences())
	maps.Copy(known, map[string]string{
		"08-catalog: getShardDistribution": "mongosh wraps the result as {type, value}; shardsh gives the value itself",
		"09-drain: addShard back": "mongosh does not catch the error of a call that is returned inside try; " +
			"shardsh does, and the step sees the same code as a value",
	})
	return known
}

// Compare compares the recording with a new output. A step with a known difference must differ.
func (s Scenario) Compare(t testing.TB, printed []byte, known map[string]string) {
	t.Helper()
	byName := map[string]Step{}
	for _, g := range parse(t, printed) {
		byName[g.Name] = g
	}
	compared := 0
	for _, w := range s.Steps(t) {
		if w.Compare == "info" && !slices.Contains(s.AlsoCompared, w.Name) {
			continue
		}
		g, ok := byName[w.Name]
		if !ok {
			g, ok = byName[stepRenames()[w.Name]]
		}
		if !ok {
			t.Errorf("step %q is missing", w.Name)
			continue
		}
		compared++
		reason, listed := known[s.Name+": "+w.Name]
		switch same := w.matches(g); {
		case !same && !listed:
			t.Errorf("step %q differs\n   want %s\n   got  %s", w.Name, w.brief(), g.brief())
		case same && listed:
			t.Errorf("step %q matches and is listed as different: %s", w.Name, reason)
		}
	}
	if compared < minCompared {
		t.Errorf("only %d steps were compared", compared)
	}
}

// minCompared is the minimum number of steps that are compared in each scenario.
const minCompared = 10

// stepRenames returns the steps whose name contains a Long: mongosh's relaxed EJSON rounds the number,
// and shardsh's keeps it.
func stepRenames() map[string]string {
	return map[string]string{
		`arithmetic 35 {"$multiply":[9223372036854776000,2]}`: `arithmetic 35 ` +
			`{"$multiply":[{"$numberLong":"9223372036854775807"},2]}`,
		`comparison 15 {"$cmp":[9007199254740992,9007199254740992]}`: `comparison 15 ` +
			`{"$cmp":[{"$numberLong":"9007199254740993"},9007199254740992]}`,
	}
}
