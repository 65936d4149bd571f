package sh_test

import (
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestPolicyOfTheServer: what the balancer evens out follows from the release.
func TestPolicyOfTheServer(t *testing.T) {
	for release, want := range map[catalog.Release]string{
		catalog.Release34: "by number of chunks: shards 2 above the ideal, rounded up (1 after a move, or below 20 chunks)",
		catalog.Release50: "by number of chunks: shards above the ideal, rounded to the nearest number",
		catalog.Release80: "by data size: shards that differ by 3 chunk sizes or more",
	} {
		shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Seed: 7, Release: release}), step{"sh.balancerSummary().policy", want})
	}
}
