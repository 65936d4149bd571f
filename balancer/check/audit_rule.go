package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/placement"
)

// Audit is what an audit found, of samples of the documents.
type Audit struct {
	Findings []placement.Finding
	// Unseen is what could not be seen or did not settle, and why.
	Unseen []string
}

// audit finds what lies on shards where it should not.
func (l *ruleRun) audit() {
	const notKnown = "whether everything lies on the shards where it should is unknown: "
	switch {
	case l.Audited == nil && l.Unaudited == "":
		l.silent(notKnown + "the file does not record it")
		return
	case l.Audited == nil:
		l.unknown(diagnosis.Scope{}, notKnown+"%s", l.Unaudited)
		return
	}
	for _, f := range l.Audited.Findings {
		if !l.policy.Namespaces.Match(f.Namespace) {
			continue
		}
		about := diagnosis.Scope{Namespace: f.Namespace}
		if len(f.Shards) == 1 {
			about.Shard = f.Shards[0]
		}
		l.measured(count(f.Count), Finding{About: about, Sentence: fmt.Sprintf("%s: %s: %s", f.Namespace, f.Kind, f.Text),
			Commands: f.Mend})
	}
	for _, text := range l.Audited.Unseen {
		l.unknown(diagnosis.Scope{}, "the audit could not see %s", text)
	}
}
