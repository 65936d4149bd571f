package sh

import "shardsh/balancer/policy"

// balancingRulesText describes what the server's balancer evens out, which depends only on its release.
func (h *Helpers) balancingRulesText() string {
	release, known := h.release()
	if !known {
		return "unknown"
	}
	return policy.RulesOf(release).String()
}
