// What has to be so before a shard is emptied: for drain, which refuses else, and for
// remove-shard-checklist, which lists it.
const cli = require("shardsh:cli");

/**
 * Returns the checks for a shard, each { check, ok, detail, remedy }, and the plan of what would move. An ok of null
 * is for people to see to.
 */
function checks(shard, { movePrimaries = false, maxData, headroom = 15 } = {}) {
  const others = cli.staying(shard),
    summary = sh.balancerSummary(),
    list = [];
  const add = (check, ok, detail, remedy) => list.push({ check, ok, detail, ...(ok ? {} : { remedy }) });

  add("another shard stays", others.length > 0, others.join(", ") || "none", "add a shard");
  add(
    "the balancer is on",
    summary.mode !== "off",
    summary.mode,
    "sh.startBalancer(), or shardsh drain, which moves by itself",
  );
  const alone = sh
    .zones()
    .filter(z => z.ranges.length > 0 && z.shards.includes(shard) && !z.shards.some(s => others.includes(s)))
    .map(z => z.zone);
  add(
    "no zone loses its only shard",
    alone.length === 0,
    alone.join(", ") || "none",
    alone.map(zone => `sh.addShardToZone(<another shard>, "${zone}")`).join("; "),
  );
  const held = summary.collections.filter(c => c.leftAlone && sh.chunks(c.ns, { shard, limit: 1 }).hasNext());
  add(
    "the balancer may move all of its collections",
    held.length === 0,
    held.map(c => c.ns).join(", ") || "all",
    "sh.enableBalancing, sh.enableMigrations",
  );
  const primaryOf = cli
    .config()
    .databases.find({ primary: shard })
    .toArray()
    .map(d => d._id)
    .filter(n => n !== "shardsh");
  add(
    "it is nobody's primary shard",
    primaryOf.length === 0 || movePrimaries,
    primaryOf.join(", ") || "none",
    "--move-primaries moves them" +
      (cli.since(8) ? "" : "; up to 7.0 nothing may write to their unsharded collections then"),
  );
  const unsharded = cli
    .config()
    .collections.find({ unsplittable: true })
    .toArray()
    .filter(c => cli.config().chunks.findOne({ uuid: c.uuid, shard }))
    .map(c => c._id)
    .filter(ns => !ns.startsWith("shardsh."));
  add(
    "no unsharded collection was put on it",
    unsharded.length === 0 || movePrimaries,
    unsharded.join(", ") || "none",
    "--move-primaries moves them",
  );
  add(
    "no resharding is under way",
    summary.reshardings.length === 0,
    summary.reshardings.map(r => r.ns).join(", ") || "none",
    "wait for its end: show migrations",
  );

  const plan = others.length > 0 ? sh.plan(null, { goal: { drain: shard }, ignoreWindow: true }) : null;
  const rows = plan ? capacity(plan, others) : [];
  for (const { id, gets, after, disk } of rows) {
    if (maxData)
      add(
        `${id} has room for what comes`,
        after <= maxData,
        `${cli.size(after)} of ${cli.size(maxData)}`,
        "--max-data",
      );
    if (disk) {
      add(
        `the disk of ${id} keeps ${headroom} % free`,
        disk.used + gets <= disk.total * (1 - headroom / 100),
        `${cli.size(disk.used)} of ${cli.size(disk.total)} used, ${cli.size(gets)} to come`,
        "a larger disk, or --headroom",
      );
    }
  }
  if (!maxData && rows.some(r => !r.disk)) {
    add(
      "the others have room on their disks",
      null,
      "not all servers tell the size of their disk",
      "look for yourself, or give --max-data",
    );
  }
  return { list, plan, rows };
}

/** What each of the other shards has, gets and has in the end, and its disk where the server tells. */
function capacity(plan, others) {
  const disks = disksOf(others);
  return plan.shards
    .filter(s => others.includes(s.shard))
    .map(({ shard, before, after }) => {
      const [now, then] = [Number(before.bytes), Number(after.bytes)];
      return { id: shard, now, gets: then - now, after: then, disk: disks[shard] };
    });
}

/** The disks of shards by what dbStats says of each; those that tell nothing are left out. */
function disksOf(ids) {
  const raw = db.getSiblingDB("admin").runCommand({ dbStats: 1 }).raw || {},
    disks = {};
  for (const s of sh.listShards().filter(one => ids.includes(one._id))) {
    const stats = raw[s.host] || raw[s._id];
    if (stats && Number(stats.fsTotalSize) > 0) {
      disks[s._id] = { used: Number(stats.fsUsedSize), total: Number(stats.fsTotalSize) };
    }
  }
  return disks;
}

module.exports = { checks };
