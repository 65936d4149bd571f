package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/report/machine"
	"shardsh/bindings/plaintext"
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
	for i, r := range reports {
		if len(reports) > 1 {
			if i > 0 && !o.quiet {
				fmt.Fprintln(to)
			}
			fmt.Fprintf(to, "%s\n", plaintext.VisibleLine(r.Address))
		}
		o.showReport(to, r)
	}
	return nil
}

// mostBalanced is how many balanced collections have a line each.
const mostBalanced = 20

// showReport writes one cluster for people: a line for each collection that is not
// balanced, what else was found, and the end of it.
func (o checkLine) showReport(to io.Writer, r check.Report) {
	if r.Result == nil {
		fmt.Fprintf(to, "UNKNOWN: %s\n", plaintext.VisibleLine(r.Trouble.Message))
		return
	}
	if choice, err := r.Result.Policy.Choice("compliant"); err == nil && choice.On {
		o.showCollections(to, r.Result)
	}
	for _, f := range r.Result.Findings {
		if f.Rule == "compliant" || o.quiet && f.Excuse != "" {
			continue
		}
		fmt.Fprintf(to, "%-8s  %s\n", grade(f), plaintext.VisibleLine(f.Sentence+" ("+reason(r.Result, f)+")"))
		for _, command := range f.Commands {
			fmt.Fprintf(to, "%10s%s\n", "", plaintext.VisibleLine(command))
		}
	}
	if status := r.Status(); !o.quiet || status != check.Passed {
		fmt.Fprintln(to, plaintext.VisibleLine(headline(r)))
	}
}

// showCollections has those first that are not as they should be.
func (o checkLine) showCollections(to io.Writer, r *check.Result) {
	list := r.Chosen()
	if len(list) == 0 && !o.quiet {
		fmt.Fprintln(to, "no sharded collections")
	}
	balanced := func(b diagnosis.Balance) bool { return b.Known && b.Balanced }
	slices.SortStableFunc(list, func(a, b diagnosis.Balance) int {
		switch {
		case balanced(a) == balanced(b):
			return 0
		case balanced(a):
			return 1
		}
		return -1
	})
	first := slices.IndexFunc(list, balanced)
	more := 0
	if first >= 0 && (o.quiet || len(list)-first > mostBalanced) {
		more, list = len(list)-first, list[:first]
	}
	width := 0
	for _, b := range list {
		width = max(width, len(plaintext.VisibleLine(b.Namespace)))
	}
	for _, b := range list {
		fmt.Fprintf(to, "%-*s  %s\n", width, plaintext.VisibleLine(b.Namespace), plaintext.VisibleLine(stateOf(r, b)))
	}
	switch {
	case o.quiet || more == 0:
	case len(list) == 0:
		fmt.Fprintf(to, "all %d collections are balanced\n", more)
	default:
		fmt.Fprintf(to, "the other %d collections are balanced\n", more)
	}
}

// stateOf returns how a collection is, and why that does not matter.
func stateOf(r *check.Result, b diagnosis.Balance) string {
	state := "balanced"
	switch {
	case !b.Known:
		state = "not known: " + b.Reason
	case !b.Balanced:
		state = "NOT balanced: " + b.Why()
	}
	excuse := b.Hold.String()
	for _, f := range r.Findings {
		if f.Rule == "compliant" && f.About.Namespace == b.Namespace {
			if f.Unknown {
				_, why, _ := strings.Cut(f.Sentence, ": ")
				state = "not known: " + why
			}
			excuse = f.Excuse
		}
	}
	if excuse == "" {
		return state
	}
	return state + " (" + excuse + ")"
}

// grade is the first word about a finding.
func grade(f check.Finding) string {
	switch {
	case f.Unknown:
		return "unknown"
	case f.Excuse != "":
		return "excused"
	}
	return f.Severity.String()
}

// reason is what the finding is measured by, and why it does not fail.
func reason(r *check.Result, f check.Finding) string {
	text := f.Rule
	if c, err := r.Policy.Choice(f.Rule); err == nil && f.Number != nil {
		text += fmt.Sprintf(": %s, at most %s", f.Number, c.Max)
	}
	if f.Excuse != "" {
		text += "; " + f.Excuse
	}
	return text
}

// headline returns what came of a check in one line.
func headline(r check.Report) string {
	switch {
	case r.Result == nil:
		return "UNKNOWN: " + r.Trouble.Message
	case r.Status() == check.Failed:
		failing := r.Result.Failing()
		if len(failing) == 1 {
			return "FAILED: " + failing[0].Sentence
		}
		return fmt.Sprintf("FAILED: %d findings, the first: %s", len(failing), failing[0].Sentence)
	case r.Status() == check.Unknown:
		var names []string
		for _, c := range r.Result.Policy.Choices {
			if r.Result.Status(c.Name) == check.Unknown {
				names = append(names, c.Name)
			}
		}
		return "UNKNOWN: nothing was found, but not all could be asked: " + strings.Join(names, ", ")
	}
	return "OK"
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
`, cmdline.Usage(groups), ruleUsage())
}

// ruleUsage returns one line for each rule.
func ruleUsage() string {
	var lines strings.Builder
	for _, r := range check.Rules() {
		star, limit := " ", ""
		if r.Usual {
			star = "*"
		}
		if len(r.Units) > 0 {
			limit = fmt.Sprintf(" (%s)", r.Max)
		}
		fmt.Fprintf(&lines, "  %s %-14s %s%s\n", star, r.Name, r.About, limit)
	}
	return lines.String()
}
