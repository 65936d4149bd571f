// The functions of the steps. A step that has been done already is left out, so the
// script can be run again after it was stopped; where the cluster is neither as it
// was nor as the step would make it, nothing more is done. Where the plan only knew
// about where a bound lies, the donor chooses it.

const config = db.getSiblingDB("config");
const admin = db.getSiblingDB("admin");

function stop(text) {
  throw new Error(text + "; nothing more was done. Make a new plan.");
}

function hex(uuid) {
  return uuid.toString("hex").replace(/[^0-9a-f]/gi, "").toLowerCase();
}

const collections = {};

// known checks that a collection is the one of the plan, and that the cluster's own
// balancer leaves it alone.
function known(ns, uuid) {
  const c = config.collections.findOne({ _id: ns });
  if (c === null || hex(c.uuid) !== uuid) stop(ns + " is not the collection of the plan");
  if (c.noBalance !== true && admin.runCommand({ balancerStatus: 1 }).mode !== "off") {
    stop("the balancer works on " + ns + ": sh.disableBalancing(\"" + ns + "\") or sh.stopBalancer() first");
  }
  collections[ns] = c.timestamp === undefined ? { ns: ns } : { uuid: c.uuid };
}

// chunks returns the chunks that share keys with a range, in key order.
function chunks(ns, min, max) {
  const filter = Object.assign({ min: { $lt: max }, max: { $gt: min } }, collections[ns]);
  return config.chunks.find(filter).sort({ min: 1 }).toArray();
}

function same(a, b) {
  return EJSON.stringify(a, { relaxed: false }) === EJSON.stringify(b, { relaxed: false });
}

function done(number, what) {
  print("step " + number + " of " + steps + ": " + what);
}

function run(number, command) {
  try {
    const reply = admin.runCommand(command);
    if (reply.ok !== 1) throw new Error(reply.errmsg);
  } catch (e) {
    stop("step " + number + ": " + e.message);
  }
}

function move(number, ns, from, to, min, max) {
  const there = chunks(ns, min, max);
  if (there.every((c) => c.shard === to)) return done(number, "is done already");
  const c = there[0];
  const whole = there.length === 1 && c.shard === from && (byRange || same([c.min, c.max], [min, max]));
  if (!whole) stop("step " + number + ": the range of " + ns + " is not in one chunk on " + from + " any more");
  run(number, byRange ? { moveRange: ns, min: min, max: max, toShard: to } :
    { moveChunk: ns, bounds: [min, max], to: to });
  done(number, "moved a range of " + ns + " from " + from + " to " + to);
}

// chunkOf returns the chunk on a shard that a step without known bounds is about: where
// the plan expects it, else the first one of the range.
function chunkOf(ns, from, at, min, max) {
  const there = chunks(ns, min, max).filter((c) => c.shard === from);
  const here = config.chunks.findOne(Object.assign({ min: { $lte: at }, max: { $gt: at }, shard: from }, collections[ns]));
  return here === null ? there[0] : here;
}

function movePart(number, ns, from, to, at, min, max) {
  const here = config.chunks.findOne(Object.assign({ min: { $lte: at }, max: { $gt: at } }, collections[ns]));
  if (here.shard === to) return done(number, "is done already");
  const c = chunkOf(ns, from, at, min, max);
  if (c === undefined) return done(number, "has nothing left to move");
  const below = config.chunks.countDocuments({ _id: c._id, min: { $lt: min } }) > 0;
  run(number, byRange ? { moveRange: ns, min: below ? min : c.min, toShard: to } :
    { moveChunk: ns, bounds: [c.min, c.max], to: to });
  done(number, "moved a part of " + ns + " from " + from + " to " + to);
}

function splitPart(number, ns, from, at, min, max) {
  const c = chunkOf(ns, from, at, min, max);
  if (c === undefined) return done(number, "has nothing left to split");
  const entry = config.collections.findOne({ _id: ns });
  const setting = config.settings.findOne({ _id: "chunksize" });
  const size = entry.maxChunkSizeBytes || (setting === null ? (byRange ? 128 : 64) : Number(setting.value)) * 1048576;
  const points = db.getSiblingDB(ns.split(".")[0]).runCommand({
    splitVector: ns, keyPattern: entry.key, min: c.min, max: c.max, maxChunkSizeBytes: Number(size)
  });
  if (points.ok !== 1) stop("step " + number + ": " + points.errmsg);
  for (const p of points.splitKeys) run(number, { split: ns, middle: p });
  done(number, "split a chunk of " + ns + " on " + from + " where it says");
}

function mergePart(number, ns, from, at, min, max) {
  const inside = Object.assign({ min: { $gte: min }, max: { $lte: max } }, collections[ns]);
  const runs = [[]];
  for (const c of config.chunks.find(inside).sort({ min: 1 }).toArray()) {
    if (c.shard === from) runs[runs.length - 1].push(c); else runs.push([]);
  }
  const some = runs.find((r) => r.length > 1);
  if (some === undefined) return done(number, "has nothing left to merge");
  run(number, { mergeChunks: ns, bounds: [some[0].min, some[some.length - 1].max] });
  done(number, "merged " + some.length + " chunks of " + ns + " on " + from);
}

function split(number, ns, from, min, max, points) {
  const there = chunks(ns, min, max);
  const left = points.filter((p) => !there.some((c) => same(c.min, p)));
  if (left.length === 0) return done(number, "is done already");
  if (!there.every((c) => c.shard === from) || !same(there[0].min, min) || !same(there[there.length - 1].max, max)) {
    stop("step " + number + ": the chunk of " + ns + " is not what it was");
  }
  for (const p of left) run(number, { split: ns, middle: p });
  done(number, "split a chunk of " + ns + " on " + from);
}

function merge(number, ns, from, min, max) {
  const there = chunks(ns, min, max);
  const whole = same(there[0].min, min) && same(there[there.length - 1].max, max);
  if (!whole || !there.every((c) => c.shard === from)) {
    stop("step " + number + ": the chunks of " + ns + " are not what they were");
  }
  if (there.length === 1) return done(number, "is done already");
  run(number, { mergeChunks: ns, bounds: [min, max] });
  done(number, "merged " + there.length + " chunks of " + ns + " on " + from);
}
