package sh

import (
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// policyText says what the server's balancer evens out: that depends on its
// release only.
func (sh *Helpers) policyText() string {
	v := sh.version()
	release, known := catalog.ReleaseOf(fmt.Sprintf("%d.%d", v[0], v[1]))
	if !known {
		return "unknown"
	}
	return policy.RulesOf(release).String()
}
