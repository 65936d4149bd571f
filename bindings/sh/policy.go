package sh

import "shardsh/balancer/policy"

// policyText returns what the server's balancer evens out: that depends on its
// release only.
func (sh *Helpers) policyText() string {
	release, known := sh.release()
	if !known {
		return "unknown"
	}
	return policy.RulesOf(release).String()
}
