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

// Cluster is the data that the rules evaluate.
type Cluster struct {
	*diagnosis.Diagnosis
	// Inconsistencies are what checkMetadataConsistency found. Otherwise, MetadataUnsupported says why
	// this kind of source can't run the command, or MetadataError why the command failed.
	Inconsistencies     []catalog.Inconsistency
	MetadataUnsupported string
	MetadataError       string
	// Audit is the result of an audit; nil if no audit ran, for the reason in NotAuditedReason.
	Audit            *AuditSummary
	NotAuditedReason string
	// Advisories are the known bugs to check for; nil means those embedded in the program.
	Advisories *advisory.List
	// OnProgress observes long simulations. It may be nil.
	OnProgress sim.ProgressFunc
}

// ruleRun is the evaluation of one rule on a cluster.
type ruleRun struct {
	Cluster
	policy   *Policy
	choice   RuleChoice
	findings []Finding
}

// add adds a finding of the rule.
func (rr *ruleRun) add(f Finding) {
	f.Rule = rr.choice.Name
	f.Severity = cmp.Or(f.Severity, rr.choice.Severity)
	rr.findings = append(rr.findings, f)
}

// addIfOverMax adds a finding when n exceeds the rule's maximum.
func (rr *ruleRun) addIfOverMax(n Quantity, f Finding) {
	if n.Value > rr.choice.Max.Value {
		f.Number = &n
		rr.add(f)
	}
}

// addDiagnosed adds a finding of a diagnosis, with the severity of the rule.
func (rr *ruleRun) addDiagnosed(f diagnosis.Finding) {
	rr.add(fromDiagnosis(f))
}

func fromDiagnosis(f diagnosis.Finding) Finding {
	return Finding{About: f.Scope, Sentence: f.Sentence, Commands: f.Commands, Since: f.Since}
}

// addUnknown adds an unknown finding. It shortens server errors that repeat the whole rejected command.
func (rr *ruleRun) addUnknown(about diagnosis.Scope, format string, args ...any) {
	sentence, _, _ := strings.Cut(fmt.Sprintf(format, args...), " to execute command {")
	rr.add(Finding{About: about, Unknown: true, Sentence: sentence})
}

// addUnavailable adds an unknown finding about data that this kind of source never has. The finding
// matters only if the user named this rule explicitly.
func (rr *ruleRun) addUnavailable(sentence string) {
	f := Finding{Unknown: true, Severity: diagnosis.Info, Sentence: sentence}
	if !rr.choice.ExplicitlyNamed {
		f.Excuse = "not available for this source"
	}
	rr.add(f)
}

// reportGap reports whether a part of the snapshot is missing for all collections. If so, it adds an
// unknown finding.
func (rr *ruleRun) reportGap(what ...string) bool {
	for _, gap := range rr.Parts().Source.Gaps {
		if gap.Namespace == "" && slices.Contains(what, gap.What) {
			rr.addUnknown(diagnosis.Scope{Shard: gap.Shard}, "%s could not be read: %s", gap.What, gap.Reason)
			return true
		}
	}
	return false
}

// policyCollections returns the sharded collections that the policy covers.
func (rr *ruleRun) policyCollections() []*catalog.CollectionState {
	return slices.DeleteFunc(diagnosis.Sharded(rr.Snapshot), func(c *catalog.CollectionState) bool {
		return !rr.policy.Namespaces.Match(c.Namespace)
	})
}

// isOnDrainingShard reports whether a collection has chunks or data on a draining shard.
func (rr *ruleRun) isOnDrainingShard(c *catalog.CollectionState) bool {
	return slices.ContainsFunc(rr.Shards(), func(s catalog.ShardState) bool {
		return s.Draining && (c.CountOn(s.ID).Chunks > 0 || c.Sizes[s.ID].Bytes > 0)
	})
}

// excuse returns why the distribution of a collection does not matter: its balancing was disabled on
// purpose, or work is in progress that the policy allows.
func (rr *ruleRun) excuse(c *catalog.CollectionState) string {
	if hold := diagnosis.DisabledByOf(c.Collection, rr.Release()); hold != diagnosis.NotDisabled {
		return hold.String()
	}
	reshards := func(r catalog.ActiveResharding) bool { return r.Namespace == c.Namespace }
	for _, of := range []struct {
		work  AllowedWork
		going bool
	}{
		{Draining, rr.isOnDrainingShard(c)},
		{Defragmenting, diagnosis.DefragmentationOf(c).Running},
		{Resharding, slices.ContainsFunc(rr.Parts().Reshardings, reshards)},
	} {
		if of.going && rr.policy.allows(of.work) {
			return string(of.work) + " is allowed"
		}
	}
	return ""
}
