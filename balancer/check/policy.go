package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Policy says which rules are checked, and on which collections.
type Policy struct {
	// Choices has every rule, in the order of Rules.
	Choices []RuleChoice
	// Namespaces are the collections to look at.
	Namespaces Patterns
	// AllowMissing has a name or pattern of Namespaces.Only that no collection has leave
	// the check unknown; otherwise the cluster is not checked.
	AllowMissing bool
	// Allow is the work in progress that excuses what comes of it.
	Allow []AllowedWork
	// FailOn is the severity from which on findings fail.
	FailOn diagnosis.Severity
	// FailureSpan is how far back failed migrations count.
	FailureSpan time.Duration
	// Baseline excuses what was found before; nil = nothing.
	Baseline *Baseline
}

// RuleChoice is a rule with a policy's settings for it.
type RuleChoice struct {
	Rule
	On bool
	// ExplicitlyNamed: the user named this rule, so an unknown result
	// has to be reported.
	ExplicitlyNamed bool
}

// AllowedWork is work in progress that a policy may allow.
type AllowedWork string

// The kinds of work.
const (
	Draining      AllowedWork = "draining"
	Defragmenting AllowedWork = "defragmenting"
	Resharding    AllowedWork = "resharding"
)

// AllWork returns all kinds of work.
func AllWork() []AllowedWork { return []AllowedWork{Draining, Defragmenting, Resharding} }

// Default returns the policy without options: the default rules, for all
// collections.
func Default() *Policy {
	p := &Policy{FailOn: diagnosis.Warning, FailureSpan: diagnosis.FailureSpan}
	for _, r := range Rules() {
		p.Choices = append(p.Choices, RuleChoice{Rule: r, On: r.Default})
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
func (p *Policy) Choice(rule string) (*RuleChoice, error) {
	i := ruleIndex(rule)
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

// EnableOnly enables only these rules; AllRules and UsualRules are accepted as names.
func (p *Policy) EnableOnly(names []string) error {
	on := map[string]bool{} // true where it was named
	for _, name := range names {
		switch {
		case name == AllRules || name == UsualRules:
			for _, r := range Rules() {
				if _, there := on[r.Name]; !there &&
					(r.Default || name == AllRules && !r.Needs.Has(Audits) && r.Name != collectionsRule) {
					on[r.Name] = false
				}
			}
		case ruleIndex(name) < 0:
			return &UnknownError{"rule", name, append(RuleNames(), AllRules, UsualRules)}
		default:
			on[name] = true
		}
	}
	for i := range p.Choices {
		c := &p.Choices[i]
		c.ExplicitlyNamed, c.On = on[c.Name]
	}
	return nil
}

// collectionsRule is the rule that somebody has to ask for by its name: a cluster without
// collections is fine.
const collectionsRule = "collections"

// RequireCollections makes a cluster fail that has no collections to check.
func (p *Policy) RequireCollections() {
	if i := ruleIndex(collectionsRule); i >= 0 {
		p.Choices[i].On = true
	}
}

// SetAllowMissing makes the check unknown, and not an error, if a name matches no collection.
func (p *Policy) SetAllowMissing() {
	p.AllowMissing = true
	p.RequireCollections()
}

// SetMax sets the threshold of a rule, which holds from then on.
func (c *RuleChoice) SetMax(text string) error {
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
		if !slices.Contains(AllWork(), AllowedWork(name)) {
			var known []string
			for _, w := range AllWork() {
				known = append(known, string(w))
			}
			return &UnknownError{"work to allow", name, known}
		}
		p.Allow = append(p.Allow, AllowedWork(name))
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

func (p *Policy) allows(w AllowedWork) bool { return slices.Contains(p.Allow, w) }

// Patterns choose namespaces: those that one of Include matches, or all when there
// is none, but for those that one of Exclude matches. A star stands for any
// characters, a question mark for one. The buckets of a time series have its name, too.
type Patterns struct{ Include, Exclude []string }

// Match reports whether a namespace is chosen.
func (p Patterns) Match(ns string) bool {
	matches := func(pattern string) bool {
		return matchGlob(pattern, ns) || matchGlob(pattern, catalog.TimeSeriesNamespace(ns))
	}
	return (len(p.Include) == 0 || slices.ContainsFunc(p.Include, matches)) && !slices.ContainsFunc(p.Exclude, matches)
}

// Missing returns those of Include that no sharded collection of a cluster has.
func (p Patterns) Missing(s *catalog.Snapshot) (list []string) {
	sharded := diagnosis.Sharded(s)
	for _, pattern := range p.Include {
		only := Patterns{Include: []string{pattern}}
		if !slices.ContainsFunc(sharded, func(c *catalog.CollectionState) bool { return only.Match(c.Namespace) }) {
			list = append(list, pattern)
		}
	}
	return list
}

// CheckNamespaces returns an error for namespaces of the policy that the cluster does not have, unless
// that is a finding.
func (p *Policy) CheckNamespaces(s *catalog.Snapshot) error {
	missing := p.Namespaces.Missing(s)
	if len(missing) == 0 || p.AllowMissing || p.Choices[ruleIndex(collectionsRule)].On {
		return nil
	}
	return diagnosis.NewCollectionNotFound(s, missing[0])
}

// matchGlob matches a pattern; backtracking to the last star only is enough.
func matchGlob(pattern, text string) bool {
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
