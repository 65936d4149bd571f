package check

import (
	"shardsh/balancer/advisory"
)

// checkAdvisories finds known bugs of the servers' versions. Each bug has its own severity, limited by
// the severity of the rule.
func (l *ruleRun) checkAdvisories() {
	c := advisory.Cluster{Snapshot: l.Snapshot}
	if len(advisory.VersionsOf(l.Snapshot)) == 0 {
		l.addUnavailable("whether the servers have known faults is unknown: their version is not recorded")
		return
	}
	list := advisory.Embedded()
	if l.Advisories != nil {
		list = *l.Advisories
	}
	for _, h := range list.Matching(c) {
		f := h.Finding()
		found := fromDiagnosis(f)
		found.Severity = min(f.Severity, l.choice.Severity)
		l.add(found)
	}
}
