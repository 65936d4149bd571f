package sh_test

import (
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// uneven is a cluster whose balancer has something to move for minutes.
func uneven(t *testing.T) *mock.Topology {
	t.Helper()
	var chunks []string
	for i := range 40 {
		chunk := `{"shard": "a", "docs": 300, "bytes": "30MB"`
		if i < 39 {
			chunk += fmt.Sprintf(`, "max": {"k": %d}`, i)
		}
		chunks = append(chunks, chunk+"}")
	}
	topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "collections": [` +
		`{"ns": "big.data", "key": {"k": 1}, "chunks": [` + strings.Join(chunks, ",") + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// Before 3.4 the balancer is switched in config.settings, and its lock in
// config.locks tells whether it is at work (rules/01-selection §9.5): there are no commands.
func TestBalancerBefore34(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Release: catalog.Release24, Topology: uneven(t)})
	const lock = `db.getSiblingDB("config").locks.findOne({_id: "balancer"})`
	shelltest.Run(t, c,
		step{"try { db.adminCommand({balancerStatus: 1}) } catch (e) { e.codeName }", "CommandNotFound"},
		step{"sh.getBalancerState()", "true"},
		step{"sh.waitForBalancer(true, 60000)", ""}, // a round begins
		step{lock + ".state", "2"},
		step{"sh.isBalancerRunning()", "{ mode: 'full', inBalancerRound: true, ok: 1 }"},
		step{"sh.isBalancerInRound()", "true"},
		step{"sh.stopBalancer()", "{ ok: 1 }"}, // waits for the round's end
		step{lock + ".state", "0"},
		step{"db.getSiblingDB('config').settings.findOne({_id: 'balancer'})", "{ _id: 'balancer', stopped: true }"},
		step{"sh.getBalancerState()", "false"},
		step{"sh.isBalancerRunning()", "{ mode: 'off', inBalancerRound: false, ok: 1 }"},
		step{"sh.balancerSummary().mode", "off"},
		step{"let n = db.getSiblingDB('config').chunks.countDocuments({ns: 'big.data', shard: 'a'}); sleep(600000); " +
			"n === db.getSiblingDB('config').chunks.countDocuments({ns: 'big.data', shard: 'a'})", "true"},
		step{"sh.startBalancer()", "{ ok: 1 }"},
		step{"sh.getBalancerState()", "true"},
		step{"sleep(600000); n > db.getSiblingDB('config').chunks.countDocuments({ns: 'big.data', shard: 'a'})", "true"},
		step{"sh.setBalancerState(false)", "{ ok: 1 }"},
		step{"sh.getBalancerState()", "false"},
		step{"sh.setBalancerState(true)", "{ ok: 1 }"},
		step{"sh.status().balancer['Currently enabled']", "yes"},
	)
}

// Somebody who died holds the lock: that is said, and by whom.
func TestBalancerBefore34DoesNotEnd(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Release: catalog.Release24})
	shelltest.Run(t, c, step{`db.getSiblingDB("config").locks.updateOne({_id: "balancer"}, {$set: {state: 2, who: "old:27017:1:2"}}).matchedCount`, "1"})
	got, failed := c.Show("sh.stopBalancer(5000)")
	if !failed || !strings.Contains(got, `has not ended within 5s: old:27017:1:2 holds the lock "balancer"`) {
		t.Errorf("%s", got)
	}
	shelltest.Run(t, c, step{"sh.getBalancerState()", "false"}) // and yet it is off
	compat := shelltest.ConnectMock(t, mock.Config{Release: catalog.Release24}, func(cfg *bindings.Config) { cfg.Compat = true })
	shelltest.Run(t, compat, step{"sh.isBalancerRunning()", "false"})
}
