package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/placement"
)

// Audit is what an audit found in samples of the documents.
type Audit struct {
	Findings []placement.Finding
	// Unread names what could not be read or kept changing, with the reasons.
	Unread []string
}

// checkAudit finds documents on shards that do not own them.
func (l *ruleRun) checkAudit() {
	const notKnown = "whether all data is on the right shards is unknown: "
	switch {
	case l.Audit == nil && l.NotAuditedReason == "":
		l.addUnavailable(notKnown + "the file does not record it")
		return
	case l.Audit == nil:
		l.addUnknown(diagnosis.Scope{}, notKnown+"%s", l.NotAuditedReason)
		return
	}
	for _, f := range l.Audit.Findings {
		if !l.policy.Namespaces.Match(f.Namespace) {
			continue
		}
		about := diagnosis.Scope{Namespace: f.Namespace}
		if len(f.Shards) == 1 {
			about.Shard = f.Shards[0]
		}
		l.addIfOverMax(
			countQuantity(f.Count),
			Finding{About: about, Sentence: fmt.Sprintf("%s: %s: %s", f.Namespace, f.Kind, f.Text),
				Commands: f.Mend},
		)
	}
	for _, text := range l.Audit.Unread {
		l.addUnknown(diagnosis.Scope{}, "the audit could not see %s", text)
	}
}
