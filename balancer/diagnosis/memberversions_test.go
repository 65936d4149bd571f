package diagnosis

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

func TestMemberVersions(t *testing.T) {
	c := newCluster(t)
	c.Version, c.ConfigVersion = "8.0.10", "8.2.6"
	c.Routers = []catalog.Router{{ID: "r1", Version: "8.0.10", Ping: noon}}
	c.Members = []catalog.Member{
		{Shard: "config", Host: "c1:1", Version: "8.2.6", Primary: true}, {Shard: "config", Host: "c2:1", Version: "8.2.6"},
		{Shard: "a", Host: "a1:1", Version: "8.0.10"}, {Shard: "b", Host: "b1:1", Problem: "no route"},
	}
	found := VersionFindings(c.snapshot())
	want := "routers, config servers and shards are of different releases: 8.0 and 8.2 " +
		"(members: 1 runs 8.0.10, 2 run 8.2.6; 1 member did not answer (b1:1))"
	if len(found) != 1 || found[0].Sentence != want {
		t.Errorf("%+v, want %s", found, want)
	}
	// Patches of one line that choose donors alike differ, too.
	c.Version, c.ConfigVersion, c.Routers = "8.0.21", "8.0.21", nil
	c.Members = []catalog.Member{{Shard: "a", Host: "a1:1", Version: "8.0.21"}, {Shard: "a", Host: "a2:1", Version: "8.0.23"}}
	if found := VersionFindings(c.snapshot()); len(found) != 1 || !strings.Contains(found[0].Sentence, "1 runs 8.0.21, 1 runs 8.0.23") {
		t.Errorf("%+v", found)
	}
}
