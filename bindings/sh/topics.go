package sh

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// topic is a group of helpers in sh.help().
type topic struct {
	name    string // the argument of sh.help for this topic
	title   string
	helpers []example
}

// example is a call of a helper. All examples also run on the mock.
type example struct{ helper, call string }

// topics returns the helpers in the order of sh.help(), each with an example.
func topics() []topic {
	return []topic{
		{"balance", "Is it balanced?", []example{
			{"status", `sh.status()`},
			{"why", `sh.why("shop.orders")`},
			{"explain", `sh.explain("shop.orders", { customer: 50 })`},
			{"forecast", `sh.forecast("shop.orders").likelyMS`},
			{"plan", `sh.plan("shop.orders", { goal: { drain: "shard2" }, maxBytes: "10GB" })`},
			{"apply", `sh.apply(sh.plan("shop.orders"), { dryRun: true }).commands`},
			{"undo", `sh.undo("orders.journal").text()`},
			{"balance", `sh.balance("shop.orders", { pauseBalancing: true, maxMoves: 1 })`},
			{"whatIf", `sh.whatIf(c => { c.addShard(2); c.chunkSize("shop.orders", 256) }, c => c.drain("shard2"))`},
			{"balancerSummary", `sh.balancerSummary().problems`},
			{"balancerCollectionStatus", `sh.balancerCollectionStatus("shop.orders")`},
			{"waitForBalance", `sh.waitForBalance("shop.orders", { timeout: 3600000 })`},
			{"getShardedDataDistribution", `sh.getShardedDataDistribution().toArray()`},
			{"isBalancerRunning", `sh.isBalancerRunning().mode`},
			{"history", `sh.history({ since: "24h" })`},
			{"verify", `const before = sh.verify("shop.orders"); sh.verify("shop.orders", { against: before }).verdict`},
			{"audit", `sh.audit("shop.orders").findings.map(f => f.mend)`},
			{"snapshot", `sh.snapshot().collections.map(c => c.ns)`},
			{"diff", `const before = sh.snapshot(); sh.addShardToZone("shard1", "EU"); ` +
				`sh.diff(before).changes.map(c => c.text)`},
			{"isBalancerInRound", `while (sh.isBalancerInRound()) sleep(100)`},
		}},
		{"settings", "The balancer and its settings", []example{
			{"startBalancer", `sh.startBalancer()`},
			{"stopBalancer", `sh.stopBalancer(60000)`},
			{"quiesce", `sh.quiesce({ timeout: "30m", ignoreDeletions: true }, () => sh.getBalancerState())`},
			{"pause", `sh.pause({ reason: "incident 4711", for: "2h", replace: true }).until`},
			{"setBalancerState", `sh.setBalancerState(true)`},
			{"getBalancerState", `sh.getBalancerState()`},
			{"balancerWindow", `sh.balancerWindow("22:00", "06:00")`},
			{"clearBalancerWindow", `sh.clearBalancerWindow()`},
			{"chunkSize", `sh.chunkSize("shop.orders", 256)`},
			{"configureCollectionBalancing", `sh.configureCollectionBalancing("shop.orders", { chunkSize: 256 })`},
			{"enableBalancing", `sh.enableBalancing("shop.orders")`},
			{"disableBalancing", `sh.disableBalancing("shop.orders")`},
			{"enableMigrations", `sh.enableMigrations("shop.orders")`},
			{"disableMigrations", `sh.disableMigrations("shop.orders")`},
			{"enableAutoSplit", `sh.enableAutoSplit()`},
			{"disableAutoSplit", `sh.disableAutoSplit()`},
		}},
		{"shards", "Shards", []example{
			{"listShards", `sh.listShards().map(s => s._id)`},
			{"addShard", `sh.addShard("rs9/h9:27018")`},
			{"drain", `sh.drain("shard2", { wait: true })`},
			{"job", `sh.job("drain", "start", { shard: "shard2", pauseBalancing: true }).state`},
			{"drainStatus", `sh.drainStatus("shard2").state`},
			{"waitForDrain", `sh.waitForDrain("shard2", { timeout: 3600000 })`},
			{"stopDrain", `sh.stopDrain("shard2")`},
			{"removeShard", `sh.removeShard("shard2")`},
			{"movePrimary", `sh.movePrimary("shop", "shard1")`},
			{"getShardMap", `sh.getShardMap().map`},
			{"isConfigShardEnabled", `sh.isConfigShardEnabled().enabled`},
			{"shardDrainingStatus", `sh.shardDrainingStatus("shard2")`},
			{"getTransitionToDedicatedConfigServerStatus", `sh.getTransitionToDedicatedConfigServerStatus()`},
		}},
		{"collections", "Databases and collections", []example{
			{"enableSharding", `sh.enableSharding("sales", "shard1")`},
			{"heat", `sh.heat("shop.orders", { for: "10s" }).collections[0].shards`},
			{"adviseKey", `sh.adviseKey("shop.orders", [{ customer: 1 }, { order: "hashed" }]).verdict`},
			{"adviseChunkSize", `sh.adviseChunkSize("shop.orders", { expect: "500GB" }).mb`},
			{"advisePresplit", `sh.advisePresplit("shop.customers", { key: { country: 1, _id: "hashed" }, expect: "500GB" })`},
			{"shardCollection", `sh.shardCollection("shop.customers", { country: 1, _id: 1 })`},
			{"shardAndDistributeCollection", `sh.shardAndDistributeCollection("shop.visits", { _id: "hashed" })`},
			{"reshardCollection", `sh.reshardCollection("shop.orders", { order: 1 }, { numInitialChunks: 4 })`},
			{"commitReshardCollection", `sh.commitReshardCollection("shop.orders")`},
			{"abortReshardCollection", `sh.abortReshardCollection("shop.orders")`},
			{"refineCollectionShardKey", `sh.refineCollectionShardKey("shop.orders", { customer: 1, order: 1 })`},
			{"moveCollection", `sh.moveCollection("shop.prices", "shard2")`},
			{"abortMoveCollection", `sh.abortMoveCollection("shop.prices")`},
			{"unshardCollection", `sh.unshardCollection("shop.orders", "shard1")`},
			{"abortUnshardCollection", `sh.abortUnshardCollection("shop.orders")`},
			{"checkMetadataConsistency", `sh.checkMetadataConsistency({ checkIndexes: true }).toArray()`},
		}},
		{"chunks", "Chunks", []example{
			{"map", `sh.map("shop.orders")`},
			{"chunks", `sh.chunks("shop.orders", { shard: "shard1", limit: 10 }).toArray()`},
			{"splitAt", `sh.splitAt("shop.orders", { customer: 500 })`},
			{"splitFind", `sh.splitFind("shop.orders", { customer: 50 })`},
			{"moveChunk", `sh.moveChunk("shop.orders", { customer: 50 }, "shard1")`},
			{"moveRange", `sh.moveRange("shop.orders", "shard1", { customer: 100 })`},
			{"mergeChunks", `sh.mergeChunks("shop.orders", { customer: MinKey }, { customer: MaxKey })`},
			{"mergeAllChunks", `sh.mergeAllChunks("shop.orders")`},
			{"clearJumbo", `sh.clearJumbo("shop.orders", { customer: 50 })`},
			{"defragment", `sh.defragment("shop.orders", { chunkSize: 64 })`},
			{"defragmentStatus", `sh.defragmentStatus("shop.orders").running`},
			{"presplit", `sh.presplit("shop.orders", { points: [{ customer: 50 }], pauseBalancing: true })`},
			{"stopDefragment", `sh.stopDefragment("shop.orders")`},
			{"startAutoMerger", `sh.startAutoMerger()`},
			{"stopAutoMerger", `sh.stopAutoMerger()`},
			{"isAutoMergerEnabled", `sh.isAutoMergerEnabled()`},
			{"enableAutoMerger", `sh.enableAutoMerger("shop.orders")`},
			{"disableAutoMerger", `sh.disableAutoMerger("shop.orders")`},
		}},
		{"zones", "Zones", []example{
			{"zones", `sh.zones("shop.orders")`},
			{"addShardToZone", `sh.addShardToZone("shard1", "EU")`},
			{"removeShardFromZone", `sh.removeShardFromZone("shard1", "EU")`},
			{"updateZoneKeyRange", `sh.updateZoneKeyRange("shop.orders", { customer: 0 }, { customer: 100 }, "EU")`},
			{"removeRangeFromZone", `sh.removeRangeFromZone("shop.orders", { customer: 0 }, { customer: 100 })`},
			{"addShardTag", `sh.addShardTag("shard1", "EU")`},
			{"removeShardTag", `sh.removeShardTag("shard1", "EU")`},
			{"addTagRange", `sh.addTagRange("shop.orders", { customer: 0 }, { customer: 100 }, "EU")`},
			{"removeTagRange", `sh.removeTagRange("shop.orders", { customer: 0 }, { customer: 100 })`},
		}},
		{"old", "The old mongo shell", []example{
			{"waitForBalancer", `sh.waitForBalancer(false, 60000)`},
			{"waitForBalancerOff", `sh.waitForBalancerOff(60000)`},
			{"awaitBalancerRound", `sh.awaitBalancerRound(60000)`},
			{"awaitCollectionBalance", `sh.awaitCollectionBalance("shop.orders", 600000)`},
			{"waitForPingChange", `sh.waitForPingChange(db.getSiblingDB("config").mongos.find().toArray())`},
			{"getBalancerWindow", `sh.getBalancerWindow()`},
			{"getActiveMigrations", `sh.getActiveMigrations()`},
			{"getRecentMigrations", `sh.getRecentMigrations()`},
			{"getRecentFailedRounds", `sh.getRecentFailedRounds().count`},
		}},
	}
}

// exampleOf returns the example of a helper; empty for helpers that the help does not show.
func exampleOf(helper string) string {
	for _, t := range topics() {
		for _, e := range t.helpers {
			if e.helper == helper {
				return e.call
			}
		}
	}
	return ""
}

// helpWidth is the width of the help.
const helpWidth = 80

// helpText returns the text of sh.help(): the helpers by topic, on one screen, or the explanations of
// one topic.
func helpText(paint func(color, text string) string, name string) string {
	var b strings.Builder
	list := topics()
	if i := slices.IndexFunc(list, func(t topic) bool { return t.name == name }); i >= 0 {
		list[i].writeHelp(&b, paint)
		return strings.TrimRight(b.String(), "\n")
	}
	b.WriteString("\n  " + paint(script.HeadingColor, "Shard Class:") + "\n\n")
	for _, t := range list {
		fmt.Fprintf(&b, "  %s  sh.help(%q)\n", paint(script.HeadingColor, t.title), t.name)
		var names []string
		for _, e := range t.helpers {
			names = append(names, e.helper)
		}
		for _, line := range plaintext.Wrap(strings.Join(names, ", "), helpWidth-4) {
			b.WriteString("    " + line + "\n")
		}
	}
	b.WriteString("\n  sh.why.help() explains one helper, sh.help(\"chunks\") those of a topic.")
	return b.String()
}

// writeHelp writes a description of each helper of a topic.
func (t topic) writeHelp(b *strings.Builder, paint func(color, text string) string) {
	texts := map[string]string{}
	for _, m := range slices.Concat(helperTables()...) {
		texts[m.name] = m.help
	}
	b.WriteString("\n  " + paint(script.HeadingColor, t.title+":") + "\n\n")
	for _, e := range t.helpers {
		b.WriteString("  " + e.helper + "\n")
		for _, line := range plaintext.Wrap(texts[e.helper], helpWidth-4) {
			b.WriteString("    " + line + "\n")
		}
	}
}
