// What the suite's scripts share: a collection on three shards, what is true of it, and a table of checks. The
// word after -- says what the cluster is.
const DB = "shardsh_suite", NS = DB + ".orders", SMALL = DB + ".small"
const cfg = db.getSiblingDB("config"), own = db.getSiblingDB(DB)
const is = JSON.parse(process.argv.at(-1)) // { mock, alone, folder }
const [A, B, C] = cfg.shards.find().sort({ _id: 1 }).toArray().map(s => s._id)
const [major, minor] = db.version().split(".").map(Number)
const since = v => major > Math.floor(v) || major == Math.floor(v) && minor >= Math.round(v % 1 * 10)

// chunks are read from config itself: by uuid since 5.0, by ns before
function chunksOf(ns) {
  const c = cfg.collections.findOne({ _id: ns })
  if (!c || c.dropped) return []
  const by = u => cfg.chunks.find(u).sort({ min: 1 }).toArray()
  const found = c.uuid ? by({ uuid: c.uuid }) : []
  return found.length ? found : by({ ns })
}
const cuts = (ns = NS) => chunksOf(ns).slice(1).map(c => Number(Object.values(c.min)[0]))
const owners = (ns = NS) => chunksOf(ns).map(c => c.shard)
const ownerOf = k => owners()[cuts().filter(c => c <= k).length]
const entry = (ns = NS) => cfg.collections.findOne({ _id: ns }) || {}
const setting = id => cfg.settings.findOne({ _id: id }) || {}
const tagsOf = shard => cfg.shards.findOne({ _id: shard }).tags || []
const primary = (name = DB) => (cfg.databases.findOne({ _id: name }) || {}).primary
const keysOf = doc => Object.keys(doc || {}).join()

// state is all that a second call must leave as it is
function state() {
  const collections = cfg.collections.find({ _id: /^shardsh_suite\./ }).sort({ _id: 1 }).toArray().filter(c => !c.dropped)
    .map(c => ({ ns: c._id, key: c.key, unsplittable: c.unsplittable, noBalance: c.noBalance,
      migrations: c.permitMigrations, merge: c.enableAutoMerge, size: c.maxChunkSizeBytes,
      chunks: chunksOf(c._id).map(x => [x.min, x.max, x.shard, x.jumbo]) }))
  return EJSON.stringify({ collections, primary: primary(), settings: cfg.settings.find().sort({ _id: 1 }).toArray(),
    tags: cfg.tags.find().sort({ _id: 1 }).toArray().map(({ _id, ...t }) => t),
    shards: cfg.shards.find().sort({ _id: 1 }).toArray().map(s => [s._id, s.host, (s.tags || []).slice().sort(), s.draining]),
    documents: own.getCollectionNames().sort().map(n => [n, own[n].countDocuments()]) })
}

// fresh rewrites the collection: chunks from 0, 100 and 200 on A, B and C
function fresh(documents = 300) {
  own.dropDatabase()
  sh.enableSharding(DB)
  if (primary() != A) db.adminCommand({ movePrimary: DB, to: A })
  db.adminCommand({ shardCollection: NS, key: { k: 1 } })
  for (const k of [100, 200]) db.adminCommand({ split: NS, middle: { k } })
  for (const [k, to] of [[100, B], [200, C]]) db.adminCommand({ moveChunk: NS, find: { k }, to, _waitForDelete: true })
  if (documents) own.orders.insertMany([...Array(documents).keys()].map(k => ({ _id: k, k: k % 300, j: k % 7 })))
}
function eventually(what, ms = 60000) {
  for (const began = Date.now(); !what(); sleep(20))
    if (Date.now() - began > ms) throw new Error("not in time: " + what)
  return true
}

const results = []
// check calls a helper and says what is wrong, if anything. o.call is the call; o.holds is true afterwards, and gets
// what the call returned; o.since is the first release that has it and o.until the first that has not (there the call
// is an error and changes nothing); o.refused is how it is refused. A second call leaves the cluster as it is, unless
// o.again is "grows"; it ends well, or in an error where o.again is "error", or either way. o.before makes what the call
// needs, o.after takes it away; o.settle waits, before the second call, for what the balancer does on its own after the
// first; o.asItWas: it need not change anything.
function check(helper, o) {
  const result = { helper }
  results.push(result)
  const fail = text => { result.problem = (result.problem ? result.problem + "; " : "") + text }
  const attempt = f => { try { return { value: f() } } catch (e) { return { error: e } } }
  const told = e => `${e.name}: ${e.message}`
  if (o.mock && !is.mock) { result.skipped = "a command of the mock's"; return }
  if (o.alone && !is.alone) { result.skipped = "there are sharded collections of others"; return }
  try {
    if (!o.keeps) fresh(o.documents)
    if (o.before && (!o.since || since(o.since)) && (!o.until || !since(o.until))) o.before()
    const begin = state(), first = attempt(o.call)
    if (o.since && !since(o.since) || o.until && since(o.until)) {
      if (!first.error) fail("it should need another release")
      else if (!/need|since|version|has no|not supported|command|validation/i.test(first.error.message)) fail("does not say why: " + told(first.error))
      if (state() != begin) fail("it was refused and changed something")
      return
    }
    if (o.refused) {
      if (!first.error || !o.refused.test(first.error.message)) fail("not refused: " + (first.error ? told(first.error) : "it went well"))
      if (state() != begin) fail("it was refused and changed something")
      return
    }
    if (first.error) return fail("first call: " + told(first.error))
    if (o.reads && state() != begin) fail("it changed something")
    if (!o.holds(first.value)) fail(`after the first call it does not hold: ${o.holds}, it returned ${EJSON.stringify(first.value).slice(0, 300)}`)
    if (!o.reads && !o.asItWas && state() == begin) fail("the first call changed nothing")
    if (o.settle) o.settle()
    const one = state(), second = attempt(o.call)
    if (o.again != "either" && !!second.error != (o.again == "error")) fail("second call: " + (second.error ? told(second.error) : "it went well"))
    const two = state()
    if (one != two && o.again != "grows") fail(`the second call changed something:\n  ${one}\n  ${two}`)
    if (!second.error && !o.holds(second.value)) fail(`after the second call it does not hold: ${o.holds}`)
  } catch (e) {
    fail(told(e) + " " + (e.stack || ""))
  } finally {
    if (o.after) { const r = attempt(o.after); if (r.error) fail("afterwards: " + told(r.error)) }
  }
}
function finish() { own.dropDatabase(); print(EJSON.stringify(results)) }
