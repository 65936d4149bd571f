package main

import (
	"errors"
	"fmt"
	"io"

	"shardsh/balancer/check"
	"shardsh/balancer/report/machine"
	"shardsh/cmd/shardsh/checks"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// show writes what was found in the format that was asked for.
func (o checkLine) show(to io.Writer, reports []check.Report) error {
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

// unknownService tells Nagios, which reads standard output, about a mistake on the
// command line.
func (env environment) unknownService(err error) error {
	reports := []check.Report{{Trouble: check.Trouble{Message: secret.Redact(err.Error())}}}
	return errors.Join(machine.Nagios(env.told(), reports), serviceState(reports))
}

func printCheckHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Checks that a cluster is well, for CI and monitoring: that its collections are
balanced, and what else the rules say. Nothing on the cluster changes.

Usage:
  shardsh check [options] ADDRESS...

%s
Rules (the usual ones have a star, thresholds are in brackets):
%s
Examples:
  shardsh check mongodb://host:27017
  shardsh check mongodb://host:27017 --ns 'shop.*' --max jumbo=5,uneven=20%%
  shardsh check mongodb://host:27017 --allow draining --wait 10m --quiet
  shardsh check mongodb://a:27017 mongodb://b:27017 --policy policy.yaml --json
  shardsh check --from cluster.snap --rules all --output junit -o check.xml

Exit codes: 0 all is well; 3 findings at or above --fail-on; 1 none of these,
but not everything could be asked; 2 wrong command line. With --output nagios
they are those of Nagios: 0 ok, 1 warning, 2 critical, 3 unknown.
`, cmdline.Usage(groups), checks.RuleUsage())
}
