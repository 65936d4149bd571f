package findings_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

// pair is a cluster with two causes; the one that has to end first comes first.
type pair struct {
	name          string
	version       catalog.Release
	topology      string // lopsided when empty
	setup         []string
	first, second string
}

func TestTwoCausesInOrder(t *testing.T) {
	for _, one := range pairs() {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			topology := one.topology
			if topology == "" {
				topology = lopsided
			}
			c := newCluster(t, one.version, topology)
			c.do(one.setup...)
			a := c.why("")
			second := 0
			for i, f := range a.Causes {
				if f.Code == one.second {
					second = i
				}
			}
			if a.Healthy || a.first() != one.first || second == 0 {
				t.Errorf("want %s before %s\n%s", one.first, one.second, a)
			}
		})
	}
}

const (
	noBalancer  = `sh.stopBalancer()`
	shutWindow  = `sh.balancerWindow("22:00", "06:00")`
	noBalancing = `sh.disableBalancing("x.y")`
	noMoves     = `sh.disableMigrations("x.y")`
	unshard     = `try { db.adminCommand({ unshardCollection: "x.y", toShard: "b", maxTimeMS: 10 }) } catch (e) {}`
	badRange    = `db.getSiblingDB("config").tags.insertOne({ _id: ObjectId(), ns: "x.y", tag: "EU", min: { k: 0 }, max: { k: 1000 } })`
	inZone      = `sh.addShardToZone("c", "EU")`
	crossRange  = `sh.updateZoneKeyRange("x.y", { k: 500 }, { k: 1500 }, "EU")`
	slowShard   = `mock.slow("b", { latency: "2s" })`
	cut         = `mock.partition("config", "b")`
	wait        = `mock.advance("31s")`
)

func pairs() []pair {
	one := func(first, second string, setup ...string) pair {
		return pair{name: first + " and " + second, setup: setup, first: first, second: second}
	}
	in := func(topology string, p pair) pair {
		p.topology = topology
		return p
	}
	jumbo := `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 1}, "collections": [
	 {"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "jumbo": true, "bytes": "20MiB", "docs": 2000}]}]}`
	back := `{"shards": [{"id": "a", "zones": ["Z"]}, {"id": "b"}], "settings": {"chunkSizeMB": 1}, "collections": [
	 {"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "a"}]}]}`
	returned := []string{insert("x.y", keys(50), 10), `sh.moveChunk("x.y", { k: 5 }, "b")`,
		`sh.updateZoneKeyRange("x.y", { k: 0 }, { k: MaxKey }, "Z")`}
	old := one("settingsUnreadable", "balancerOff", noBalancer,
		`db.getSiblingDB("config").settings.updateOne({ _id: "chunksize" }, { $set: { value: "x" } }, { upsert: true })`)
	old.version = catalog.Release50
	return []pair{
		one("shardUnreachable", "balancerOff", noBalancer, `mock.crash("b")`),
		one("shardUnreachable", "windowShut", shutWindow, `mock.crash("b")`),
		one("shardUnreachable", "roundsFailing", `mock.crash("b")`, wait),
		old,
		one("balancerOff", "windowShut", noBalancer, shutWindow),
		one("balancerOff", "roundsFailing", cut, wait, noBalancer),
		one("balancerOff", "balancingOff", noBalancing, noBalancer),
		one("balancerOff", "migrationsForbidden", noMoves, noBalancer),
		one("balancerOff", "defragmentationIdle", noBalancer, `sh.defragment("x.y")`),
		in(jumbo, one("balancerOff", "onlyJumboChunks", noBalancer)),
		in(back, one("balancerOff", "pendingDeletion", append(returned, noBalancer)...)),
		one("balancerOff", "shardSlow", noBalancer, slowShard),
		one("windowShut", "roundsFailing", cut, wait, shutWindow),
		one("windowShut", "resharding", shutWindow, unshard),
		one("windowShut", "unalignedZones", inZone, shutWindow, crossRange),
		in(jumbo, one("windowShut", "onlyJumboChunks", shutWindow)),
		one("duplicateMachineIds", "balancingOff", `mock.sameMachineId("a", "b")`, `mock.advance("11s")`, noBalancing),
		one("roundsFailing", "migrationsForbidden", cut, wait, noMoves),
		one("resharding", "balancingOff", noBalancing, unshard),
		one("balancingOff", "migrationsForbidden", noBalancing, noMoves),
		one("balancingOff", "unalignedZones", noBalancing, inZone, crossRange),
		one("balancingOff", "shardSlow", noBalancing, slowShard),
		one("migrationsForbidden", "zoneWithoutShards", noMoves, badRange),
		in(jumbo, one("balancingOff", "onlyJumboChunks", noBalancing)),
		one("zoneWithoutShards", "shardSlow", badRange, slowShard),
	}
}

// A healthy cluster takes one line, and a wait that makes one healthy says so.
func TestHealthyIsOneLine(t *testing.T) {
	for name, topology := range map[string]string{
		"nothing sharded": `{"shards": [{"id": "a"}, {"id": "b"}]}`,
		"even":            even,
	} {
		c := newCluster(t, catalog.Release{}, topology)
		c.do(wait)
		if text, err := c.eval(`sh.why()`); err != nil || text != "nothing is wrong." {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	c := newCluster(t, catalog.Release{}, lopsided)
	c.do(`sh.waitForBalance()`, `mock.advance("20m")`)
	if text, err := c.eval(`sh.why()`); err != nil || text != "nothing is wrong; see x.y, which only looks unbalanced." {
		t.Errorf("evened out: %q, %v", text, err)
	}
	if text, err := c.eval(`sh.why("x.y")`); err != nil || !strings.Contains(text, "(countsUneven)") {
		t.Errorf("evened out: %q, %v", text, err)
	}
}
