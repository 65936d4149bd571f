package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// Policy says which rules are checked, on which collections.
type Policy struct {
	// Choices has an element for every rule, in the order of Rules.
	Choices []RuleChoice
	// Namespaces are the collections to check.
	Namespaces Patterns
	// AllowMissing makes the check unknown if a name or pattern of Namespaces.Include matches no
	// collection. Without AllowMissing, the cluster is not checked then.
	AllowMissing bool
	// Allow lists the work in progress that excuses its consequences.
	Allow []AllowedWork
	// FailOn is the lowest severity with which findings fail.
	FailOn diagnosis.Severity
	// MaxFailureAge is the age up to which failed migrations count.
	MaxFailureAge time.Duration
	// Baseline excuses earlier findings; nil excuses none.
	Baseline *Baseline
}

// RuleChoice is a rule with the settings of a policy for that rule.
type RuleChoice struct {
	Rule
	On bool
	// ExplicitlyNamed says that the user named this rule, so that an unknown result has to be reported.
	ExplicitlyNamed bool
}

// AllowedWork is a kind of work in progress that a policy may allow.
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
	p := &Policy{FailOn: diagnosis.Warning, MaxFailureAge: diagnosis.MaxFailureAge}
	for _, r := range Rules() {
		p.Choices = append(p.Choices, RuleChoice{Rule: r, On: r.Default})
	}
	return p
}

// UnknownError says that a name is not one of the valid names.
type UnknownError struct {
	What  string // such as "rule"
	Name  string
	Known []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

// Choice returns the policy's settings for a rule. The caller may change them.
func (p *Policy) Choice(rule string) (*RuleChoice, error) {
	i := ruleIndex(rule)
	if i < 0 {
		return nil, &UnknownError{"rule", rule, RuleNames()}
	}
	return &p.Choices[i], nil
}

// The names that stand for several rules.
const (
	AllRules   = "all"
	UsualRules = "usual"
)

// EnableOnly enables only the named rules; AllRules and UsualRules are accepted as names.
func (p *Policy) EnableOnly(names []string) error {
	on := map[string]bool{} // true for rules that are named explicitly
	for _, name := range names {
		switch {
		case name == AllRules || name == UsualRules:
			for _, r := range Rules() {
				if _, ok := on[r.Name]; !ok &&
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

// collectionsRule is off unless the user names it: a cluster without collections is valid.
const collectionsRule = "collections"

// RequireCollections makes the check fail for a cluster without collections to check.
func (p *Policy) RequireCollections() {
	if i := ruleIndex(collectionsRule); i >= 0 {
		p.Choices[i].On = true
	}
}

// SetAllowMissing makes the check unknown, rather than an error, if a name matches no collection.
func (p *Policy) SetAllowMissing() {
	p.AllowMissing = true
	p.RequireCollections()
}

// SetMax sets the threshold of a rule and enables the rule.
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

// Needs returns the data that the enabled rules need.
func (p *Policy) Needs() (all Need) {
	for _, c := range p.Choices {
		if c.On {
			all |= c.Needs
		}
	}
	if p.allows(Resharding) {
		all |= RunningReshardings
	}
	return all
}

func (p *Policy) allows(w AllowedWork) bool { return slices.Contains(p.Allow, w) }

// Patterns selects namespaces: those that match a pattern in Include, or all when Include is empty,
// except those that match a pattern in Exclude. A star matches any characters, a question mark one
// character. The buckets of a time series collection also match by the name of the collection.
type Patterns struct{ Include, Exclude []string }

// Match reports whether the patterns select a namespace.
func (p Patterns) Match(ns string) bool {
	matches := func(pattern string) bool {
		return matchGlob(pattern, ns) || matchGlob(pattern, catalog.TimeSeriesNamespace(ns))
	}
	return (len(p.Include) == 0 || slices.ContainsFunc(p.Include, matches)) && !slices.ContainsFunc(p.Exclude, matches)
}

// Missing returns the patterns in Include that match no sharded collection of a cluster.
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
// the policy reports them as a finding.
func (p *Policy) CheckNamespaces(s *catalog.Snapshot) error {
	missing := p.Namespaces.Missing(s)
	if len(missing) == 0 || p.AllowMissing || p.Choices[ruleIndex(collectionsRule)].On {
		return nil
	}
	return diagnosis.NewCollectionNotFound(s, missing[0])
}

// matchGlob matches a pattern. It backtracks to the last star only, which is sufficient.
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
