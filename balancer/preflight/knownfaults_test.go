package preflight_test

import (
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
)

// cluster is one of three shards of a version.
func cluster(version string) *catalog.Snapshot {
	p := catalog.SnapshotParts{Version: version, Settings: catalog.DefaultSettings(),
		Databases: []catalog.Database{{Name: "db", Primary: "a"}}}
	for _, id := range []catalog.ShardID{"a", "b", "c"} {
		p.Shards = append(p.Shards, catalog.ShardState{Shard: catalog.Shard{ID: id}})
	}
	return catalog.NewSnapshot(p)
}

// A draining that begins during movePrimary loses metadata up to 9.0.1: it is stopped there,
// and nowhere else (SERVER-134533).
func TestDrainDuringMovePrimary(t *testing.T) {
	for _, tt := range []struct {
		name, version string
		remove        bool
		moving        []string
		despite       []diagnosis.Code
		stops, named  bool
	}{
		{name: "both", version: "9.0.1", remove: true, moving: []string{"app"}, stops: true, named: true},
		{name: "despite", version: "9.0.1", remove: true, moving: []string{"app"},
			despite: []diagnosis.Code{diagnosis.KnownFault}, named: true},
		{name: "mended", version: "9.0.2", remove: true, moving: []string{"app"}},
		{name: "nobody moves a primary", version: "9.0.1", remove: true},
		{name: "the shard is not marked", version: "9.0.1", moving: []string{"app"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := preflight.Check(preflight.Run{
				Verb: "drain", Shard: "a", Remove: tt.remove, MovePrimaries: true, Plan: &plan.Plan{}, DespiteCodes: tt.despite,
				Advisories: advisory.Embedded(),
			}, preflight.Facts{Snapshot: cluster(tt.version), DatabasesMovingPrimary: tt.moving})
			stops, named := false, false
			for _, o := range report.Obstacles {
				if strings.HasPrefix(o.Sentence, "SERVER-134533 of 9.0.1, fixed in 9.0.2: ") && o.Code == diagnosis.KnownFault {
					stops, named = o.Stops, true
				}
			}
			if stops != tt.stops || named != tt.named || report.Ready == tt.stops {
				t.Errorf("stops: %t, named: %t, ready: %t: %+v", stops, named, report.Ready, report.Obstacles)
			}
		})
	}
}

// Bugs that stop a run leave room for those that do not.
func TestMilderFaultsAreNamed(t *testing.T) {
	var list advisory.List
	stops := advisory.DataLoss
	for _, severity := range []advisory.Severity{stops, stops, stops, advisory.Exposure} {
		list.Advisories = append(list.Advisories, advisory.Advisory{ID: string(severity), Severity: severity,
			Affected: []advisory.Range{{}}, Commands: []advisory.Command{advisory.Move}})
	}
	report := preflight.Check(preflight.Run{Verb: "balance", Advisories: list},
		preflight.Facts{Snapshot: cluster("8.0.10")})
	if !slices.ContainsFunc(report.Obstacles, func(o preflight.Obstacle) bool {
		return !o.Stops && strings.HasPrefix(o.Sentence, string(advisory.Exposure)+" of 8.0.10")
	}) {
		t.Errorf("%+v", report.Obstacles)
	}
}

// What a run sends decides what concerns it.
func TestCommandsOf(t *testing.T) {
	s := cluster("8.0.10")
	steps := &plan.Plan{Steps: []plan.Step{{Kind: plan.Split}, {Kind: plan.Merge}}}
	for want, run := range map[string]preflight.Run{
		"[move]":                          {Verb: "balance"},
		"[split merge]":                   {Verb: "defragment", Plan: steps},
		"[move drain]":                    {Verb: "drain", Shard: "b", Remove: true, MovePrimaries: true},
		"[split merge drain movePrimary]": {Verb: "drain", Shard: "a", Remove: true, MovePrimaries: true, Plan: steps},
		"[split merge movePrimary]":       {Verb: "drain", Shard: "a", MovePrimaries: true, Plan: steps},
		"[split merge drain transition]":  {Verb: "drain", Shard: "config", Remove: true, Plan: steps},
	} {
		var list []string
		for _, c := range preflight.SentCommands(run, s) {
			list = append(list, string(c))
		}
		if got := "[" + strings.Join(list, " ") + "]"; got != want {
			t.Errorf("%+v sends %s, want %s", run, got, want)
		}
	}
}
