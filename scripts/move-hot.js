// Takes load off a shard. With --key the range of that key is cut out and moved; without,
// the engine of shardsh counts the operations of all shards for a while and moves ranges
// of the collection from the busiest to the idlest.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "move-hot",
    about: "Cuts out a hot key and moves it to a shard of its own, or evens out the load that shards have.",
    usage: "--ns NS [--key KEY [--to SHARD]] [options]",
    options: {
      ns: { value: "NS", is: "ns", about: "this collection", needed: true },
      key: { value: "KEY", is: "document", about: "the hot value of the shard key, or of its first fields" },
      to: { value: "SHARD", about: "move it there; else where least data is" },
      measure: { value: "TIME", is: "duration", default: "30s", about: "without --key: count operations so long" },
      "max-moves": { value: "N", is: "number", default: 1, about: "without --key: move so often" },
    },
    examples: [
      "mongodb://host:27017 --ns shop.orders --key '{\"customer\": 7}' --to shard4",
      "mongodb://host:27017 --ns shop.orders --measure 2m --dry-run",
    ],
  },
  run => (run.options.key ? moveKey(run) : moveLoad(run)),
);

function moveKey(run) {
  const { ns, key } = run.options,
    pattern = cli.sharded(run, ns).key,
    fields = Object.keys(pattern);
  if (Object.keys(key).some((f, i) => f !== fields[i]) || Object.keys(key).length === 0) {
    run.refuse(`${cli.key(key)} is not a value of the shard key ${cli.key(pattern)}`);
  }
  const hashed = f => pattern[f] === "hashed" && key[f] !== undefined && !(key[f] instanceof Long);
  const value = Object.fromEntries(
    fields.filter(f => f in key).map(f => [f, hashed(f) ? convertShardKeyToHashed(key[f]) : key[f]]),
  );
  const min = Object.fromEntries(fields.map(f => [f, f in value ? value[f] : MinKey()]));
  // The first key above all that begin like this one.
  const max = next(run, ns, pattern, value);
  const at = doc => cli.config().chunks.findOne({ ...chunksOf(ns), min: { $lte: doc }, max: { $gt: doc } });
  const chunk = at(min);
  const to = target(run, ns, chunk, min);
  if (to === chunk.shard) {
    run.say(`${cli.key(key)} is on ${to} already.`);
    return { ns, key, shard: to, moved: false };
  }
  for (const bound of [min, max]) {
    const holds = at(bound);
    if (holds && bsonWoCompare(holds.min, bound) !== 0)
      run.step(`split ${ns} at ${cli.key(bound)}`, () => sh.splitAt(ns, bound));
  }
  run.step(`move ${cli.key(min)} to ${cli.key(max)} from ${chunk.shard} to ${to}`, () => {
    cli.patient(() => {
      const now = at(min); // as the splits, or the balancer, left it
      if (now.shard !== to) db.adminCommand({ moveChunk: ns, bounds: [now.min, now.max], to, forceJumbo: true });
    });
  });
  if (!run.dryRun)
    run.say(
      `${cli.key(key)} is on ${at(min).shard}. The balancer may move it again; ` +
        `a zone keeps it there: sh.updateZoneKeyRange.`,
    );
  return { ns, key, from: chunk.shard, shard: to, moved: !run.dryRun };
}

/** The lowest key that is not the hot one's any more. */
function next(run, ns, pattern, value) {
  const fields = Object.keys(pattern),
    rest = fields.filter(f => !(f in value));
  if (rest.length > 0) return Object.fromEntries(fields.map(f => [f, f in value ? value[f] : MaxKey()]));
  const last = fields[fields.length - 1],
    v = value[last];
  if (v instanceof Long) return { ...value, [last]: v.add(Long.fromNumber(1)) };
  if (typeof v === "number" && Number.isInteger(v)) return { ...value, [last]: v + 1 };
  if (typeof v === "string") return { ...value, [last]: v + "\u0000" };
  if (v instanceof Date) return { ...value, [last]: new Date(v.getTime() + 1) };
  const above = cli
    .collection(ns)
    .find({}, pattern)
    .min(value)
    .hint(pattern)
    .sort(pattern)
    .toArray()
    .find(d => bsonWoCompare(d[last], v) > 0);
  return above ? { ...value, [last]: above[last] } : Object.fromEntries(fields.map(f => [f, MaxKey()]));
}

function chunksOf(ns) {
  const { uuid } = cli.config().collections.findOne({ _id: ns });
  return cli.config().chunks.findOne({ uuid }) ? { uuid } : { ns };
}

/** The shard that was asked for, or the one with least data that may have the range. */
function target(run, ns, chunk, min) {
  const zone = cli.config().tags.findOne({ ns, min: { $lte: min }, max: { $gt: min } });
  const allowed = sh
    .listShards()
    .filter(s => !s.draining && (!zone || (s.tags || []).includes(zone.tag)))
    .map(s => s._id);
  const { to } = run.options;
  if (to) {
    cli.shard(run, to);
    if (!allowed.includes(to))
      run.refuse(zone ? `${to} is not in zone ${zone.tag}, to which the key belongs` : `${to} is draining`);
    return to;
  }
  const shards = sh.balancerSummary().shards.filter(s => allowed.includes(s.shard) && s.shard !== chunk.shard);
  if (shards.length === 0) run.refuse("no other shard may have it");
  return shards.sort((a, b) => Number(a.bytes || 0) - Number(b.bytes || 0) || a.chunks - b.chunks)[0].shard;
}

function moveLoad(run) {
  const { ns, measure, maxMoves } = run.options;
  cli.sharded(run, ns);
  const options = { goal: "ops", opsInterval: measure, pauseBalancing: true };
  const text = `count operations for ${cli.time(measure)}, and move ranges of ${ns} off the busiest shard`;
  if (run.dryRun) {
    run.say(String(sh.balance(ns, { ...options, dryRun: true })));
    run.step(text, () => {});
    return { ns };
  }
  const { reached, stopped, moves, bytes } = run.step(text, () => sh.balance(ns, { ...options, maxMoves }));
  const end = reached ? "; the load is even" : stopped ? `; ${stopped}` : "";
  run.say(`${cli.plural(moves, "move")} of ${cli.size(bytes)}${end}`);
  return { ns, reached, stopped, moves, bytes };
}
