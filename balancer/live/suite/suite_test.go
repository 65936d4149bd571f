package suite

import (
	"flag"
	"strings"
	"testing"

	"shardsh/balancer/live/suite/recorded"
)

var whole = flag.Bool("suite.whole", false, "all releases with all parts, twice, all scenarios, every step")

// parts of the suite, in the order in which they run.
var parts = []struct {
	name string
	run  func(*testing.T, *target)
}{
	{"helpers", helpers}, {"plans", plans}, {"engine", engine}, {"switches", switches}, {"recorded", scenarios},
}

const all = "helpers plans engine switches recorded"

// releases are those that "shardsh serve" is tested as, with the parts that run on each, and on it again.
// The gate has everything on the oldest, on the one that was recorded all but the helpers, which the
// newest has, with the most commands, and on those between what goes by the release: plans and the engine.
func releases() []struct{ version, first, again string } {
	list := []struct{ version, first, again string }{
		{"4.4", all, ""}, {recordedVersion, "plans engine switches recorded", "plans engine"},
		{"8.0.20", "plans engine", ""}, {"8.2.5", "plans engine", ""}, {"8.2.6", "plans engine", ""},
		{"8.3", "plans engine", ""}, {"9.0", "helpers plans engine", ""},
	}
	if !*whole {
		return list
	}
	for _, version := range []string{"5.0", "6.0", "7.0"} {
		list = append(list, struct{ version, first, again string }{version: version})
	}
	for i := range list {
		list[i].first, list[i].again = all, all
	}
	return list
}

// TestCluster runs the suite on the cluster that SHARDSH_LIVE_URI names, twice in a row, or on mock
// ones of each release. It leaves nothing behind.
func TestCluster(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	if uri := given(); uri != "" {
		once(t, uri, "first", all)
		once(t, uri, "again", all)
		return
	}
	for _, r := range releases() {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			// A merge that the auto-merger chose before it was switched off is still made.
			args := []string{"--server-version", r.version, "--mock-time", "60x", "--set-parameter", "autoMergerThrottlingMS=1"}
			uri := serve(t, append(args, recorded.ServerParameterArgs()...)...).uri
			once(t, uri, "first", r.first)
			if r.again != "" {
				once(t, uri, "again", r.again)
			}
		})
	}
}

// once runs some parts of the suite.
func once(t *testing.T, uri, name, which string) {
	t.Run(name, func(t *testing.T) {
		c := aim(t, uri)
		t.Cleanup(c.leavesNothing)
		t.Cleanup(c.restore)
		for _, part := range parts {
			// What the scenarios log shows when they run once more.
			if strings.Contains(which, part.name) && (part.name != "recorded" || name == "first") {
				t.Run(part.name, c.at(part.run))
			}
		}
	})
}

// at has a part of the suite run on a cluster.
func (c *target) at(part func(*testing.T, *target)) func(*testing.T) {
	return func(t *testing.T) {
		own := *c
		own.t = t
		part(t, &own)
	}
}
