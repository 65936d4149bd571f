// Each helper of docs/sh.md: the call, what must be true on the cluster afterwards, and that a second call has the same
// effect. The balancer is off but where a check switches it on.
sh.stopBalancer()

// looking
const reads = (helper, call, holds, o = {}) => check(helper, { reads: true, call, holds, ...o })
reads("status", () => sh.status(), r => r.value ? true : keysOf(r).includes("shard"))
reads("balancerSummary", () => sh.balancerSummary(), r => r.mode == "off")
reads("why", () => sh.why(NS), r => EJSON.stringify(r).includes("the balancer is off"))
reads("explain", () => sh.explain(NS, { k: 7 }), r => typeof r.headline == "string")
reads("plan", () => sh.plan(NS, { goal: { drain: C } }), p => p.steps.some(s => s.kind == "move" && s.from == C))
reads("whatIf", () => sh.whatIf(c => c.drain(C)), o => o.alternatives.length == 2)
reads("forecast", () => sh.forecast(NS), f => typeof f.headline == "string")
reads("adviseKey", () => sh.adviseKey(NS), r => r.ns == NS && typeof r.verdict == "string")
reads("adviseChunkSize", () => sh.adviseChunkSize(NS), r => r.ns == NS && r.mb > 0)
reads("advisePresplit", () => sh.advisePresplit(NS), r => r.ns == NS && r.chunks > 0)
reads("verify", () => sh.verify(NS), r => r.verdict == "digest" && r.collections[0].docs == db.getSiblingDB(NS.split(".")[0])[NS.split(".")[1]].countDocuments())
reads("audit", () => sh.audit(NS), r => r.findings.length == 0 && ["clean", "unknown"].includes(r.verdict))
reads("heat", () => sh.heat(NS, { for: "1s" }), r => r.collections.length == 1 && r.collections[0].ns == NS && r.collections[0].shards.length > 0)
reads("snapshot", () => sh.snapshot(), r => [A, B, C].every(s => r.shards.some(x => x.id == s)))
reads("diff", () => sh.diff(sh.snapshot()), r => Array.isArray(r.changes) && !r.changes.some(c => /moved|zone/.test(c.kind)))
reads("isBalancerInRound", () => sh.isBalancerInRound(), r => r === false)
reads("isBalancerRunning", () => sh.isBalancerRunning(), r => r.mode == "off")
reads("getBalancerState", () => sh.getBalancerState(), r => r === false)
reads("balancerCollectionStatus", () => sh.balancerCollectionStatus(NS), r => r.ok == 1 && "balancerCompliant" in r, { since: 4.4 })
reads("chunks", () => sh.chunks(NS).toArray(), r => EJSON.stringify(r.map(c => c.shard)) == EJSON.stringify(owners()))
reads("map", () => sh.map(NS), r => r.shards.length == 3)
reads("zones", () => sh.zones(NS), r => EJSON.stringify(r) != undefined)
reads("getShardMap", () => sh.getShardMap(), r => [A, B, C].every(s => s in r.map))
reads("listShards", () => sh.listShards(), r => EJSON.stringify(r.map(s => s._id).sort()) == EJSON.stringify(cfg.shards.find().toArray().map(s => s._id).sort()))
reads("isConfigShardEnabled", () => sh.isConfigShardEnabled(), r => r.enabled === (cfg.shards.countDocuments({ _id: "config" }) == 1))
reads("drainStatus", () => sh.drainStatus(C), r => !cfg.shards.findOne({ _id: C }).draining)
reads("defragmentStatus", () => sh.defragmentStatus(NS), r => r.running === false, { since: 5.3 })
reads("getShardedDataDistribution", () => sh.getShardedDataDistribution().toArray(),
  r => r.some(d => d.ns == NS && d.shards.length == 3), { since: 6.0 })
reads("checkMetadataConsistency", () => sh.checkMetadataConsistency().toArray(), r => r.length == 0, { since: 7.0 })
reads("shardDrainingStatus", () => sh.shardDrainingStatus(C), r => r.ok == 1,
  since(8.3) ? { refused: /isn't draining/ } : { since: 8.3 })
reads("getTransitionToDedicatedConfigServerStatus", () => sh.getTransitionToDedicatedConfigServerStatus(), r => r.ok == 1,
  since(8.3) ? { refused: /./ } : { since: 8.3 })
reads("getBalancerWindow", () => sh.getBalancerWindow(), r => EJSON.stringify(r) == EJSON.stringify(setting("balancer").activeWindow || null))
// up to 4.4 the config server keeps the balancer's lock for good
reads("getActiveMigrations", () => sh.getActiveMigrations(), r => r.every(m => m._id == "balancer"))
reads("getRecentMigrations", () => sh.getRecentMigrations(), r => Array.isArray(r))
reads("getRecentFailedRounds", () => sh.getRecentFailedRounds(), r => r.count == 0)
reads("waitForBalancerOff", () => sh.waitForBalancerOff(60000), () => setting("balancer").stopped === true)
reads("waitForPingChange", () => sh.waitForPingChange([]), r => r.length == 0)
reads("isAutoMergerEnabled", () => sh.isAutoMergerEnabled(), r => r === (setting("automerge").enabled !== false))

// the balancer and settings
const on = () => setting("balancer").stopped !== true && setting("balancer").mode != "off"
check("startBalancer", { alone: true, call: () => sh.startBalancer(), holds: on, after: () => sh.stopBalancer() })
check("stopBalancer", { alone: true, before: () => sh.startBalancer(), call: () => sh.stopBalancer(), holds: () => !on() })
check("setBalancerState", { alone: true, call: () => sh.setBalancerState(true), holds: on, after: () => sh.setBalancerState(false) })
check("waitForBalancer", { alone: true, before: () => sh.startBalancer(), reads: true,
  call: () => sh.waitForBalancer(true, 60000), holds: on, after: () => sh.stopBalancer() })
check("awaitBalancerRound", { alone: true, before: () => sh.startBalancer(), reads: true,
  call: () => sh.awaitBalancerRound(60000), holds: on, after: () => sh.stopBalancer() })
check("balancerWindow", { call: () => sh.balancerWindow("22:00", "06:00"),
  holds: () => EJSON.stringify(setting("balancer").activeWindow) == '{"start":"22:00","stop":"06:00"}',
  after: () => sh.clearBalancerWindow() })
check("clearBalancerWindow", { before: () => sh.balancerWindow("22:00", "06:00"), call: () => sh.clearBalancerWindow(),
  holds: () => setting("balancer").activeWindow === undefined })
check("chunkSize", { call: () => sh.chunkSize(32), holds: () => setting("chunksize").value == 32, after: () => cfg.settings.deleteOne({ _id: "chunksize" }) })
check("chunkSize", { since: 5.3, call: () => sh.chunkSize(NS, 32), holds: () => entry().maxChunkSizeBytes == 32 << 20 })
check("chunkSize", { since: 5.3, before: () => sh.chunkSize(NS, 32), call: () => sh.chunkSize(NS, null), holds: () => !entry().maxChunkSizeBytes })
check("configureCollectionBalancing", { since: 5.3, call: () => sh.configureCollectionBalancing(NS, { chunkSize: 32 }),
  holds: () => entry().maxChunkSizeBytes == 32 << 20 })
check("enableBalancing", { before: () => sh.disableBalancing(NS), call: () => sh.enableBalancing(NS), holds: () => !entry().noBalance })
check("disableBalancing", { call: () => sh.disableBalancing(NS), holds: () => entry().noBalance === true })
check("enableMigrations", { since: 5.0, before: () => sh.disableMigrations(NS), call: () => sh.enableMigrations(NS),
  holds: () => entry().permitMigrations !== false })
check("disableMigrations", { since: 5.0, call: () => sh.disableMigrations(NS), holds: () => entry().permitMigrations === false,
  after: () => since(5.0) && sh.enableMigrations(NS) })
check("startAutoMerger", { before: () => sh.stopAutoMerger(), call: () => sh.startAutoMerger(),
  holds: () => setting("automerge").enabled === true })
check("stopAutoMerger", { before: () => sh.startAutoMerger(), call: () => sh.stopAutoMerger(),
  holds: () => setting("automerge").enabled === false, after: () => sh.startAutoMerger() })
check("enableAutoMerger", { before: () => sh.disableAutoMerger(NS), call: () => sh.enableAutoMerger(NS),
  holds: () => entry().enableAutoMerge !== false })
check("disableAutoMerger", { call: () => sh.disableAutoMerger(NS), holds: () => entry().enableAutoMerge === false })
check("enableAutoSplit", { until: 6.0, before: () => sh.disableAutoSplit(), call: () => sh.enableAutoSplit(),
  holds: () => setting("autosplit").enabled === true })
check("disableAutoSplit", { until: 6.0, call: () => sh.disableAutoSplit(), holds: () => setting("autosplit").enabled === false,
  after: () => since(6.0) || sh.enableAutoSplit() })

// databases and collections
check("enableSharding", { before: () => own.dropDatabase(), call: () => sh.enableSharding(DB, B), holds: () => primary() == B })
check("shardCollection", { call: () => sh.shardCollection(DB + ".more", { a: 1 }), holds: () => keysOf(entry(DB + ".more").key) == "a" })
// it makes 90 chunks by a sample, and wants ten documents of each
check("shardAndDistributeCollection", { since: 8.0,
  before: () => { own.more.insertMany([...Array(1000).keys()].map(a => ({ a }))); own.more.createIndex({ a: "hashed" }) },
  call: () => sh.shardAndDistributeCollection(DB + ".more", { a: "hashed" }), again: "either",
  holds: () => entry(DB + ".more").key.a == "hashed" && own.more.countDocuments() == 1000 })
check("reshardCollection", { since: 5.0, call: () => sh.reshardCollection(NS, { j: 1 }, { numInitialChunks: 2 }),
  holds: () => keysOf(entry().key) == "j" && own.orders.countDocuments() == 300 })
check("refineCollectionShardKey", { since: 4.4, before: () => own.orders.createIndex({ k: 1, j: 1 }),
  call: () => sh.refineCollectionShardKey(NS, { k: 1, j: 1 }), holds: () => keysOf(entry().key) == "k,j" })
for (const [helper, release] of [["commitReshardCollection", 5.0], ["abortReshardCollection", 5.0],
  ["abortMoveCollection", 8.0], ["abortUnshardCollection", 8.0]])
  check(helper, { call: () => sh[helper](NS), ...(since(release) ? { refused: /resharding|operation|NoSuchReshard|no .*progress/i } : { since: release }) })
check("unshardCollection", { since: 8.0, call: () => sh.unshardCollection(NS, B), again: "either",
  holds: () => owners().join() == B && own.orders.countDocuments() == 300 })
check("moveCollection", { since: 8.0, before: () => own.small.insertOne({ a: 1 }), call: () => sh.moveCollection(SMALL, B),
  holds: () => owners(SMALL).join() == B && own.small.countDocuments() == 1 })
check("movePrimary", { call: () => sh.movePrimary(DB, B), holds: () => primary() == B })

// chunks
check("splitAt", { call: () => sh.splitAt(NS, { k: 50 }), again: "error", holds: () => cuts().join() == "50,100,200" })
check("splitFind", { call: () => sh.splitFind(NS, { k: 250 }), again: "grows", holds: () => cuts().length >= 3 && cuts().some(c => c > 200) })
check("moveChunk", { call: () => sh.moveChunk(NS, { k: 50 }, B), holds: () => ownerOf(50) == B && own.orders.countDocuments() == 300 })
check("moveRange", { since: 6.0, call: () => sh.moveRange(NS, B, { k: 20 }, { k: 40 }),
  holds: () => ownerOf(20) == B && ownerOf(40) == A && own.orders.countDocuments() == 300 })
check("mergeChunks", { before: () => sh.splitAt(NS, { k: 50 }), call: () => sh.mergeChunks(NS, { k: MinKey() }, { k: 100 }), again: "either",
  holds: () => cuts().join() == "100,200" })
check("mergeAllChunks", { since: 7.0, before: () => { sh.splitAt(NS, { k: 50 }); sleep(is.mock ? 200 : 0) },
  call: () => sh.mergeAllChunks(NS), asItWas: !is.mock, holds: () => is.mock ? cuts().join() == "100,200" : cuts().length >= 2 })
check("clearJumbo", { before: () => { if (is.mock) cfg.chunks.updateOne({ _id: chunksOf(NS)[0]._id }, { $set: { jumbo: true } }) },
  call: () => sh.clearJumbo(NS, { k: 5 }), asItWas: !is.mock, holds: () => !chunksOf(NS)[0].jumbo })
check("defragment", { since: 5.3, before: () => sh.splitAt(NS, { k: 50 }), call: () => sh.defragment(NS), asItWas: true,
  holds: () => entry().defragmentCollection === true, after: () => since(5.3) && sh.stopDefragment(NS) })
check("stopDefragment", { alone: true, since: 5.3, before: () => { sh.startBalancer(); sh.defragment(NS) }, call: () => sh.stopDefragment(NS),
  asItWas: true, holds: () => eventually(() => !entry().defragmentCollection), settle: () => sh.stopBalancer(),
  after: () => sh.stopBalancer() })

// zones
for (const [add, remove, range, removeRange] of [["addShardToZone", "removeShardFromZone", "updateZoneKeyRange", "removeRangeFromZone"],
  ["addShardTag", "removeShardTag", "addTagRange", "removeTagRange"]]) {
  const zone = "shardsh_suite", into = () => sh.addShardToZone(B, zone), out = () => sh.removeShardFromZone(B, zone)
  const assign = () => sh.updateZoneKeyRange(NS, { k: 100 }, { k: 200 }, zone)
  const ranges = () => cfg.tags.find({ ns: NS }).toArray().map(t => [t.tag, t.min.k, t.max.k].join())
  check(add, { call: () => sh[add](B, zone), holds: () => tagsOf(B).includes(zone), after: out })
  check(remove, { before: into, call: () => sh[remove](B, zone), holds: () => !tagsOf(B).includes(zone) })
  check(range, { before: into, call: () => sh[range](NS, { k: 100 }, { k: 200 }, zone),
    holds: () => ranges().join(";") == zone + ",100,200", after: () => { sh.removeRangeFromZone(NS, { k: 100 }, { k: 200 }); out() } })
  check(removeRange, { before: () => { into(); assign() }, call: () => sh[removeRange](NS, { k: 100 }, { k: 200 }),
    holds: () => ranges().length == 0, after: out })
}

// plans and the engine
check("balance", { before: () => { for (const k of [100, 200]) sh.moveChunk(NS, { k }, A, { _waitForDelete: true }) },
  call: () => sh.balance(NS, { goal: "chunks", pauseBalancing: true, progress: false }),
  holds: () => new Set(owners()).size == 3 && own.orders.countDocuments() == 300 && !entry().noBalance })
check("apply", { call: () => sh.apply(sh.plan(NS, { goal: { drain: C } }), { journal: null, progress: false }), asItWas: false,
  holds: r => r.finished && !owners().includes(C) && own.orders.countDocuments() == 300 })
check("presplit", { call: () => sh.presplit(NS, { points: [{ k: 50 }, { k: 150 }], journal: null, progress: false }),
  holds: r => r.finished && cuts().includes(50) && cuts().includes(150) && new Set(owners()).size == 3 &&
    own.orders.countDocuments() == 300 })
check("quiesce", { alone: true, reads: true, before: () => sh.startBalancer(), after: () => sh.stopBalancer(),
  call: () => sh.quiesce({ ignoreDeletions: true }, () => sh.getBalancerState()),
  holds: r => r.verdict == "quiet" && r.givenBack != "" })
check("pause", { alone: true, reads: true, call: () => sh.pause({ reason: "suite", for: "1h", replace: true }), holds: r => r.paused && sh.pause({ show: true }).reason == "suite",
  after: () => sh.pause({ end: true }) })
check("history", { reads: true, call: () => sh.history({ since: "1h" }), holds: r => Array.isArray(r) })
check("job", { call: () => sh.job("drain", "start", { shard: C, workFor: "60s" }), asItWas: false,
  holds: r => ["done", "blocked"].includes(r.state) && !owners().includes(C) && own.orders.countDocuments() == 300,
  after: () => { sh.job("drain", "cancel", { shard: C }); db.getSiblingDB("shardsh").jobs.drop(); db.getSiblingDB("shardsh").journals.drop() } })
check("undo", { before: () => sh.apply(sh.plan(NS, { goal: { drain: C } }), { journal: is.folder + "/drain.journal", progress: false }),
  call: () => { const p = sh.undo(is.folder + "/drain.journal"); return p }, reads: true,
  holds: p => p.steps.every(s => s.kind != "move" || s.to == C), after: () => fs.unlinkSync(is.folder + "/drain.journal") })

// waits and what takes a shard away
const balancing = { alone: true, before: () => sh.startBalancer(), after: () => sh.stopBalancer() }
check("waitForBalance", { ...balancing, reads: true, call: () => sh.waitForBalance(NS, { timeout: 60000, interval: 50, progress: false }),
  holds: r => r.waitedMS >= 0 })
check("awaitCollectionBalance", { ...balancing, reads: true, call: () => sh.awaitCollectionBalance(NS, 60000), holds: () => true })
const host = cfg.shards.findOne({ _id: C }).host
const quick = { timeout: 100000, interval: 50, progress: false }
// Up to 5.0 the collections of a round share the shards: while a chunk of config.system.sessions goes from A to B, one of
// ours leaves its shard for C, which has one already. That is put right in a later round.
const balanced = () => sh.waitForBalance(NS, quick)
const draining = () => cfg.shards.findOne({ _id: C }).draining === true
const gone = () => !cfg.shards.countDocuments({ _id: C })
const emptied = () => { sh.startBalancer(); sh.drain(C); sh.waitForDrain(C, quick) }
const back = () => { if (gone()) sh.addShard(host, { name: C }); sh.stopBalancer() }
if (since(8.3)) {
  check("drain", { alone: true, call: () => sh.drain(C), holds: draining, after: () => sh.stopDrain(C) })
  check("stopDrain", { alone: true, before: () => sh.drain(C), call: () => sh.stopDrain(C), again: "either", holds: () => !draining() })
} else check("stopDrain", { call: () => sh.stopDrain(C), refused: /8\.3/ })
// a shard that left keeps its databases, with which it may not come back: only the mock has shards to spare
const spare = "spare" + Date.now()
check("drain", { alone: true, mock: true, call: () => sh.drain(spare, { ...quick, remove: true }),
  before: () => { sh.addShard(`${spare}/127.0.0.1:${Date.now() % 60000 + 1}`, { name: spare }); sh.moveChunk(NS, { k: 0 }, spare); sh.startBalancer() },
  settle: balanced, holds: () => !cfg.shards.countDocuments({ _id: spare }) && own.orders.countDocuments() == 300,
  after: () => sh.stopBalancer() })
check("waitForDrain", { alone: true, before: () => { sh.startBalancer(); sh.drain(C) }, call: () => sh.waitForDrain(C, quick),
  asItWas: true, settle: balanced, holds: () => !owners().includes(C) && own.orders.countDocuments() == 300,
  after: () => { own.dropDatabase(); since(8.3) ? sh.stopDrain(C) : sh.removeShard(C); back() } })
check("removeShard", { alone: true, before: () => { emptied(); own.dropDatabase() }, call: () => sh.removeShard(C), again: "error",
  holds: gone, after: back })
check("addShard", { alone: true, before: () => { emptied(); own.dropDatabase(); sh.removeShard(C) },
  call: () => sh.addShard(host, { name: C }), holds: () => !gone() && cfg.shards.findOne({ _id: C }).host == host, after: back })
finish()
