package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/check"
	"shardsh/balancer/report/machine"
	"shardsh/cmd/shardsh/checkcmd"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// checkFlags are the flags of "shardsh check".
type checkFlags struct {
	outputFlags
	checkcmd.Options
	addresses   []string
	wait, every time.Duration
	long        bool
	columns     int // of the terminal

	action action.Check // the resulting action
}

// checkFormats are the output formats of check, the default first.
var checkFormats = []string{"text", "json", "junit", "prometheus", "github", "nagios"}

func (o *checkFlags) groups() []cmdline.Group {
	groups := append(o.Options.Groups(), cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		addAdvisoriesFlag(f, &o.action.AdvisoriesFile)
		cmdline.DurationVar(f, &o.wait, "wait", "`TIME` check again until all is well, for at most this time")
		cmdline.DurationVar(f, &o.every, "every", "`TIME` how often to check with --wait (5s)")
		addTimeZoneFlag(f, &o.timeZoneName)
		f.BoolVar(&o.long, "long", false, "print all collections, findings and rules")
		o.outputFlags.addFlags(f, checkFormats...)
	}))
	return append(append(groups, o.fleet.group()), o.sharedGroups()...)
}

// parseArgs parses the command line, and builds the policy.
func (o *checkFlags) parseArgs(env environment, words []string) (err error) {
	if err := o.fleet.selectTargets(); err != nil {
		return err
	}
	o.addresses = words
	if len(words) > 1 && (o.from != "" || o.mock != "") {
		return usagef("--from and --mock are one cluster, without addresses")
	}
	if o.fleet.isSet() && len(words) > 0 {
		return o.parseFleetArgs(env, words)
	}
	if err := o.sourceFlags.parseArgs(env, words[:min(1, len(words))]); err != nil {
		return err
	}
	for _, address := range words[min(1, len(words)):] {
		one := o.clusterFlags
		err := one.takeAddress(address)
		if err == nil {
			err = one.check()
		}
		if err != nil {
			return err
		}
	}
	if err := o.checkFormat(checkFormats...); err != nil {
		return err
	}
	if o.wait != 0 && o.fleet.isFleet() {
		return usagef("--wait is for one cluster: add --cluster NAME")
	}
	if o.wait != 0 && o.from != "" {
		return usagef("--wait checks a cluster again; the file of --from does not change")
	}
	o.action.Wait, o.action.Every = o.wait, o.every
	if err := o.action.Validate(); err != nil {
		return optionsUsageError(err)
	}
	o.action.Policy, err = o.Policy()
	return err
}

// refuse reports a wrong command line. Nagios reads the report from standard output.
func (o *checkFlags) refuse(env environment, err error) error {
	at := slices.Index(env.args, "--output")
	if !slices.Contains(env.args, "--output=nagios") && (at < 0 || at+1 >= len(env.args) || env.args[at+1] != "nagios") {
		return err
	}
	reports := []check.Report{{Failure: check.ReadFailure{Message: secret.Redact(err.Error())}}}
	return errors.Join(machine.WriteNagios(env.out(), reports), nagiosExit(reports))
}

// run implements "shardsh check": it checks whether the cluster is healthy.
func (o *checkFlags) run(ctx context.Context, env environment) error {
	o.columns = env.columns()
	reports, err := o.checkAll(ctx, env)
	if err != nil {
		return err
	}
	if err := o.write(env, func(to io.Writer) error { return o.show(to, reports) }); err != nil {
		return err
	}
	return o.exitError(reports)
}

// exitError returns the error with the exit code for reports: findings take precedence over unreachable
// clusters.
func (o *checkFlags) exitError(reports []check.Report) error {
	worst := check.WorstStatus(reports)
	switch {
	case o.format == "nagios":
		return nagiosExit(reports)
	case worst == check.Failed:
		return findingsError{}
	case worst == check.Unknown:
		return reportedError{errors.New("not everything could be checked")}
	}
	return nil
}

// show writes the reports in the requested format.
func (o *checkFlags) show(to io.Writer, reports []check.Report) error {
	switch o.format {
	case "json":
		if len(reports) == 1 && !o.fleet.isFleet() {
			return writeJSON(to, reports[0])
		}
		return writeJSON(to, reports)
	case "junit":
		return machine.WriteJUnit(to, reports)
	case "prometheus":
		return machine.WritePrometheus(to, reports)
	case "github":
		return machine.WriteGitHub(to, reports)
	case "nagios":
		return machine.WriteNagios(to, reports)
	}
	if o.fleet.isFleet() && !o.long {
		return o.showFleet(to, reports)
	}
	checkcmd.Text{Quiet: o.quiet.On, Long: o.long}.Write(to, reports)
	return nil
}

// showFleet writes a line for each cluster, or only for those that have not passed.
func (o *checkFlags) showFleet(to io.Writer, reports []check.Report) error {
	states := map[check.Status]string{check.Failed: "FAILED", check.Unknown: "UNKNOWN", check.Passed: "OK"}
	var lines []fleetLine
	for _, r := range reports {
		state := states[r.Status()]
		if o.quiet.On && state == "OK" {
			continue
		}
		text := strings.TrimPrefix(strings.TrimPrefix(checkcmd.Headline(r), state), ": ")
		lines = append(lines, fleetLine{state: state, name: r.Name(), text: text})
	}
	if len(lines) == 0 {
		return nil
	}
	return writeFleet(to, lines, o.columns)
}

// nagiosExit returns the exit code of a Nagios plugin as an error.
func nagiosExit(reports []check.Report) error {
	if state := machine.NagiosState(reports); state != machine.NagiosOK {
		return nagiosError{int(state)}
	}
	return nil
}

func checkText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Checks by rules that clusters are healthy and balanced. Nothing on them changes.`,
		Examples: []string{
			"shardsh check mongodb://host:27017 --ns 'shop.*' --max jumbo=5,uneven=20%",
			"shardsh check mongodb://a:27017 mongodb://b:27017 --policy policy.yaml --json",
		},
		More: "Rules (a star marks the default ones, thresholds are in brackets):\n" + checkcmd.RuleUsage() + `
Exit codes: 0 all is well; 3 findings at or above --fail-on; 1 none of these, but
not everything could be checked; 2 wrong command line. With --output nagios they
are those of Nagios: 0 ok, 1 warning, 2 critical, 3 unknown.`,
	}
}
