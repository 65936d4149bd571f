//go:build unix

package suite

// looks are commands that only look, and scripts that do.
func looks() []work {
	look := func(name string, words ...string) work {
		return work{
			name: name, prepare: func(*rig) {}, done: func(*rig) error { return nil },
			first: func(*rig) []string { return words },
			again: func(*rig) []string { return words },
		}
	}
	return []work{
		look("check", "check"),
		look("why", "why"),
		look("snapshot", "snapshot", "-o", "-"),
		look("plan", "plan", "--ns", namespace),
		look("forecast", "forecast"),
		look("report", "report", "-o", "-"),
		look("map", "map", "--ns", namespace),
		look("simulate", "simulate", "--change", "drain shard2"),
		look("watch", "watch", "--once"),
		look("script", "--eval", `sh.status(); sh.explain("`+namespace+`", { k: 7 }); sh.waitForBalancerOff(); `+
			`db.getSiblingDB("`+database+`").orders.find({}, { pad: 0 }).batchSize(100).toArray().length`),
	}
}
