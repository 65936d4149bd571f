package check_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
)

func diskCases() []ruleCase {
	volumes := func(a, b catalog.Disk) *cluster {
		c := newCluster()
		c.Shards[0].Disk, c.Shards[1].Disk = a, b
		return c
	}
	left := coll("x.y", func(c *catalog.CollectionState) {
		c.Sizes = map[catalog.ShardID]catalog.ShardData{"a": {Orphans: 600_000, OrphanBytes: gib}, "b": {Orphans: 1}}
	})
	more := coll("x.z", func(c *catalog.CollectionState) {
		c.Sizes = map[catalog.ShardID]catalog.ShardData{"a": {Orphans: 600_000}}
	})
	return []ruleCase{
		{"room on both", "disk", "", nil, volumes(catalog.Disk{Total: 100, Used: 85}, catalog.Disk{Total: 100, Used: 1}), "passed"},
		{"one is too full", "disk", "", nil, volumes(catalog.Disk{Total: 100, Used: 86}, catalog.Disk{Total: 100, Used: 1}),
			"failed; warning a 86%"},
		{"another threshold", "disk", "50%", nil, volumes(catalog.Disk{Total: 100, Used: 50}, catalog.Disk{Total: 8, Used: 5}),
			"failed; warning b 62.5%"},
		{"one is not known", "disk", "", nil, volumes(catalog.Disk{}, catalog.Disk{Total: 100, Used: 1}), "passed"},
		{"none is known", "disk", "", nil, newCluster(), "unknown; unknown"},
		{"not allowed", "disk", "", nil, newCluster().gap("disks", ""), "unknown; unknown"},
		{"few", "deletions", "", nil, newCluster(left), "passed"},
		{"many in all", "deletions", "", nil, newCluster(left, more), "failed; warning a 1200000"},
		{"no sizes", "deletions", "", nil, newCluster().gap("sizes", ""), "unknown; unknown"},
	}
}

// TestDeletionsOfNamespaces: documents and ranges are of the same collections.
func TestDeletionsOfNamespaces(t *testing.T) {
	left := func(ns string) *catalog.CollectionState {
		return coll(ns, func(c *catalog.CollectionState) {
			c.Sizes = map[catalog.ShardID]catalog.ShardData{"a": {Orphans: 7}}
		})
	}
	c := newCluster(left("x.y"), left("x.z")).with(func(p *catalog.SnapshotParts) {
		p.Deletions = []catalog.RangeDeletion{{Shard: "a", Namespace: "x.y"}, {Shard: "a", Namespace: "x.z"}, {Shard: "b", Namespace: "x.y"}}
	})
	p := policy(t, "deletions", "1")
	p.Namespaces = check.Patterns{Include: []string{"x.z"}}
	list := c.report(p).Result.Findings
	if len(list) != 1 || !strings.HasSuffix(list[0].Sentence, "7 orphaned documents (0 B), in 1 range") {
		t.Errorf("%+v", list)
	}
}
