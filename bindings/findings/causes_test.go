package findings_test

import (
	"strconv"

	"shardsh/balancer/catalog"
)

// insert fills a collection with documents of some size, one for each key from
// low to high.
func insert(ns string, key string, bytes int) string {
	return `(() => { const [d, c] = "` + ns + `".split("."); db.getSiblingDB(d).getCollection(c).insertMany(` + key +
		`.map(k => ({ k, pad: "x".repeat(` + strconv.Itoa(bytes) + `) }))) })()`
}

// keys are the numbers from 0 on.
func keys(n int) string { return `Array.from({ length: ` + strconv.Itoa(n) + ` }, (_, i) => i)` }

const (
	tiny = `"settings": {"chunkSizeMB": 1}`
)

func ofCluster() []cure {
	return []cure{
		{name: "the config server is down", setup: []string{`mock.crash("config")`}, want: "configUnreachable",
			outside: `mock.restart("config")`},
		{name: "a shard is down", setup: []string{`mock.crash("b")`, `mock.advance("30s")`}, want: "shardUnreachable",
			outside: `mock.restart("b")`},
		{name: "a setting is damaged", want: "settingsUnreadable", version: catalog.Release50, setup: []string{
			`db.getSiblingDB("config").settings.updateOne({ _id: "chunksize" }, { $set: { value: "x" } }, { upsert: true })`}},
		{name: "the balancer is off", setup: []string{`sh.stopBalancer()`}, want: "balancerOff"},
		{name: "the window is shut", setup: []string{`sh.balancerWindow("22:00", "06:00")`}, want: "windowShut"},
		{name: "rounds fail", setup: []string{`mock.partition("config", "b")`, `mock.advance("31s")`}, want: "roundsFailing",
			outside: `mock.heal("config", "b")`},
		{name: "two shards have one machine id", setup: []string{`mock.sameMachineId("a", "b")`, `mock.advance("11s")`},
			want: "duplicateMachineIds"},
		{name: "a shard is slow", setup: []string{`mock.slow("b", { latency: "2s" })`}, want: "shardSlow",
			outside: `mock.slow("b")`},
	}
}

func ofCollections() []cure {
	hashed := `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 1}, "collections": [
	 {"ns": "x.y", "key": {"k": "hashed"}, "chunks": [{"shard": "a"}]}]}`
	return []cure{
		{name: "the collection is switched off", setup: []string{`sh.disableBalancing("x.y")`}, want: "balancingOff"},
		{name: "migrations are forbidden", setup: []string{`sh.disableMigrations("x.y")`}, want: "migrationsForbidden"},
		{name: "unsharding is under way", want: "resharding", setup: []string{
			`try { db.adminCommand({ unshardCollection: "x.y", toShard: "b", maxTimeMS: 10 }) } catch (e) {}`}},
		{name: "resharding is under way", want: "resharding", topology: spread, setup: []string{insert("x.y", keys(500), 1000),
			`db.getSiblingDB("x").y.createIndex({ _id: 1, k: 1 })`,
			`try { db.adminCommand({ reshardCollection: "x.y", key: { _id: 1 }, numInitialChunks: 2, maxTimeMS: 10 }) } catch (e) {}`}},
		{name: "unsharding is given up", want: "resharding", setup: []string{unshard}, instead: true},
		{name: "a collection is being moved", want: "resharding", topology: spread, setup: []string{insert("x.z", keys(5), 10),
			`try { db.adminCommand({ moveCollection: "x.z", toShard: "b", maxTimeMS: 10 }) } catch (e) {}`}},
		{name: "defragmentation goes first", want: "defragmenting", topology: crumbs, setup: []string{`sh.defragment("x.y")`,
			`for (let i = 0; i < 200 && !/^m/.test(sh.defragmentStatus("x.y").phase); i++) mock.advance("100ms")`}},
		{name: "defragmentation was not begun", want: "defragmentationIdle", setup: []string{`sh.defragment("x.y")`}},
		{name: "the index is gone", want: "shardKeyIndexMissing", topology: hashed, setup: []string{
			insert("x.y", keys(500), 10000), `db.getSiblingDB("x").y.dropIndex("k_hashed")`}},
		{name: "the index is gone and the balancer found out", want: "shardKeyIndexMissing", topology: hashed,
			setup: []string{insert("x.y", keys(500), 10000), `db.getSiblingDB("x").y.dropIndex("k_hashed")`, `mock.advance("1m")`}},
		{name: "below the threshold", want: "belowThreshold", stays: true,
			topology: `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
			 {"shard": "a", "max": {"k": 0}, "bytes": "400MiB", "docs": 400}, {"shard": "b", "bytes": "100MiB", "docs": 100}]}]}`},
		{name: "uneven counts", want: "countsUneven", stays: true,
			topology: `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
			 {"shard": "a", "max": {"k": 0}, "bytes": "1GiB", "docs": 1024}, {"shard": "b", "max": {"k": 1}, "bytes": "100MiB", "docs": 100},
			 {"shard": "b", "max": {"k": 2}, "bytes": "100MiB", "docs": 100}, {"shard": "b", "bytes": "800MiB", "docs": 800}]}]}`},
		{name: "counts and not bytes in 5.0", version: catalog.Release50, want: "balancesByCount", stays: true, topology: byCount},
		{name: "counts and not bytes in 4.4", version: catalog.Release44, want: "balancesByCount", stays: true, topology: byCount},
		{name: "unsharded data", want: "unshardedData", fill: map[string]string{"<collection>": "z"},
			topology: `{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "u", "primary": "a"}], ` + tiny + `}`,
			setup:    []string{insert("u.z", keys(500), 10000), insert("u.w", keys(500), 10000)}},
		{name: "routers of two releases", want: "mixedVersions", setup: []string{`sh.stopBalancer()`, `sh.startBalancer()`,
			`sh.waitForBalance()`, `db.getSiblingDB("config").mongos.insertOne({ _id: "h:27017", mongoVersion: "7.0.2", ping: new Date() })`},
			outside: `db.getSiblingDB("config").mongos.deleteOne({ _id: "h:27017" })`},
	}
}

const even = `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
 {"shard": "a", "max": {"k": 0}, "bytes": "1GiB", "docs": 1024}, {"shard": "b", "max": {"k": 1000}, "bytes": "1GiB", "docs": 1024},
 {"shard": "c", "bytes": "1GiB", "docs": 1024}]}]}`

// spread is an empty collection on both shards.
const spread = `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
 {"shard": "a", "max": {"k": 250}}, {"shard": "b"}]}]}`

// crumbs are small chunks on shards in turn.
const crumbs = `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
 {"shard": "a", "max": {"k": 0}, "bytes": "900MiB", "docs": 900}, {"shard": "b", "max": {"k": 1}, "bytes": "5MiB", "docs": 5},
 {"shard": "a", "max": {"k": 2}, "bytes": "5MiB", "docs": 5}, {"shard": "b", "max": {"k": 3}, "bytes": "5MiB", "docs": 5},
 {"shard": "a", "max": {"k": 4}, "bytes": "5MiB", "docs": 5}, {"shard": "b", "max": {"k": 5}, "bytes": "5MiB", "docs": 5},
 {"shard": "a", "bytes": "5MiB", "docs": 5}]}]}`

const byCount = `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
 {"shard": "a", "max": {"k": 0}, "bytes": "900MiB", "docs": 900}, {"shard": "b", "bytes": "100MiB", "docs": 100}]}]}`

func ofZones() []cure {
	zoned := func(shards, zones string) string {
		return `{"shards": [` + shards + `], "collections": [{"ns": "x.y", "key": {"k": 1}, "zones": [` + zones + `], "chunks": [
		 {"shard": "a", "max": {"k": 0}, "bytes": "1GiB", "docs": 1048576},
		 {"shard": "a", "max": {"k": 1000}, "bytes": "1GiB", "docs": 1048576},
		 {"shard": "a", "bytes": "1GiB", "docs": 1048576}]}]}`
	}
	// halves has the zone EU uneven, and more than that on c in the zone US.
	halves := func(ofC string) string {
		return `{"shards": [{"id": "a", "zones": ["EU"]}, {"id": "b", "zones": ["EU"]}, {"id": "c", "zones": [` + ofC + `]}],
		 ` + tiny + `, "collections": [{"ns": "x.y", "key": {"k": 1}, "zones": [
		  {"zone": "EU", "min": {"k": {"$minKey": 1}}, "max": {"k": 0}}, {"zone": "US", "min": {"k": 0}, "max": {"k": {"$maxKey": 1}}}],
		 "chunks": [{"shard": "a", "max": {"k": -500}, "bytes": "1MiB", "docs": 1024},
		  {"shard": "a", "max": {"k": 0}, "bytes": "3MiB", "docs": 3072}, {"shard": "c", "bytes": "20MiB", "docs": 20480}]}]}`
	}
	across := []string{`sh.addShardToZone("c", "EU")`, `sh.updateZoneKeyRange("x.y", { k: 500 }, { k: 1500 }, "EU")`}
	const middle = `{"zone": "EU", "min": {"k": 0}, "max": {"k": 1000}}`
	return []cure{
		{name: "a zone without shards", want: "zoneWithoutShards", fill: map[string]string{"<shard>": `"b"`}, setup: []string{
			`db.getSiblingDB("config").tags.insertOne({ _id: ObjectId(), ns: "x.y", tag: "EU", min: { k: 0 }, max: { k: 1000 } })`}},
		{name: "a zone whose shards drain", want: "zoneDraining", fill: map[string]string{"<shard>": `"a"`},
			topology: zoned(`{"id": "a"}, {"id": "b", "zones": ["EU"], "draining": true}`, middle)},
		{name: "a zone whose shards are full", want: "shardFull", version: catalog.Release50, outside: `(() => {
			db.getSiblingDB("config").shards.updateOne({ _id: "b" }, { $unset: { maxSize: 1 } }) })()`,
			topology: `{"shards": [{"id": "a"}, {"id": "b", "maxSizeMB": 50}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
			 {"shard": "a", "max": {"k": 0}, "bytes": "30MiB", "docs": 30720}, {"shard": "a", "max": {"k": 1}, "bytes": "30MiB", "docs": 30720},
			 {"shard": "a", "max": {"k": 2}, "bytes": "30MiB", "docs": 30720}, {"shard": "b", "bytes": "60MiB", "docs": 30720}]}]}`},
		{name: "a range without data", want: "zoneWithoutData", instead: true, setup: []string{insert("x.y", keys(50), 10),
			`sh.addShardToZone("a", "EU")`, `sh.updateZoneKeyRange("x.y", { k: "A" }, { k: "M" }, "EU")`, `mock.advance("1m")`},
			topology: `{"shards": [{"id": "a"}], "collections": [{"ns": "x.y", "key": {"k": 1}}]}`},
		{name: "a range across chunks", want: "unalignedZones", setup: across},
		{name: "a range across chunks, split by hand", want: "unalignedZones", setup: across, instead: true, topology: even},
		{name: "the largest shard is outside of the zone", want: "largestOutsideZone", topology: halves(`"US"`)},
		{name: "the largest shard has no chunk of the zone", want: "noChunkInZone", topology: halves(`"EU", "US"`)},
		{name: "no shard left to drain to", want: "noRecipient", fill: map[string]string{"<host>": `"rs9/h9:27018"`},
			topology: zoned(`{"id": "a"}`, ""), setup: []string{`db.getSiblingDB("config").shards.updateOne({ _id: "a" }, { $set: { draining: true } })`}},
		{name: "a range still to be deleted", want: "pendingDeletion",
			topology: `{"shards": [{"id": "a", "zones": ["Z"]}, {"id": "b"}], ` + tiny + `, "collections": [
			 {"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "a"}]}]}`,
			setup: []string{insert("x.y", keys(50), 10), `sh.moveChunk("x.y", { k: 5 }, "b")`,
				`sh.updateZoneKeyRange("x.y", { k: 0 }, { k: MaxKey }, "Z")`}},
	}
}

func ofChunks() []cure {
	jumbo := func(chunks string) string {
		return `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 1}, "collections": [
		 {"ns": "x.y", "key": {"k": 1}, "chunks": [` + chunks + `]}]}`
	}
	return []cure{
		{name: "jumbo chunks that can be split", want: "onlyJumboChunks", topology: jumbo(`{"shard": "a", "jumbo": true}`),
			setup: []string{insert("x.y", keys(600), 10000)}},
		{name: "a jumbo chunk of one key", want: "onlyJumboChunks", topology: jumbo(`{"shard": "a", "jumbo": true}`),
			setup: []string{insert("x.y", `Array(600).fill(5)`, 10000)}},
		{name: "jumbo chunks nobody misses", want: "jumboChunks",
			topology: jumbo(`{"shard": "a", "max": {"k": 300}, "jumbo": true}, {"shard": "b"}`),
			setup:    []string{insert("x.y", keys(600), 10000)}},
	}
}

func ofDrains() []cure {
	drained := func(chunks string) string {
		return `{"shards": [{"id": "a", "draining": true}, {"id": "b"}], "databases": [{"name": "x", "primary": "b"}],
		 "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [` + chunks + `]}]}`
	}
	return []cure{
		{name: "a database on a draining shard", want: "drainNeedsOperator", fill: map[string]string{"<shard>": `"b"`},
			topology: `{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "u", "primary": "a"}]}`,
			setup:    []string{`sh.drain("a")`}},
		{name: "a shard that is drained", want: "drainComplete", topology: drained(`{"shard": "b"}`)},
	}
}
