package suite

import (
	"flag"
	"strings"
	"testing"

	"shardsh/balancer/live/suite/recorded"
)

var asRecorded = flag.Bool("suite.recorded", false,
	"the cluster has the server parameters of the recordings, and nothing else on it")

// recordedVersion is what the recordings are of.
const recordedVersion = "8.0.10"

// scenarios runs the recorded ones, where they can be what they were.
func scenarios(t *testing.T, c *target) {
	switch {
	case c.version != recordedVersion:
		t.Skipf("they were recorded on %s, this is %s", recordedVersion, c.version)
	case !c.mock && !*asRecorded:
		t.Skipf("they need shards that delete at once what was moved away, see suite/recorded: give -suite.recorded "+
			"for a cluster that runs with %v", recorded.ServerParameterArgs())
	case strings.Join(c.shards, " ") != "shard0 shard1 shard2":
		t.Skipf("they were recorded with shards shard0, shard1 and shard2, here are %v", c.shards)
	}
	for _, s := range recorded.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			switch {
			case s.Routers > 1:
				t.Skip("it needs two routers: cmd/shardsh has them")
			case s.UsesMembers:
				t.Skip("it needs a shard of three members: cmd/shardsh has one")
			case s.DropsAllDatabases && !c.alone:
				t.Skip("it drops all databases, and there are some of others")
			case s.DropsAllDatabases:
				t.Skip("the shard that it takes out keeps its databases, and could not come back")
			case s.WaitsForRounds && !*whole && c.mock:
				t.Skip("it takes its time: -suite.whole")
			}
			for _, name := range recorded.Databases() {
				if err := c.client.Database(name).Drop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			uri := c.uri
			if s.ActsDuringRound && c.mock { // this one's rounds come faster than scripts look
				uri = serve(t, append(recorded.ServerParameterArgs(), "--mock-time", "real")...).uri
			}
			r := well(t, append([]string{"--quiet", uri}, s.WriteScripts(t)...)...)
			s.Compare(t, []byte(r.stdout), recorded.KnownDifferences())
		})
	}
}
