package diagnosis

import (
	"testing"

	"shardsh/balancer/catalog"
)

// What is left is the operator's alone only if the balancer may move none of the chunks: they do
// not count unsharded collections.
func TestStuckDrain(t *testing.T) {
	three := []string{"x.a", "x.b", "x.c"}
	for _, tt := range []struct {
		name string
		d    Drain
		want bool
	}{
		{"chunks and collections", Drain{Chunks: 2, Collections: three}, false},
		{"collections alone", Drain{Collections: three}, true},
		{"chunks that are held", Drain{Chunks: 2, Disabled: []DisabledCollection{{Namespace: "x.y"}}, DisabledChunks: 2, Collections: three}, true},
		{"one that is not", Drain{Chunks: 3, Disabled: []DisabledCollection{{Namespace: "x.y"}}, DisabledChunks: 2}, false},
		{"jumbo chunks that are not forced", Drain{Chunks: 2, JumboToForce: 2, ForceCommands: []string{"sh.moveRange"}}, true},
		{"some of them", Drain{Chunks: 3, JumboToForce: 2, ForceCommands: []string{"sh.moveRange"}}, false},
		{"unknown", Drain{Chunks: -1, Collections: three}, false},
		{"nothing", Drain{}, false},
	} {
		if got := tt.d.IsStuck(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A chunk with the flag waits for the operator on every release: the flag beats everything, draining
// too (rules/01-examples-and-traps §12). That moves from draining shards are forced up to 8.2.5 is
// about large chunks without it. The commands name the chunk.
func TestJumboChunksOfADrain(t *testing.T) {
	for _, tt := range []struct {
		release catalog.Release
		want    string
	}{
		{catalog.Release44, "stuck"},
		{catalog.Release50, "stuck"},
		{catalog.Release80.WithPatch(10), "stuck"},
		{catalog.Release80.WithPatch(20), "stuck"},
		{catalog.Release82.WithPatch(5), "stuck"},
		{catalog.Release82.WithPatch(6), "stuck"},
		{catalog.Release83, "stuck"},
		{catalog.Release90, "stuck"},
	} {
		c := newCluster(t).shard("c").draining().collection("x.y", []string{"a", "!c"}, sized(nil))
		c.Release = tt.release
		s := c.snapshot()
		shard, _ := s.Shard("c")
		d := DrainOf(s, shard)
		got := ""
		if d.IsStuck() {
			got = "stuck"
		}
		if got != tt.want || (len(d.Commands()) == 1) != (tt.want != "") {
			t.Errorf("%s: %q, commands %q", tt.release, got, d.Commands())
		}
		first := `sh.moveRange("x.y", <shard>, {"k": 0}, {"k": MaxKey()}, { forceJumbo: true })`
		if !tt.release.FCVAtLeast(catalog.Release60) { // without moveRange
			first = `db.adminCommand({ moveChunk: "x.y", bounds: [{"k": 0}, {"k": MaxKey()}], to: <shard>, forceJumbo: true })`
		}
		if tt.want != "" && d.Commands()[0] != first {
			t.Errorf("%s: %s, want %s", tt.release, d.Commands()[0], first)
		}
		const sentence = "shard c is stuck draining; you must move 1 jumbo chunk by force"
		if f := d.OperatorFinding(); tt.want != "" && f.Sentence != sentence {
			t.Errorf("%s: %s", tt.release, f.Sentence)
		}
	}
}
