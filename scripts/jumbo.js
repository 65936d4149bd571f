// Finds jumbo chunks and gets rid of each in the mildest way that works: clear the flag
// where the chunk is small by now, split it where it has more than one key, and where it
// has not, add fields to the shard key, if that is asked for.
const cli = require("shardsh:cli");

const where = (ns, chunk) => `the chunk of ${ns} from ${cli.key(chunk.min)}`;
const clear = (ns, chunk) => db.adminCommand({ clearJumboFlag: ns, bounds: [chunk.min, chunk.max] });

cli.script(
  {
    name: "jumbo",
    about: "Finds jumbo chunks; clears flags, splits, or refines the shard key where neither helps.",
    options: {
      ns: { value: "NS", is: "ns", about: "only this collection" },
      refine: {
        value: "KEY",
        is: "document",
        about: "where no chunk can be split, refine the shard key of --ns to this one",
      },
    },
    examples: [
      "mongodb://host:27017 --dry-run",
      'mongodb://host:27017 --ns shop.orders --refine \'{"customer": 1, "_id": 1}\'',
    ],
  },
  run => {
    const { ns, refine } = run.options;
    if (refine && !ns) throw new cli.Usage("--refine needs --ns, which collection");
    if (ns) cli.sharded(run, ns);
    const names = ns
      ? [ns]
      : sh
          .balancerSummary()
          .collections.filter(c => c.jumboChunks > 0)
          .map(c => c.ns);
    const rows = names.flatMap(name =>
      sh
        .chunks(name, { jumbo: true })
        .toArray()
        .map(chunk => treat(run, name, chunk)),
    );
    run.table(
      rows.map(r => ({
        collection: r.ns,
        shard: r.shard,
        from: cli.key(r.min),
        size: cli.size(r.bytes),
        "what helps": r.remedy,
      })),
    );
    const stuck = rows.filter(r => r.remedy === "refine");
    if (refine && ns) refineKey(run, ns, refine);
    else
      for (const name of new Set(stuck.map(r => r.ns))) {
        run.say(
          `${name}: one key has more data than a chunk. ` +
            `--ns ${name} --refine KEY adds fields to ${cli.key(cli.sharded(run, name).key)}.`,
        );
      }
    if (rows.length === 0) run.say("There are no jumbo chunks.");
    run.found = refine ? 0 : stuck.length;
    return { chunks: rows, left: run.found };
  },
);

/** Does what helps for one chunk, and tells what that is. */
function treat(run, ns, chunk) {
  const key = cli.sharded(run, ns).key,
    limit = sh.chunkSize(ns) * 2 ** 20,
    { min, max, shard } = chunk;
  const size = db.getSiblingDB("admin").runCommand({ dataSize: ns, keyPattern: key, min, max, estimate: true });
  const row = { ns, shard, min, max, bytes: Number(size.size) };
  if (row.bytes <= limit) {
    run.step(`clear the flag of ${where(ns, chunk)}, which has ${cli.size(row.bytes)}`, () => clear(ns, chunk));
    return { ...row, remedy: "clear" };
  }
  const middle = middleOf(ns, key, min, max);
  if (!middle) return { ...row, remedy: "refine" };
  run.step(`split ${where(ns, chunk)} of ${cli.size(row.bytes)} at ${cli.key(middle)}`, () => {
    sh.splitAt(ns, middle);
    for (const half of sh.chunks(ns, { jumbo: true }).toArray()) {
      if (bsonWoCompare(half.min, min) >= 0 && bsonWoCompare(half.max, max) <= 0) {
        clear(ns, half); // the server sets it again where it has to be
      }
    }
  });
  return { ...row, remedy: "split" };
}

/** A key with data on both sides of it; null where all documents have one key. */
function middleOf(ns, key, min, max) {
  const order = Object.fromEntries(Object.keys(key).map(f => [f, 1])),
    c = cli.collection(ns);
  if (Object.values(key).includes("hashed")) return null;
  const fields = Object.keys(key),
    at = (d, path) => path.split(".").reduce((v, f) => (v === undefined || v === null ? v : v[f]), d);
  const bound = d => Object.fromEntries(fields.map(f => [f, at(d, f) === undefined ? null : at(d, f)]));
  const range = () => c.find({}, order).min(min).max(max).hint(order).sort(order);
  const first = range().limit(1).toArray()[0];
  if (!first) return null;
  const sample = range()
    .skip(Math.floor(Number(c.estimatedDocumentCount()) / 2))
    .limit(1)
    .toArray()[0];
  for (const d of [sample, ...range().limit(1000).toArray()].filter(Boolean)) {
    if (bsonWoCompare(bound(first), bound(d)) < 0) return bound(d);
  }
  return null;
}

function refineKey(run, ns, wanted) {
  const key = cli.sharded(run, ns).key;
  if (cli.same(key, wanted)) return run.say(`${ns} has this shard key already.`);
  const fields = Object.keys(key);
  if (
    Object.keys(wanted).length <= fields.length ||
    fields.some((f, i) => Object.keys(wanted)[i] !== f || wanted[f] !== key[f])
  ) {
    run.refuse(`${cli.key(wanted)} does not begin with the shard key ${cli.key(key)}: refining only adds fields`);
  }
  const index = cli
    .collection(ns)
    .getIndexes()
    .find(i => cli.same(Object.fromEntries(Object.entries(i.key).slice(0, Object.keys(wanted).length)), wanted));
  if (!index) run.step(`make the index ${cli.key(wanted)} of ${ns}`, () => cli.collection(ns).createIndex(wanted));
  return run.step(`refine the shard key of ${ns} to ${cli.key(wanted)}`, () => sh.refineCollectionShardKey(ns, wanted));
}
