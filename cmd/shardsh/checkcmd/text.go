package checkcmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/plaintext"
)

// The maximum number of lines; --long shows all.
const (
	maxBalanced   = 20 // balanced collections
	maxUnbalanced = 20
	maxOfRule     = 5 // findings of one rule
)

// Text writes reports of checks for humans.
type Text struct {
	Quiet bool // leave out collections without problems
	Long  bool // show all collections and findings, and the status of each rule
}

// Write writes for each cluster a line for each unbalanced collection, the other findings, and the
// verdict.
func (t Text) Write(to io.Writer, reports []check.Report) {
	for i, r := range reports {
		if len(reports) > 1 {
			if i > 0 && !t.Quiet {
				fmt.Fprintln(to)
			}
			fmt.Fprintf(to, "%s\n", plaintext.EscapeLine(r.Name()))
		}
		t.writeReport(to, r)
	}
}

func (t Text) writeReport(to io.Writer, r check.Report) {
	if r.Result == nil {
		fmt.Fprintf(to, "UNKNOWN: %s\n", plaintext.EscapeLine(r.Failure.Message))
		return
	}
	if choice, err := r.Result.Policy.Choice("compliant"); err == nil && choice.On {
		t.writeCollections(to, r.Result)
	}
	counts := map[string]int{} // findings by rule, those over the limit, too
	for _, f := range r.Result.Findings {
		if t.isShown(f) {
			counts[f.Rule]++
		}
	}
	shown := map[string]int{}
	for _, f := range r.Result.Findings {
		if !t.isShown(f) {
			continue
		}
		switch shown[f.Rule]++; {
		case t.Long || shown[f.Rule] <= maxOfRule:
			t.writeFinding(to, r.Result, f)
		case shown[f.Rule] == maxOfRule+1:
			fmt.Fprintf(to, "%10sand %d more of rule %s (--long shows all)\n", "", counts[f.Rule]-maxOfRule,
				f.Rule)
		}
	}
	if t.Long {
		t.writeRules(to, r.Result)
	}
	if status := r.Status(); !t.Quiet || status != check.Passed {
		fmt.Fprintln(to, plaintext.EscapeLine(Headline(r)))
	}
}

// isShown reports whether a finding gets a line. Unbalanced collections have their own lines.
func (t Text) isShown(f check.Finding) bool {
	return f.Rule != "compliant" && (!t.Quiet || f.Excuse == "")
}

func (t Text) writeFinding(to io.Writer, r *check.Result, f check.Finding) {
	fmt.Fprintf(to, "%-8s  %s\n", label(f), plaintext.EscapeLine(f.Sentence+" ("+reason(r, f)+")"))
	for _, command := range f.Commands {
		fmt.Fprintf(to, "%10s%s\n", "", plaintext.EscapeLine(command))
	}
}

// writeRules writes the status of each rule.
func (t Text) writeRules(to io.Writer, r *check.Result) {
	for _, c := range r.Policy.Choices {
		if status := r.RuleStatus(c.Name); c.On && !(t.Quiet && status == check.Passed) {
			fmt.Fprintf(to, "%-8s  rule %s: %s\n", status, c.Name, c.Description)
		}
	}
}

// writeCollections writes the collections; those with problems come first.
func (t Text) writeCollections(to io.Writer, r *check.Result) {
	list := r.CoveredBalances()
	if len(list) == 0 && !t.Quiet {
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
	if first < 0 {
		first = len(list)
	}
	more, uneven := 0, max(first-maxUnbalanced, 0)
	if t.Long {
		uneven = 0
	}
	if t.Quiet || !t.Long && (uneven > 0 || len(list)-first > maxBalanced) {
		more, list = len(list)-first, list[:first]
	}
	list = slices.Delete(list, first-uneven, first)
	width := 0
	for _, b := range list {
		width = max(width, len(plaintext.EscapeLine(b.Namespace)))
	}
	for _, b := range list {
		fmt.Fprintf(to, "%-*s  %s\n", width, plaintext.EscapeLine(b.Namespace), plaintext.EscapeLine(balanceState(r, b)))
	}
	if uneven > 0 {
		fmt.Fprintf(to, "and %d more that are not (--long shows all)\n", uneven)
	}
	switch {
	case t.Quiet || more == 0:
	case len(list) == 0:
		fmt.Fprintf(to, "all %d collections are balanced\n", more)
	default:
		fmt.Fprintf(to, "the other %d collections are balanced\n", more)
	}
}

// balanceState returns the state of a collection, with its excuse.
func balanceState(r *check.Result, b diagnosis.Balance) string {
	state := "balanced"
	switch {
	case !b.Known:
		state = "not known: " + b.Reason
	case !b.Balanced:
		state = "NOT balanced: " + b.ViolationText()
	}
	excuse := b.DisabledBy.String()
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

// label returns the first word of a finding's line.
func label(f check.Finding) string {
	switch {
	case f.Unknown:
		return "unknown"
	case f.Excuse != "":
		return "excused"
	}
	return f.Severity.String()
}

// reason returns the measured value of a finding, and its excuse.
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

// Headline returns the result of a check in one line.
func Headline(r check.Report) string {
	switch {
	case r.Result == nil:
		return "UNKNOWN: " + r.Failure.Message
	case r.Status() == check.Failed:
		failing := r.Result.FailingFindings()
		if len(failing) == 1 {
			return "FAILED: " + failing[0].Sentence
		}
		return fmt.Sprintf("FAILED: %d findings, the first: %s", len(failing), failing[0].Sentence)
	case r.Status() == check.Unknown:
		var names []string
		for _, c := range r.Result.Policy.Choices {
			if r.Result.RuleStatus(c.Name) == check.Unknown {
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
		if r.Default {
			star = "*"
		}
		if len(r.Units) > 0 {
			limit = fmt.Sprintf(" (%s)", r.Max)
		}
		fmt.Fprintf(&lines, "  %s %-14s %s%s\n", star, r.Name, r.Description, limit)
	}
	return lines.String()
}
