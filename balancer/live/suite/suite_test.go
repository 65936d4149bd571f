package suite

import (
	"flag"
	"testing"

	"shardsh/balancer/live/suite/recorded"
)

var whole = flag.Bool("suite.whole", false, "all releases, all scenarios, every step")

// releases are those that "shardsh serve" is tested as; the gate has the ends and
// the one that was recorded.
func releases() []string {
	if *whole {
		return []string{"4.4", "5.0", "6.0", "7.0", "8.0.10", "8.0.20", "8.2.5", "8.2.6", "8.3", "9.0"}
	}
	return []string{"4.4", "8.0"}
}

// TestCluster runs the suite on the cluster that SHARDSH_LIVE_URI names, or on mock
// ones of each release, twice in a row on the same cluster. It leaves nothing behind.
func TestCluster(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	if uri := given(); uri != "" {
		twice(t, uri)
		return
	}
	for _, release := range releases() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			// A merge that the auto-merger chose before it was switched off is still made.
			args := []string{"--server-version", release, "--mock-time", "60x", "--set-parameter", "autoMergerThrottlingMS=1"}
			twice(t, serve(t, append(args, recorded.Parameters()...)...).uri)
		})
	}
}

func twice(t *testing.T, uri string) {
	for _, name := range []string{"first", "again"} {
		t.Run(name, func(t *testing.T) {
			c := aim(t, uri)
			t.Cleanup(c.leavesNothing)
			t.Cleanup(c.restore)
			t.Run("helpers", c.at(helpers))
			t.Run("plans", c.at(plans))
			t.Run("engine", c.at(engine))
			t.Run("switches", c.at(switches))
			if name == "first" { // what they log shows when they run once more
				t.Run("recorded", c.at(scenarios))
			}
		})
	}
}

// at has a part of the suite run on a cluster.
func (c *target) at(part func(*testing.T, *target)) func(*testing.T) {
	return func(t *testing.T) {
		own := *c
		own.t = t
		part(t, &own)
	}
}
