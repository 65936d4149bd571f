package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/sim"
)

// Cluster is what the rules look at.
type Cluster struct {
	*diagnosis.Diagnosis
	// Inconsistencies are what checkMetadataConsistency found, unless MetadataUnsupported says
	// why such a source can't be asked, or MetadataError why it did not answer.
	Inconsistencies     []catalog.Inconsistency
	MetadataUnsupported string
	MetadataError       string
	// Audit is what an audit found; nil where there was none, as NotAuditedReason says.
	Audit            *Audit
	NotAuditedReason string
	// Advisories are the known faults that count; nil is those of the program.
	Advisories *advisory.List
	// Watch observes long simulations; may be nil.
	Watch sim.Watch
}

// ruleRun is the evaluation of one rule on a cluster.
type ruleRun struct {
	Cluster
	policy   *Policy
	choice   RuleChoice
	findings []Finding
}

// add notes a finding of the rule.
func (l *ruleRun) add(f Finding) {
	f.Rule = l.choice.Name
	f.Severity = cmp.Or(f.Severity, l.choice.Severity)
	l.findings = append(l.findings, f)
}

// addIfOverMax adds a finding when n exceeds the rule's maximum.
func (l *ruleRun) addIfOverMax(n Quantity, f Finding) {
	if n.Value > l.choice.Max.Value {
		f.Number = &n
		l.add(f)
	}
}

// addDiagnosed notes what a diagnosis found, with the severity of the rule.
func (l *ruleRun) addDiagnosed(f diagnosis.Finding) {
	l.add(fromDiagnosis(f))
}

func fromDiagnosis(f diagnosis.Finding) Finding {
	return Finding{About: f.Scope, Sentence: f.Sentence, Commands: f.Commands, Since: f.Since}
}

// addUnknown notes that something is not known, without the whole of the command that
// a server refused.
func (l *ruleRun) addUnknown(about diagnosis.Scope, format string, args ...any) {
	sentence, _, _ := strings.Cut(fmt.Sprintf(format, args...), " to execute command {")
	l.add(Finding{About: about, Unknown: true, Sentence: sentence})
}

// addUnavailable notes that this kind of source never has the data: it does not
// matter unless this rule was explicitly named.
func (l *ruleRun) addUnavailable(sentence string) {
	f := Finding{Unknown: true, Severity: diagnosis.Info, Sentence: sentence}
	if !l.choice.ExplicitlyNamed {
		f.Excuse = "not available for this source"
	}
	l.add(f)
}

// reportGap reports whether a part of the snapshot is missing for all collections, and
// notes it.
func (l *ruleRun) reportGap(what ...string) bool {
	for _, gap := range l.Parts().Source.Gaps {
		if gap.Namespace == "" && slices.Contains(what, gap.What) {
			l.addUnknown(diagnosis.Scope{Shard: gap.Shard}, "%s could not be read: %s", gap.What, gap.Reason)
			return true
		}
	}
	return false
}

// policyCollections returns the sharded collections that the policy is about.
func (l *ruleRun) policyCollections() []*catalog.CollectionState {
	return slices.DeleteFunc(diagnosis.Sharded(l.Snapshot), func(c *catalog.CollectionState) bool {
		return !l.policy.Namespaces.Match(c.Namespace)
	})
}

// isOnDrainingShard reports whether a collection has chunks or data on a draining shard.
func (l *ruleRun) isOnDrainingShard(c *catalog.CollectionState) bool {
	return slices.ContainsFunc(l.Shards(), func(s catalog.ShardState) bool {
		return s.Draining && (c.CountOn(s.ID).Chunks > 0 || c.Sizes[s.ID].Bytes > 0)
	})
}

// excuse returns why it does not matter how a collection lies on its shards: it was
// switched off on purpose, or there is work in progress that the policy allows.
func (l *ruleRun) excuse(c *catalog.CollectionState) string {
	if hold := diagnosis.DisabledByOf(c.Collection, l.Release()); hold != diagnosis.NotDisabled {
		return hold.String()
	}
	reshards := func(r catalog.ActiveResharding) bool { return r.Namespace == c.Namespace }
	for _, of := range []struct {
		work  AllowedWork
		going bool
	}{
		{Draining, l.isOnDrainingShard(c)},
		{Defragmenting, diagnosis.DefragmentationOf(c).Running},
		{Resharding, slices.ContainsFunc(l.Parts().Reshardings, reshards)},
	} {
		if of.going && l.policy.allows(of.work) {
			return string(of.work) + " is allowed"
		}
	}
	return ""
}
