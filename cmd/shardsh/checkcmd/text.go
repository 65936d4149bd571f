package checkcmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/bindings/plaintext"
)

// mostBalanced is how many balanced collections have a line each.
const mostBalanced = 20

// mostFaults is how many known faults of servers have a line each.
const mostFaults = 5

// text is how people read of a check.
type text struct{ quiet bool }

// Text writes what was found for people: for each cluster a line for each collection
// that is not balanced, what else was found, and the end of it. If quiet, what is well
// is left out.
func Text(to io.Writer, reports []check.Report, quiet bool) {
	t := text{quiet}
	for i, r := range reports {
		if len(reports) > 1 {
			if i > 0 && !quiet {
				fmt.Fprintln(to)
			}
			fmt.Fprintf(to, "%s\n", plaintext.VisibleLine(r.Address))
		}
		t.show(to, r)
	}
}

func (t text) show(to io.Writer, r check.Report) {
	if r.Result == nil {
		fmt.Fprintf(to, "UNKNOWN: %s\n", plaintext.VisibleLine(r.Trouble.Message))
		return
	}
	if choice, err := r.Result.Policy.Choice("compliant"); err == nil && choice.On {
		t.showCollections(to, r.Result)
	}
	faults := 0
	for _, f := range r.Result.Findings {
		if f.Rule == "compliant" || t.quiet && f.Excuse != "" {
			continue
		}
		if f.Rule == "advisories" && !f.Unknown {
			if faults++; faults > mostFaults {
				t.moreFaults(to, r.Result, faults)
				continue
			}
		}
		fmt.Fprintf(to, "%-8s  %s\n", grade(f), plaintext.VisibleLine(f.Sentence+" ("+reason(r.Result, f)+")"))
		for _, command := range f.Commands {
			fmt.Fprintf(to, "%10s%s\n", "", plaintext.VisibleLine(command))
		}
	}
	if status := r.Status(); !t.quiet || status != check.Passed {
		fmt.Fprintln(to, plaintext.VisibleLine(Headline(r)))
	}
}

// moreFaults counts the known faults that have no line, in place of the first of them.
func (t text) moreFaults(to io.Writer, r *check.Result, at int) {
	more := int64(-mostFaults)
	for _, f := range r.Findings {
		if f.Rule == "advisories" && !f.Unknown && (!t.quiet || f.Excuse == "") {
			more++
		}
	}
	if at == mostFaults+1 {
		fmt.Fprintf(to, "%10sand %s (--json has all)\n", "", humanize.Count(more, "milder known fault"))
	}
}

// showCollections has those first that are not as they should be.
func (t text) showCollections(to io.Writer, r *check.Result) {
	list := r.Chosen()
	if len(list) == 0 && !t.quiet {
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
	if first >= 0 && (t.quiet || len(list)-first > mostBalanced) {
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
	case t.quiet || more == 0:
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

// Headline returns what came of a check in one line.
func Headline(r check.Report) string {
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
		return "UNKNOWN: no findings, but these could not be checked: " + strings.Join(names, ", ")
	}
	return "OK"
}

// RuleUsage returns one line for each rule.
func RuleUsage() string {
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
