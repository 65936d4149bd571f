package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/placement"
)

// AuditSummary is what an audit found in samples of the documents.
type AuditSummary struct {
	Findings []placement.Finding
	// Unread names what could not be read or kept changing, with the reasons.
	Unread []string
}

// checkAudit finds documents on shards that do not own them.
func (rr *ruleRun) checkAudit() {
	const notKnown = "whether all data is on the right shards is unknown: "
	switch {
	case rr.Audit == nil && rr.NotAuditedReason == "":
		rr.addUnavailable(notKnown + "the file does not record it")
		return
	case rr.Audit == nil:
		rr.addUnknown(diagnosis.Scope{}, notKnown+"%s", rr.NotAuditedReason)
		return
	}
	for _, f := range rr.Audit.Findings {
		if !rr.policy.Namespaces.Match(f.Namespace) {
			continue
		}
		about := diagnosis.Scope{Namespace: f.Namespace}
		if len(f.Shards) == 1 {
			about.Shard = f.Shards[0]
		}
		rr.addIfOverMax(
			countQuantity(f.Count),
			Finding{About: about, Sentence: fmt.Sprintf("%s: %s: %s", f.Namespace, f.Kind, f.Text),
				Commands: f.RepairCommands},
		)
	}
	for _, text := range rr.Audit.Unread {
		rr.addUnknown(diagnosis.Scope{}, "the audit could not see %s", text)
	}
}
