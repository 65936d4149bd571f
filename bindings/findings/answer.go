package findings

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

// How much of an answer is shown unless all is asked for: a screen.
const (
	maxToDo     = 6
	maxOthers   = 3 // what ends by itself, and notes
	maxCommands = 3
	mostNamed   = 3
)

// Text returns the answer. If long, with everything that was found, its numbers, and
// since when; else each thing once, what the operator has to do first. For a healthy
// cluster it is one line, which names the collections that only look as if something
// were wrong: they tell more when they are asked about.
func Text(a diagnosis.Answer, long bool) string {
	var p page
	headline := a.Headline()
	if a.Healthy() && a.About == (diagnosis.Scope{}) {
		var odd []string
		a.Notes, odd = withoutLooks(a.Notes)
		headline += looks(odd)
	}
	summary := a.Summary()
	if !long && summary.Repeats(a) {
		headline = humanize.Count(len(summary.ToDo), "problem") + " to solve"
	}
	p.wrapped(0, sentence(headline))
	if long {
		p.listed("Wrong", a.Symptoms, a.Time)
		p.listed("Because", slices.DeleteFunc(slices.Clone(a.Causes), func(f diagnosis.Finding) bool {
			return slices.ContainsFunc(a.Symptoms, func(said diagnosis.Finding) bool {
				return said.Code == f.Code && said.Scope == f.Scope
			})
		}), a.Time)
		p.listed("Notes", a.Notes, a.Time)
		p.faults(a.Faults, maxFaults)
	} else {
		p.summary(summary, a)
		p.faults(a.Faults, 1)
	}
	p.spreads(a.Spreads)
	return p.String()
}

// looksOnly are the codes of notes that something is as it should be.
var looksOnly = []diagnosis.Code{
	diagnosis.BelowThreshold, diagnosis.CountsUneven, diagnosis.BalancesByCount, diagnosis.ZoneWithoutData,
}

// withoutLooks takes out the notes about collections that only look odd, and
// returns the names of those.
func withoutLooks(notes []diagnosis.Finding) (rest []diagnosis.Finding, odd []string) {
	for _, f := range notes {
		if !slices.Contains(looksOnly, f.Code) {
			rest = append(rest, f)
		} else if !slices.Contains(odd, f.Scope.Namespace) {
			odd = append(odd, f.Scope.Namespace)
		}
	}
	return rest, odd
}

func looks(odd []string) string {
	switch n := len(odd); {
	case n == 1:
		return "; see " + odd[0] + ", which only looks unbalanced"
	case n > 1:
		return fmt.Sprintf("; see %s and %s, which only look unbalanced", odd[0], humanize.Count(n-1, "other"))
	}
	return ""
}

// summary writes what has to be done, with the commands, then what ends by itself.
func (p *page) summary(s diagnosis.Summary, a diagnosis.Answer) {
	if len(s.ToDo) > 0 {
		p.WriteString("\n")
	}
	for _, g := range s.ToDo[:min(len(s.ToDo), maxToDo)] {
		p.toDo(g)
	}
	if more := len(s.ToDo) - maxToDo; more > 0 {
		p.wrapped(indent, "and "+humanize.Count(more, "more problem")+unshown)
	}
	p.groups("Then by itself", s.Then, a)
	p.groups("By itself", s.ByItself, a)
	p.groups("Notes", s.Notes, a)
}

// unshown says where the rest is.
const unshown = ": --long, or text(true) at the prompt"

// toDo writes a group with its severity, and what to enter about its first finding.
func (p *page) toDo(g diagnosis.Group) {
	f := g.First()
	p.headed(f.Severity.String(), together(g))
	switch {
	case len(f.Commands) > 0:
		p.commands(indent, f.Commands)
	case f.Actor == diagnosis.Operator:
		p.wrapped(indent, diagnosis.Define(f.Code).Remedy)
	}
}

// commands writes the first of them.
func (p *page) commands(at int, list []string) {
	for _, command := range list[:min(len(list), maxCommands)] {
		p.line(at, command)
	}
	if more := len(list) - maxCommands; more > 0 {
		p.line(at, "and "+humanize.Count(more, "more command")+unshown)
	}
}

// together is what a group says: the first finding's sentence, and what else it is true of.
func together(g diagnosis.Group) string {
	text := fmt.Sprintf("%s (%s)", g.First().Sentence, g.First().Code)
	if len(g) == 1 {
		return text
	}
	var names []string
	for _, f := range g[1:] {
		if name := nameOf(f.Scope); name != "" && !slices.Contains(names, name) && name != nameOf(g.First().Scope) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s, and %s", text, humanize.Count(len(g)-1, "more of them"))
	}
	shown := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return text + "; also " + shown
}

// nameOf names what a finding is about.
func nameOf(s diagnosis.Scope) string {
	for _, name := range []string{s.Namespace, string(s.Shard), s.Zone} {
		if name != "" {
			return name
		}
	}
	return ""
}

// groups writes a group a line; commands only of what is the operator's.
func (p *page) groups(title string, list []diagnosis.Group, a diagnosis.Answer) {
	if len(list) == 0 {
		return
	}
	p.heading(title)
	for _, g := range list[:min(len(list), maxOthers)] {
		text := together(g)
		if due := g.First().Due; !due.IsZero() {
			text += ", by itself at " + moment(due, due.Sub(a.Time), "in %s")
		}
		p.items([]string{text})
		if f := g.First(); f.Actor == diagnosis.Operator {
			p.commands(4, f.Commands)
		}
	}
	if more := len(list) - maxOthers; more > 0 {
		p.line(2, fmt.Sprintf("and %d more%s", more, unshown))
	}
}
