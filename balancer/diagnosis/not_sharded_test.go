package diagnosis

import (
	"testing"

	"shardsh/balancer/catalog"
)

// Of a collection that is not sharded it is told where it lies and what moves it:
// the catalog knows of those that were moved, the caller of others.
func TestNotSharded(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release70, catalog.Release80} {
		c := newCluster(t).collection("x.sharded", []string{"a", "b"}).collection("x.moved", []string{"b"}, unsplittable)
		c.Release = release
		c.Databases = []catalog.Database{{Name: "x", Primary: "a"}}
		s := c.snapshot()
		command := `sh.moveCollection("x.logs", "b")`
		if release == catalog.Release70 {
			command = `sh.movePrimary("x", "b")`
		}
		a, ok := WhyNotSharded(s, "x.logs", true)
		if !ok || !a.Healthy() || len(a.Notes) != 1 || len(a.Notes[0].Commands) != 1 || a.Notes[0].Commands[0] != command ||
			a.Notes[0].Sentence != "x.logs is not sharded: all of it is on shard a, the primary shard of x, "+
				"and the balancer does not move it" {
			t.Errorf("%s: %+v", release, a)
		}
		a, ok = WhyNotSharded(s, "x.moved", false)
		if !ok || a.Notes[0].Scope.Shard != "b" {
			t.Errorf("%s: %+v", release, a)
		}
		for ns, exists := range map[string]bool{"x.sharde": false, "y.z": true} {
			if a, ok := WhyNotSharded(s, ns, exists); ok {
				t.Errorf("%s: %+v", ns, a)
			}
		}
	}
}
