package sim_test

import "shardsh/balancer/catalog/snaptest"

const mib = 1 << 20

// noon is when the simulations of these tests begin.
var noon = snaptest.SnapshotTime()
