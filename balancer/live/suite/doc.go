// Package suite is tests for any cluster: the program, as a process, against a
// cluster over the wire, and what is true on the cluster afterwards.
//
//	go test ./balancer/live/suite
//	SHARDSH_LIVE_URI=mongodb://host:27017 go test ./balancer/live/suite -v
//
// Without an address it starts "shardsh serve" for each of some releases. With one
// it needs three shards, says what it will do, makes databases of its own only
// (it refuses a cluster that has them already), puts settings, zones and leases
// back, and compares the cluster with its initial state. Tests that move data of others,
// switch the balancer on, or remove a shard are skipped if there are
// sharded collections of others; skipped tests are logged.
//
//	-suite.whole   all parts on all releases, twice, and all scenarios
package suite
