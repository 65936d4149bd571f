// Package consent reads policies: files in which an organization states what runs of shardsh may
// change. The package only decides; it sends no commands and asks no questions.
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

// Policy is the content of a policy file. Everything that the file does not mention is allowed.
type Policy struct {
	File string
	// Verbs and Namespaces are the only ones allowed; empty means all. Namespaces may contain patterns.
	Verbs      []string
	Namespaces []string
	// Hours are the windows in which steps may begin: one of them has to be open. Empty means always.
	Hours []*pace.Window
	// Limits are limits that no option can raise. Defaults are the limits of runs that set none.
	Limits, Defaults Limits
	// RequiresApproval requires that plans are approved before they are applied.
	RequiresApproval bool
	// AuditDestination is the destination of the audit log. Empty means that no audit log is required.
	AuditDestination string
}

// Limits bound one run. Zero means unlimited.
type Limits struct {
	Moves       int
	Bytes       int64
	MaxDuration time.Duration
	Parallel    int
	// DiskShare is the share of its volume up to which a shard may be filled by received data.
	DiskShare float64
}

// Verbs returns the verbs that a policy can allow.
func Verbs() []string {
	return []string{"apply", "balance", VerbCommands, "defragment", "drain", "heat", "presplit", "quiesce"}
}

// VerbCommands is the verb for single commands of scripts that change how data is distributed, such as the
// command of sh.moveRange.
const VerbCommands = "commands"

// VerbGiveBack is the verb of runs that only re-enable balancing that other runs have disabled. Policies do
// not restrict it.
const VerbGiveBack = "give-back"

// RefusedError says which rule of a policy forbids a change.
type RefusedError struct{ File, Rule, Why string }

// Error returns a message that names the rule and its file.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused by the rule %s of the policy %s: %s", e.Rule, e.File, e.Why)
}

// Failure says that a retry is pointless.
func (e *RefusedError) Failure() policy.FailureClass { return policy.AskOperator }

// Refusal returns an error which says that a rule forbids a change.
func (p *Policy) Refusal(rule, format string, args ...any) error {
	return &RefusedError{p.File, rule, fmt.Sprintf(format, args...)}
}

// Request describes what a run is asked to do.
type Request struct {
	Verb string
	// Namespaces are the collections, or patterns of them. All means all collections.
	Namespaces []string
	All        bool
	// Approved says whether the plan was approved.
	Approved bool
}

// CheckRequest returns an error for a run that the policy does not allow.
func (p *Policy) CheckRequest(o Request) error {
	if len(p.Verbs) > 0 && !slices.Contains(p.Verbs, o.Verb) {
		return p.Refusal("verbs", "%s is not among %s", o.Verb, strings.Join(p.Verbs, ", "))
	}
	unplanned := []string{"balance", VerbCommands, "defragment", "drain", "presplit"}
	switch {
	case p.RequiresApproval && o.Verb == "apply" && !o.Approved:
		return p.Refusal("require-approval", "give the hash of the approved plan (--approve, approve)")
	case p.RequiresApproval && slices.Contains(unplanned, o.Verb):
		return p.Refusal("require-approval", "%s has no plan that was approved; use plan, and apply with --approve (approve)",
			o.Verb)
	case o.All && len(p.Namespaces) > 0 && !slices.Contains(p.Namespaces, "*"):
		return p.Refusal("namespaces", "all collections are more than %s", strings.Join(p.Namespaces, ", "))
	}
	return p.CheckNamespaces(o.Namespaces)
}

// CheckNamespaces returns an error for collections, or patterns of them, that the policy does not
// allow.
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

// covers reports whether every namespace that ns matches also matches pattern, as far as this can be
// decided.
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

// CheckHours returns an error unless one of the windows is open now.
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
