// Package suite contains tests for any cluster. They run the program as a process against a cluster
// over the wire, and check the state of the cluster afterwards.
//
//	go test ./balancer/live/suite
//	SHARDSH_LIVE_URI=mongodb://host:27017 go test ./balancer/live/suite -v
//
// Without an address it starts "shardsh serve" for each of some releases. With an address, the cluster
// must have three shards. The suite announces its changes, creates only its own databases (it refuses a
// cluster that has them already), restores settings, zones and leases, and compares the cluster with
// its initial state. Tests that move other data, switch the balancer on, or remove a shard are skipped
// if the cluster has other sharded collections; skipped tests are logged.
//
//	-suite.whole   all parts on all releases, twice, and all scenarios
package suite
