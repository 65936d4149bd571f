// The functions of the steps. A step that has been done already is left out, so the
// script can be run again after it was stopped; where the cluster is neither as it
// was nor as the step would make it, nothing more is done.

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

function move(number, ns, from, to, min, max, more) {
  const there = chunks(ns, min, max);
  if (there.every((c) => c.shard === to)) return done(number, "is done already");
  const c = there[0];
  const whole = there.length === 1 && c.shard === from && (byRange || same([c.min, c.max], [min, max]));
  if (!whole) stop("step " + number + ": the range of " + ns + " is not in one chunk on " + from + " any more");
  const command = byRange ? { moveRange: ns, min: min, max: max, toShard: to } :
    { moveChunk: ns, bounds: [min, max], to: to };
  run(number, Object.assign(command, more));
  done(number, "moved a range of " + ns + " from " + from + " to " + to);
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
