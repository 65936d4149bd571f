// Package consent has policies: files in which an organization says what runs of shardsh
// may change. It decides; what is sent and asked is not its business.
package consent

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

// Policy is what a file allows. What it does not mention is allowed.
type Policy struct {
	File string
	// Verbs and Namespaces, which may be patterns, are the only ones allowed; none is all.
	Verbs      []string
	Namespaces []string
	// Hours are when steps begin: while one of them is open. None is always.
	Hours []*pace.Window
	// Limits are those that no option raises, Defaults those of runs that name none.
	Limits, Defaults Limits
	// Approval requires that plans are approved before they are applied.
	Approval bool
	// Audit is where changes are written down; empty is nowhere.
	Audit string
}

// Limits bound one run. Zero means unlimited.
type Limits struct {
	Moves    int
	Bytes    int64
	For      time.Duration
	Parallel int
	// Disk is the share of its volume that no shard may fill by what it receives.
	Disk float64
}

// Verbs returns the verbs that a policy can allow.
func Verbs() []string {
	return []string{"apply", "balance", Commands, "defragment", "drain", "heat", "presplit", "quiesce"}
}

// Commands is the verb of single commands of scripts that change how data are distributed,
// such as sh.moveRange sends.
const Commands = "commands"

// GiveBack is the verb of runs that only give back what others have switched off, which no
// policy is asked about.
const GiveBack = "give-back"

// RefusedError says which rule of a policy does not allow something.
type RefusedError struct{ File, Rule, Why string }

// Error names the rule and its file.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused by the rule %s of the policy %s: %s", e.Rule, e.File, e.Why)
}

// Failure says that a retry is pointless.
func (e *RefusedError) Failure() policy.Failure { return policy.AskOperator }

// Refusal says that a rule does not allow something.
func (p *Policy) Refusal(rule, format string, args ...any) error {
	return &RefusedError{p.File, rule, fmt.Sprintf(format, args...)}
}

// Request is what a run is asked to do.
type Request struct {
	Verb string
	// Namespaces are the collections, or patterns; All is all of them.
	Namespaces []string
	All        bool
	// Approved tells that the plan was.
	Approved bool
}

// CheckRequest refuses a run that the policy does not allow.
func (p *Policy) CheckRequest(o Request) error {
	if len(p.Verbs) > 0 && !slices.Contains(p.Verbs, o.Verb) {
		return p.Refusal("verbs", "%s is not among %s", o.Verb, strings.Join(p.Verbs, ", "))
	}
	unplanned := []string{"balance", Commands, "defragment", "drain", "presplit"}
	switch {
	case p.Approval && o.Verb == "apply" && !o.Approved:
		return p.Refusal("require-approval", "give the hash of the approved plan (--approve, approve)")
	case p.Approval && slices.Contains(unplanned, o.Verb):
		return p.Refusal("require-approval", "%s has no plan that was approved; use plan, and apply with --approve (approve)",
			o.Verb)
	case o.All && len(p.Namespaces) > 0 && !slices.Contains(p.Namespaces, "*"):
		return p.Refusal("namespaces", "all collections are more than %s", strings.Join(p.Namespaces, ", "))
	}
	return p.CheckNamespaces(o.Namespaces)
}

// CheckNamespaces refuses collections, or patterns of them, that the policy does not name.
func (p *Policy) CheckNamespaces(namespaces []string) error {
	if len(p.Namespaces) == 0 {
		return nil
	}
	for _, ns := range namespaces {
		if !slices.ContainsFunc(p.Namespaces, func(pattern string) bool {
			return covers(pattern, ns) || covers(pattern, catalog.TimeSeriesNamespace(ns))
		}) {
			return p.Refusal("namespaces", "%s is not among %s", ns, strings.Join(p.Namespaces, ", "))
		}
	}
	return nil
}

const wildcards = `*?[\`

// covers reports whether whatever a name or a pattern means is meant by another pattern, as
// far as that is certain.
func covers(pattern, ns string) bool {
	if pattern == ns || pattern == "*" {
		return true
	}
	if at := strings.IndexAny(ns, wildcards); at >= 0 {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		return isPrefix && !strings.ContainsAny(prefix, wildcards) && strings.HasPrefix(ns[:at], prefix)
	}
	is, err := path.Match(pattern, ns)
	return err == nil && is
}

// CheckHours returns an error unless one of the hours is open now.
func (p *Policy) CheckHours(now time.Time) error {
	if len(p.Hours) == 0 {
		return nil
	}
	var opens time.Time
	var texts []string
	for _, w := range p.Hours {
		next := w.NextOpen(now)
		if !next.After(now) {
			return nil
		}
		if opens.IsZero() || next.Before(opens) {
			opens = next
		}
		texts = append(texts, w.String())
	}
	return p.Refusal("hours", "it is %s by the cluster's clock; the hours are %s, and begin at %s",
		now.In(opens.Location()).Format("15:04"), strings.Join(texts, ", "), opens.Format("2006-01-02 15:04 MST"))
}
