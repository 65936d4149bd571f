package check

import (
	"shardsh/balancer/advisory"
)

// checkAdvisories finds known bugs of the servers' versions. Each bug has its own severity, limited by
// the severity of the rule.
func (rr *ruleRun) checkAdvisories() {
	c := advisory.Cluster{Snapshot: rr.Snapshot}
	if len(advisory.VersionsOf(rr.Snapshot)) == 0 {
		rr.addUnavailable("whether the servers have known faults is unknown: their version is not recorded")
		return
	}
	list := advisory.Embedded()
	if rr.Advisories != nil {
		list = *rr.Advisories
	}
	for _, h := range list.Matching(c) {
		f := h.Finding()
		found := fromDiagnosis(f)
		found.Severity = min(f.Severity, rr.choice.Severity)
		rr.add(found)
	}
}
