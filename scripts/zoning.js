// Brings the zones of a cluster to what was asked for, for even-zones and
// zones-from-file: what differs, how it is brought about, whether it is so then.
const cli = require("shardsh:cli");

const name = range => `${range.zone} of ${range.ns}: ${cli.key(range.min)} to ${cli.key(range.max)}`;
const sameRange = (a, b) => a.ns === b.ns && cli.same(a.min, b.min) && cli.same(a.max, b.max);
/** A bound may name the first fields of the key only: the server fills it up with MinKey. */
const filled = (bound, pattern) =>
  Object.fromEntries(Object.keys(pattern).map(f => [f, f in bound ? bound[f] : MinKey()]));
const less = (a, b) => bsonWoCompare(a, b) < 0;

/**
 * Checks what is wanted, { shards: { shard: [zones] }, ranges: [{ ns, zone, min, max }] }, and returns it with whole
 * bounds.
 */
function checked(run, wanted) {
  const shards = wanted.shards || {},
    ids = sh.listShards().map(s => s._id);
  for (const id of Object.keys(shards)) {
    if (!ids.includes(id)) run.refuse(`no shard ${id}${cli.didYouMean(id, ids)}`);
    if (!Array.isArray(shards[id])) run.refuse(`the zones of ${id} have to be a list`);
  }
  const keys = {};
  const ranges = (wanted.ranges || []).map(range => {
    if (!range.ns || !range.zone || !range.min || !range.max)
      run.refuse(`a range needs ns, zone, min and max: ${cli.key(range)}`);
    const pattern = (keys[range.ns] = keys[range.ns] || cli.sharded(run, range.ns).key),
      fields = Object.keys(pattern);
    for (const bound of [range.min, range.max]) {
      if (Object.keys(bound).some((f, i) => f !== fields[i])) {
        run.refuse(`${cli.key(bound)} is not a bound of ${range.ns}, whose shard key is ${cli.key(pattern)}`);
      }
    }
    const whole = { ns: range.ns, zone: range.zone, min: filled(range.min, pattern), max: filled(range.max, pattern) };
    if (!less(whole.min, whole.max)) run.refuse(`a range that ends before it begins: ${name(whole)}`);
    return whole;
  });
  ranges.sort((a, b) => (a.ns === b.ns ? bsonWoCompare(a.min, b.min) : a.ns < b.ns ? -1 : 1));
  ranges.forEach((r, i) => {
    const before = ranges[i - 1];
    if (before && before.ns === r.ns && less(r.min, before.max))
      run.refuse(`two ranges overlap: ${name(before)}, and ${name(r)}`);
  });
  return { shards, ranges };
}

/** What is to be done for it: members and ranges that come and go, others of these collections only with prune. */
function differences(wanted, prune) {
  const shards = sh.listShards(),
    namespaces = [...new Set(wanted.ranges.map(r => r.ns))];
  const now = cli
    .config()
    .tags.find({ ns: { $in: namespaces } })
    .sort({ ns: 1, min: 1 })
    .toArray()
    .map(t => ({ ns: t.ns, zone: t.tag, min: t.min, max: t.max }));
  const isThere = r => now.some(n => sameRange(n, r) && n.zone === r.zone);
  const collides = n => wanted.ranges.some(r => r.ns === n.ns && less(r.min, n.max) && less(n.min, r.max));
  const isWanted = n => wanted.ranges.some(r => sameRange(n, r) && n.zone === r.zone);
  const zonesOf = id => shards.find(s => s._id === id).tags || [];
  return {
    join: Object.entries(wanted.shards).flatMap(([id, zones]) =>
      zones.filter(z => !zonesOf(id).includes(z)).map(zone => ({ id, zone })),
    ),
    leave: prune
      ? Object.entries(wanted.shards).flatMap(([id, zones]) =>
          zonesOf(id)
            .filter(z => !zones.includes(z))
            .map(zone => ({ id, zone })),
        )
      : [],
    remove: now.filter(n => !isWanted(n) && (prune || collides(n))),
    add: wanted.ranges.filter(r => !isThere(r)),
  };
}

/** Brings it about, in an order that never has a range in a zone without shards, and verifies it. */
function bring(run, wanted, { prune = false, replace = false } = {}) {
  const d = differences(wanted, prune);
  if (d.remove.length > 0 && !prune && !replace) {
    run.refuse(`there are other ranges in the way: ${d.remove.map(name).join("; ")}; --replace removes them`);
  }
  const members = zone =>
    sh
      .listShards()
      .filter(s => (s.tags || []).includes(zone))
      .map(s => s._id)
      .concat(d.join.filter(j => j.zone === zone).map(j => j.id))
      .filter(id => !d.leave.some(l => l.id === id && l.zone === zone));
  for (const zone of new Set(wanted.ranges.map(r => r.zone))) {
    if (members(zone).length === 0) run.refuse(`no shard is in zone ${zone}: nothing could hold its ranges`);
  }
  for (const { id, zone } of d.join) run.step(`put shard ${id} into zone ${zone}`, () => sh.addShardToZone(id, zone));
  for (const r of d.remove) run.step(`remove the range ${name(r)}`, () => sh.removeRangeFromZone(r.ns, r.min, r.max));
  for (const r of d.add) run.step(`add the range ${name(r)}`, () => sh.updateZoneKeyRange(r.ns, r.min, r.max, r.zone));
  for (const { id, zone } of d.leave)
    run.step(`take shard ${id} out of zone ${zone}`, () => sh.removeShardFromZone(id, zone));
  if (run.steps.length === 0) run.say("The zones are so already.");
  if (!run.dryRun) {
    const rest = differences(wanted, prune),
      left = [...rest.join, ...rest.leave, ...rest.remove, ...rest.add];
    if (left.length > 0)
      throw new Error(`the zones are not so: ${left.map(cli.key).join("; ")}; somebody else may have changed them`);
  }
  return { joined: d.join.length, left: d.leave.length, removed: d.remove.length, added: d.add.length };
}

/** Waits until the chunks are where the zones have them, or says how to look. */
function settle(run, namespaces, wait, timeout, keepWaiting) {
  if (run.dryRun) return;
  if (!wait) {
    run.say(`The balancer moves what has to move; sh.waitForBalance(${JSON.stringify(namespaces[0])}) waits for it.`);
    return;
  }
  for (const ns of namespaces) {
    run.say(`waiting until ${ns} is balanced`);
    sh.waitForBalance(ns, { timeout, keepWaiting });
  }
}

module.exports = { checked, bring, settle };
