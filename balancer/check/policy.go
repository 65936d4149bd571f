package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Policy says which rules hold, and for what.
type Policy struct {
	// Choices has every rule, in the order of Rules.
	Choices []Choice
	// Namespaces are the collections to look at.
	Namespaces Patterns
	// AllowMissing has a name or pattern of Namespaces.Only that no collection has leave
	// the check unknown; otherwise the cluster is not checked.
	AllowMissing bool
	// Allow is the work in progress that excuses what comes of it.
	Allow []Work
	// FailOn is the severity from which on findings fail.
	FailOn diagnosis.Severity
	// Span is how far back failed migrations count.
	Span time.Duration
	// Baseline excuses what was found before; nil = nothing.
	Baseline *Baseline
}

// Choice is a rule with what a policy makes of it.
type Choice struct {
	Rule
	On bool
	// Named: somebody asked for this very rule, so that not knowing is an answer
	// they have to hear of.
	Named bool
}

// Work is work in progress that a policy may allow.
type Work string

// The kinds of work.
const (
	Draining      Work = "draining"
	Defragmenting Work = "defragmenting"
	Resharding    Work = "resharding"
)

// Works returns all kinds of work.
func Works() []Work { return []Work{Draining, Defragmenting, Resharding} }

// Default returns the policy for those who say nothing: the usual rules, for all
// collections.
func Default() *Policy {
	p := &Policy{FailOn: diagnosis.Warning, Span: diagnosis.FailureSpan}
	for _, r := range Rules() {
		p.Choices = append(p.Choices, Choice{Rule: r, On: r.Usual})
	}
	return p
}

// UnknownError says that a name is none of those that there are.
type UnknownError struct {
	What  string // such as rule
	Name  string
	Known []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

// Choice returns what the policy makes of a rule, to be changed.
func (p *Policy) Choice(rule string) (*Choice, error) {
	i := ruleAt(rule)
	if i < 0 {
		return nil, &UnknownError{"rule", rule, RuleNames()}
	}
	return &p.Choices[i], nil
}

// The words that stand for several rules.
const (
	AllRules   = "all"
	UsualRules = "usual"
)

// Choose has only these rules hold; AllRules and UsualRules are among the words.
func (p *Policy) Choose(names []string) error {
	on := map[string]bool{} // true where it was named
	for _, name := range names {
		switch {
		case name == AllRules || name == UsualRules:
			for _, r := range Rules() {
				if _, there := on[r.Name]; !there && (r.Usual || name == AllRules && !r.Needs.Has(Audits) && r.Name != requires) {
					on[r.Name] = false
				}
			}
		case ruleAt(name) < 0:
			return &UnknownError{"rule", name, append(RuleNames(), AllRules, UsualRules)}
		default:
			on[name] = true
		}
	}
	for i := range p.Choices {
		c := &p.Choices[i]
		c.Named, c.On = on[c.Name]
	}
	return nil
}

// requires is the rule that somebody has to ask for by its name: a cluster without
// collections is fine.
const requires = "collections"

// RequireCollections has a cluster without collections to check fail.
func (p *Policy) RequireCollections() {
	if i := ruleAt(requires); i >= 0 {
		p.Choices[i].On = true
	}
}

// LetMiss has a name that no collection has leave the check unknown.
func (p *Policy) LetMiss() {
	p.AllowMissing = true
	p.RequireCollections()
}

// SetMax sets the threshold of a rule, which holds from then on.
func (c *Choice) SetMax(text string) error {
	if len(c.Units) == 0 {
		return fmt.Errorf("the rule %s has no threshold", c.Name)
	}
	max, err := ParseQuantity(text, c.Units...)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	c.Max, c.On = max, true
	return nil
}

// ParseSeverity reads info, warning or critical.
func ParseSeverity(text string) (diagnosis.Severity, error) {
	var known []string
	for s := diagnosis.Info; s <= diagnosis.Critical; s++ {
		if s.String() == text {
			return s, nil
		}
		known = append(known, s.String())
	}
	return 0, &UnknownError{"severity", text, known}
}

// SetAllow sets the work that is allowed.
func (p *Policy) SetAllow(names []string) error {
	p.Allow = nil
	for _, name := range names {
		if !slices.Contains(Works(), Work(name)) {
			var known []string
			for _, w := range Works() {
				known = append(known, string(w))
			}
			return &UnknownError{"work to allow", name, known}
		}
		p.Allow = append(p.Allow, Work(name))
	}
	return nil
}

// Needs returns what has to be known for the rules that hold.
func (p *Policy) Needs() (all Need) {
	for _, c := range p.Choices {
		if c.On {
			all |= c.Needs
		}
	}
	if p.allows(Resharding) {
		all |= Activity
	}
	return all
}

func (p *Policy) allows(w Work) bool { return slices.Contains(p.Allow, w) }

// Patterns choose namespaces: those that one of Only matches, or all when there
// is none, but for those that one of Except matches. A star stands for any
// characters, a question mark for one. The buckets of a time series have its name, too.
type Patterns struct{ Only, Except []string }

// Match reports whether a namespace is chosen.
func (p Patterns) Match(ns string) bool {
	matches := func(pattern string) bool { return glob(pattern, ns) || glob(pattern, catalog.TimeSeriesNamespace(ns)) }
	return (len(p.Only) == 0 || slices.ContainsFunc(p.Only, matches)) && !slices.ContainsFunc(p.Except, matches)
}

// Missing returns those of Only that no sharded collection of a cluster has.
func (p Patterns) Missing(s *catalog.Snapshot) (list []string) {
	sharded := diagnosis.Sharded(s)
	for _, pattern := range p.Only {
		only := Patterns{Only: []string{pattern}}
		if !slices.ContainsFunc(sharded, func(c *catalog.CollectionState) bool { return only.Match(c.Namespace) }) {
			list = append(list, pattern)
		}
	}
	return list
}

// Unknown returns an error for what the policy names and the cluster does not have, unless
// that is a finding.
func (p *Policy) Unknown(s *catalog.Snapshot) error {
	missing := p.Namespaces.Missing(s)
	if len(missing) == 0 || p.AllowMissing || p.Choices[ruleAt(requires)].On {
		return nil
	}
	return diagnosis.UnknownCollection(s, missing[0])
}

// glob goes back to the last star only, which is enough.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, from := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}
