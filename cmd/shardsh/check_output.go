package main

import (
	"io"

	"shardsh/balancer/check"
	"shardsh/balancer/report/machine"
	"shardsh/cmd/shardsh/checks"
	"shardsh/cmd/shardsh/cmdline"
)

// show writes what was found in the format that was asked for.
func (o *checkFlags) show(to io.Writer, reports []check.Report) error {
	switch o.format {
	case "json":
		if len(reports) == 1 {
			return writeJSON(to, reports[0])
		}
		return writeJSON(to, reports)
	case "junit":
		return machine.JUnit(to, reports)
	case "prometheus":
		return machine.Prometheus(to, reports)
	case "github":
		return machine.GitHub(to, reports)
	case "nagios":
		return machine.Nagios(to, reports)
	}
	checks.Text(to, reports, o.quiet)
	return nil
}

// serviceState ends the program as Nagios expects it of a plugin.
func serviceState(reports []check.Report) error {
	if state := machine.NagiosState(reports); state != machine.NagiosOK {
		return pluginError{int(state)}
	}
	return nil
}

func checkText() cmdline.Text {
	return cmdline.Text{
		Intro: `Checks by rules that clusters are healthy and balanced. Nothing on them changes.`,
		Examples: []string{
			"shardsh check mongodb://host:27017 --ns 'shop.*' --max jumbo=5,uneven=20%",
			"shardsh check mongodb://a:27017 mongodb://b:27017 --policy policy.yaml --json",
			"shardsh check --from cluster.snap --rules all --output junit -o check.xml",
			"shardsh check --help-all                         # lists the rules",
		},
		More: "Rules (a star marks the default ones, thresholds are in brackets):\n" + checks.RuleUsage() + `
Exit codes: 0 all is well; 3 findings at or above --fail-on; 1 none of these, but
not everything could be checked; 2 wrong command line. With --output nagios they
are those of Nagios: 0 ok, 1 warning, 2 critical, 3 unknown.`,
	}
}
