package router

import (
	"maps"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
)

// What the router and its members do stands in the table, in full; what is in
// the table is done or refused.
func TestEveryCommandHasItsEntry(t *testing.T) {
	mongos, members := mongosHandlers(), memberHandlers()
	table := map[string]commands.Command{}
	for _, cmd := range commands.All() {
		if _, twice := table[cmd.Name]; twice {
			t.Errorf("%s has two entries", cmd.Name)
		}
		table[cmd.Name] = cmd
		if cmd.Effect == 0 {
			t.Errorf("nobody knows what %s changes", cmd.Name)
		}
		if cmd.NoAuth == (cmd.Privilege != nil) {
			t.Errorf("%s needs a privilege, or is anyone's", cmd.Name)
		}
		if !cmd.MembersOnly && mongos[cmd.Name] == nil {
			t.Errorf("%s is in the table, but nothing answers it", cmd.Name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(mongos)), slices.Collect(maps.Keys(members))) {
		if _, known := table[name]; !known {
			t.Errorf("%s has no entry in the table", name)
		}
	}
}

// rules/03-commands §1.1; draining by steps came with 8.3, and no release lacks find.
func TestCommandsOfReleases(t *testing.T) {
	for _, tt := range []struct {
		release catalog.Release
		name    string
		has     bool
	}{
		{catalog.Release24, "find", true}, {catalog.Release24, "balancerStatus", false}, {catalog.Release34, "balancerStatus", true},
		{catalog.Release24, "mergeChunks", false}, {catalog.Release34, "mergeChunks", true}, // 2.6
		{catalog.Release40, "clearJumboFlag", false}, {catalog.Release42, "clearJumboFlag", true},
		{catalog.Release40, "getDatabaseVersion", false}, {catalog.Release42, "getDatabaseVersion", true},
		{catalog.Release42, "balancerCollectionStatus", false}, {catalog.Release42, "refineCollectionShardKey", false},
		{catalog.Release82, "startShardDraining", false}, {catalog.Release82, "shardDrainingStatus", false},
		{catalog.Release80, "startShardDraining", false}, {catalog.Release83, "startShardDraining", true},
		{catalog.Release83, "cleanupOrphaned", false},
	} {
		if _, has := commandTable(tt.release)[tt.name]; has != tt.has {
			t.Errorf("%v has %s: %v", tt.release, tt.name, has)
		}
	}
}
