package findings

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

// The limits of an answer that fits on a screen.
const (
	maxToDo     = 6
	maxOthers   = 3 // findings that end by themselves, and notes
	maxCommands = 3
	maxNamed    = 3
)

// AnswerText returns the answer as text. If long, it has all findings with their numbers and start times.
// Otherwise, it has no repeats, and begins with what the operator has to do first. For a healthy
// cluster it is one line, which also names the collections that only look unbalanced; a question about
// such a collection explains why.
func AnswerText(a diagnosis.Answer, long bool) string {
	var p page
	headline := a.Headline()
	if a.Healthy() && a.About == (diagnosis.Scope{}) {
		var odd []string
		a.Notes, odd = splitHarmless(a.Notes)
		headline += harmlessText(odd)
	}
	summary := a.Summary()
	if !long && summary.HeadlineIsFirst(a) {
		headline = humanize.Count(len(summary.ToDo), "problem") + " to solve"
	}
	p.writeWrapped(0, sentence(headline))
	if long {
		p.writeFindings("Wrong", a.Symptoms, a.Time)
		p.writeFindings("Because", slices.DeleteFunc(slices.Clone(a.Causes), func(f diagnosis.Finding) bool {
			return slices.ContainsFunc(a.Symptoms, func(said diagnosis.Finding) bool {
				return said.Code == f.Code && said.Scope == f.Scope
			})
		}), a.Time)
		p.writeFindings("Notes", a.Notes, a.Time)
		p.writeAdvisories(a.KnownFaults, maxAdvisories)
	} else {
		p.writeSummary(summary, a)
		p.writeAdvisories(a.KnownFaults, 1)
	}
	p.writeSpreads(a.Spreads)
	return p.String()
}

// harmlessCodes are the codes of notes about states that are correct.
var harmlessCodes = []diagnosis.Code{
	diagnosis.BelowThreshold, diagnosis.CountsUneven, diagnosis.BalancesByCount, diagnosis.ZoneWithoutData,
}

// splitHarmless removes notes about collections that only look unbalanced, and returns the names of
// these collections.
func splitHarmless(notes []diagnosis.Finding) (rest []diagnosis.Finding, harmlessNames []string) {
	for _, f := range notes {
		if !slices.Contains(harmlessCodes, f.Code) {
			rest = append(rest, f)
		} else if !slices.Contains(harmlessNames, f.Scope.Namespace) {
			harmlessNames = append(harmlessNames, f.Scope.Namespace)
		}
	}
	return rest, harmlessNames
}

func harmlessText(names []string) string {
	switch n := len(names); {
	case n == 1:
		return "; see " + names[0] + ", which only looks unbalanced"
	case n > 1:
		return fmt.Sprintf("; see %s and %s, which only look unbalanced", names[0], humanize.Count(n-1, "other"))
	}
	return ""
}

// writeSummary writes what the operator has to do, with the commands, then what ends by itself.
func (p *page) writeSummary(s diagnosis.Summary, a diagnosis.Answer) {
	if len(s.ToDo) > 0 {
		p.WriteString("\n")
	}
	for _, g := range s.ToDo[:min(len(s.ToDo), maxToDo)] {
		p.writeToDo(g)
	}
	if more := len(s.ToDo) - maxToDo; more > 0 {
		p.writeWrapped(indent, "and "+humanize.Count(more, "more problem")+moreHint)
	}
	p.writeGroups("Then by itself", s.ThenByItself, a)
	p.writeGroups("By itself", s.ByItself, a)
	p.writeGroups("Notes", s.Notes, a)
}

// moreHint says how to get the full answer.
const moreHint = ": --long, or text(true) at the prompt"

// writeToDo writes a group with its severity, and the commands of its first finding.
func (p *page) writeToDo(g diagnosis.Group) {
	f := g.First()
	p.writeLabelled(f.Severity.String(), groupText(g))
	switch {
	case len(f.Commands) > 0:
		p.writeCommands(indent, f.Commands)
	case f.Actor == diagnosis.Operator:
		p.writeWrapped(indent, diagnosis.DefinitionOf(f.Code).Remedy)
	}
}

// writeCommands writes the first commands.
func (p *page) writeCommands(column int, list []string) {
	for _, command := range list[:min(len(list), maxCommands)] {
		p.writeLine(column, command)
	}
	if more := len(list) - maxCommands; more > 0 {
		p.writeLine(column, "and "+humanize.Count(more, "more command")+moreHint)
	}
}

// groupText returns the text of a group: the first finding's sentence and the other affected objects.
func groupText(g diagnosis.Group) string {
	text := fmt.Sprintf("%s (%s)", g.First().Sentence, g.First().Code)
	if len(g) == 1 {
		return text
	}
	var names []string
	for _, f := range g[1:] {
		if name := scopeName(f.Scope); name != "" && !slices.Contains(names, name) && name != scopeName(g.First().Scope) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s, and %s", text, humanize.Count(len(g)-1, "more of them"))
	}
	shown := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return text + "; also " + shown
}

// scopeName returns the name of a finding's object.
func scopeName(s diagnosis.Scope) string {
	for _, name := range []string{s.Namespace, string(s.Shard), s.Zone} {
		if name != "" {
			return name
		}
	}
	return ""
}

// writeGroups writes a line for each group, and commands if the operator has to act.
func (p *page) writeGroups(title string, list []diagnosis.Group, a diagnosis.Answer) {
	if len(list) == 0 {
		return
	}
	p.writeHeading(title)
	for _, g := range list[:min(len(list), maxOthers)] {
		text := groupText(g)
		if due := g.First().BalancerActsAt; !due.IsZero() {
			text += ", by itself at " + timeText(due, due.Sub(a.Time), "in %s")
		}
		p.writeItems([]string{text})
		if f := g.First(); f.Actor == diagnosis.Operator {
			p.writeCommands(4, f.Commands)
		}
	}
	if more := len(list) - maxOthers; more > 0 {
		p.writeLine(2, fmt.Sprintf("and %d more%s", more, moreHint))
	}
}
