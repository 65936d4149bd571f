// Cuts a collection for a bulk load and spreads the empty chunks over the shards, so
// that the load goes to all of them from its first document on. The cuts are given, or
// come from a sample of what will be loaded; for a hashed key from arithmetic.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "presplit",
    about: "Cuts a collection for a bulk load, by a sample or a file of keys, and spreads it.",
    usage: "--ns NS (--sample FILE | --keys FILE | --hashed) [options]",
    options: {
      ns: { value: "NS", is: "ns", about: "this collection", needed: true },
      key: {
        value: "KEY",
        is: "document",
        about: "shard it by this key, such as '{\"customer\": 1}', if it is not sharded yet",
      },
      sample: { value: "FILE", about: "documents of the load, extended JSON a line: cut it into even parts" },
      keys: { value: "FILE", about: "cut at exactly these keys, extended JSON a line" },
      hashed: { about: "cut all hashes into even parts" },
      "per-shard": { value: "N", is: "number", default: 4, about: "chunks for each shard, with --sample and --hashed" },
      "with-data": { about: "also if the collection has documents, which then move" },
    },
    examples: [
      "mongodb://host:27017 --ns shop.orders --key '{\"customer\": 1}' --sample orders.jsonl",
      "mongodb://host:27017 --ns shop.orders --keys cuts.jsonl --dry-run",
    ],
  },
  run => {
    const { ns, key, sample, keys, hashed, perShard, withData } = run.options;
    if ([sample, keys, hashed].filter(Boolean).length !== 1)
      throw new cli.Usage("one of --sample, --keys and --hashed is needed");
    const entry = cli.config().collections.findOne({ _id: ns, dropped: { $ne: true }, unsplittable: { $ne: true } });
    if (!entry && !key) run.refuse(`${ns} is not sharded: --key KEY shards it`);
    if (entry && key && !cli.same(entry.key, key))
      run.refuse(`${ns} is sharded by ${cli.key(entry.key)}, and not by ${cli.key(key)}`);
    const pattern = entry ? entry.key : key,
      isHashed = Object.values(pattern)[0] === "hashed";
    if (hashed !== isHashed && !keys) {
      run.refuse(
        isHashed
          ? `${cli.key(pattern)} is hashed: --hashed cuts it`
          : `${cli.key(pattern)} is not hashed: --sample or --keys`,
      );
    }
    if (!withData && cli.collection(ns).findOne({}, { _id: 1 }))
      run.refuse(`${ns} has documents, which would move: --with-data`);
    const parts = perShard * cli.staying().length;
    const points = keys ? cli.documents(keys) : sample ? quantiles(run, cli.documents(sample), pattern, parts) : null;
    if (points)
      run.say(
        `${cli.plural(points.length + 1, "chunk")}, cut at ` +
          `${points.slice(0, 3).map(cli.key).join(", ")}${points.length > 3 ? ", …" : ""}`,
      );

    if (!entry) run.step(`shard ${ns} by ${cli.key(key)}`, () => sh.shardCollection(ns, key));
    if (!entry && run.dryRun) {
      run.step("cut it, and spread its chunks", () => {});
      return { ns };
    }
    const goal = { presplit: points ? { points } : { perShard } },
      plan = sh.plan(ns, { goal });
    const { splits, moves } = plan.totals;
    if (plan.steps.length === 0) {
      verify(ns, points);
      run.say(`${ns} is cut and spread so already.`);
      return { ns, splits: 0, moves: 0, ...spread(ns) };
    }
    const applied = run.step(
      `make ${cli.plural(splits, "cut")} and ${cli.plural(moves, "move")}, ` +
        `with the balancing of ${ns} switched off meanwhile`,
      // Without a journal: a plan made again leaves out what is done.
      () => sh.apply(plan, { pauseBalancing: true, journal: null, parallel: 4, onChange: "replan" }),
    );
    if (applied && applied.stopped) throw new Error(`${applied.stopped}; run it again to go on`);
    const result = { ns, splits, moves, ...spread(ns) };
    if (!run.dryRun) {
      verify(ns, points);
      run.table(
        Object.entries(result.chunks).map(([shard, chunks]) => ({ shard, chunks })),
        "Chunks:",
      );
      if (cli.since(7)) run.say("Load within the day: the auto-merger puts empty neighbours together again.");
    }
    return result;
  },
);

/** Throws where a cut is missing, or a shard has two chunks more than its part. */
function verify(ns, points) {
  const bounds = sh
    .chunks(ns)
    .toArray()
    .map(c => c.min);
  const missing = (points || []).filter(p => !bounds.some(b => bsonWoCompare(b, p) === 0));
  const most = Math.max(...Object.values(spread(ns).chunks));
  if (missing.length > 0) throw new Error(`${ns} is not cut at ${missing.slice(0, 3).map(cli.key).join(", ")}`);
  if (most > Math.ceil(bounds.length / cli.staying().length) + 1)
    throw new Error(`${ns} is not spread: a shard has ${most} chunks`);
}

/** How many chunks each shard has. */
function spread(ns) {
  const chunks = {};
  for (const c of sh.chunks(ns)) chunks[c.shard] = (chunks[c.shard] || 0) + 1;
  return { chunks };
}

/** Keys that cut the documents of a sample into even parts. */
function quantiles(run, documents, pattern, parts) {
  const fields = Object.keys(pattern),
    at = (d, path) => path.split(".").reduce((v, f) => (v === undefined || v === null ? v : v[f]), d);
  const sorted = documents
    .map(d => Object.fromEntries(fields.map(f => [f, at(d, f) === undefined ? null : at(d, f)])))
    .sort(bsonWoCompare);
  const cuts = Array.from({ length: parts - 1 }, (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / parts)]);
  const distinct = cuts.filter((c, i) => c && bsonWoCompare(i === 0 ? sorted[0] : cuts[i - 1], c) < 0);
  if (distinct.length === 0)
    run.refuse(`the sample has ${cli.plural(documents.length, "document")} and too few different keys to cut by`);
  if (distinct.length < cuts.length)
    run.say(`Only ${distinct.length} of ${cuts.length} cuts: some keys have more documents than a part may have.`);
  return distinct;
}
