// Looks whether a collection can be resharded by another key, and what comes of it: the
// space and the time, unique indexes, documents without the fields, values that are too
// few, and queries that would go to all shards then. Nothing is changed.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "reshard-check",
    about: "Says what resharding by another key needs, and which queries lose their target.",
    usage: "--ns NS --key KEY [options]",
    options: {
      ns: { value: "NS", is: "ns", about: "this collection", needed: true },
      key: {
        value: "KEY",
        is: "document",
        about: 'the new shard key, such as \'{"customer": 1, "_id": 1}\'',
        needed: true,
      },
      queries: {
        value: "FILE",
        about: "filters of the application, extended JSON a line; else those that servers sampled (7.0)",
      },
      sample: { value: "N", is: "number", default: 1000, about: "documents to look at" },
      rate: { value: "SIZE", is: "size", default: "20MB", about: "that a shard copies in a second" },
    },
    examples: ["mongodb://host:27017 --ns shop.orders --key '{\"customer\": 1}' --queries filters.jsonl"],
  },
  run => {
    const { ns, key, queries, sample, rate } = run.options,
      entry = cli.sharded(run, ns),
      fields = Object.keys(key);
    if (!cli.since(5)) run.refuse("resharding came with 5.0");
    const list = [],
      add = (check, ok, detail, remedy) => list.push({ check, ok, detail, ...(ok ? {} : { remedy }) });
    const coll = cli.collection(ns),
      stats = coll.stats(),
      shards = cli.staying(),
      bytes = Number(stats.size);
    add(
      "the key is another one",
      !cli.same(entry.key, key),
      cli.key(entry.key),
      "sh.reshardCollection with { forceRedistribution: true } from 8.0 on",
    );

    // While it runs, each shard has its part of the copy, with indexes, beside what it has; MongoDB asks for 1.2 of it.
    const each = (1.2 * (Number(stats.storageSize) + Number(stats.totalIndexSize))) / shards.length;
    add(
      "each shard has room for its part of the copy",
      null,
      `${cli.size(each)} on each of ${shards.length}`,
      "look at the disks",
    );
    const seconds = bytes / (rate * shards.length);
    add(
      "it takes so long",
      null,
      `about ${cli.time(1000 * seconds)} for ${cli.size(bytes)}, and then up to 2s in which writes wait`,
      "--rate says how fast",
    );

    const indexes = coll.getIndexes();
    for (const index of indexes.filter(i => i.unique)) {
      const fits =
        fields.every((f, i) => Object.keys(index.key)[i] === f) && Object.values(key).every(v => v !== "hashed");
      add(
        `the unique index ${index.name} begins with the key`,
        fits,
        cli.key(index.key),
        "drop it, or put the key before it",
      );
    }
    const supports = indexes.some(
      i =>
        fields.every((f, n) => Object.keys(i.key)[n] === f && i.key[f] === key[f]) &&
        !i.partialFilterExpression &&
        !i.sparse,
    );
    add(
      "an index has the key",
      supports || cli.since(7, 2),
      supports ? "yes" : "no, it is made",
      `db.getSiblingDB(...).createIndex(${cli.key(key)})`,
    );
    add("nothing else is being resharded", sh.balancerSummary().reshardings.length === 0, "", "wait for its end");
    add(
      "no zone has a range of it",
      sh.zones(ns).length === 0,
      sh
        .zones(ns)
        .map(z => z.zone)
        .join(", ") || "none",
      "give zones of the new key to reshardCollection",
    );
    values(coll, fields, sample, shards.length, add);

    const filters = queries ? cli.documents(queries) : sampled(ns);
    const judged = filters.map(filter => ({
      filter,
      before: targeted(filter, entry.key),
      after: targeted(filter, key),
    }));
    const lose = judged.filter(j => j.before && !j.after),
      win = judged.filter(j => !j.before && j.after);
    if (filters.length === 0)
      add(
        "queries keep their target",
        null,
        "no query is known",
        "--queries FILE, or configureQueryAnalyzer from 7.0 on",
      );
    else
      add(
        "queries keep their target",
        lose.length === 0,
        `of ${filters.length}: ${lose.length} lose it, ${win.length} win it`,
        lose
          .slice(0, 3)
          .map(j => cli.key(j.filter))
          .join("; "),
      );

    run.table(
      list.map(c => ({
        "": c.ok === null ? "[?]" : c.ok ? "[x]" : "[ ]",
        check: c.check,
        is: c.detail,
        "to do": c.ok ? "" : c.remedy,
      })),
    );
    run.found = list.filter(c => c.ok === false).length;
    run.say(
      run.found
        ? `${cli.plural(run.found, "thing")} to see to first.`
        : `Ready: sh.reshardCollection("${ns}", ${cli.key(key)})`,
    );
    return {
      ns,
      key,
      ready: run.found === 0,
      bytes,
      seconds: Math.round(seconds),
      checks: list,
      lose: lose.map(j => j.filter),
      win: win.map(j => j.filter),
    };
  },
);

/** Judges the values of the key's fields by a sample. */
function values(coll, fields, size, shards, add) {
  const documents = coll.aggregate([{ $sample: { size } }]).toArray();
  const at = (d, path) => path.split(".").reduce((v, f) => (v === undefined || v === null ? v : v[f]), d);
  const lacking = documents.filter(d => fields.some(f => at(d, f) === undefined)).length;
  add(
    "documents have the fields",
    lacking === 0,
    `${lacking} of ${documents.length} lack one`,
    "they all get the key null there",
  );
  const lists = documents.some(d => fields.some(f => Array.isArray(at(d, f))));
  add("no field is a list", !lists, lists ? "one is" : "none", "a shard key can't have lists");
  const counts = {};
  for (const d of documents) {
    const text = cli.key(fields.map(f => (at(d, f) === undefined ? null : at(d, f))));
    counts[text] = (counts[text] || 0) + 1;
  }
  const different = Object.keys(counts).length,
    most = Math.max(0, ...Object.values(counts));
  add(
    "there are values enough",
    documents.length === 0 || different >= Math.min(documents.length, shards * 20),
    `${different} different in ${documents.length} documents`,
    "add a field to the key",
  );
  add(
    "no value has too much",
    documents.length === 0 || most <= Math.max(1, documents.length / (shards * 2)),
    `${Math.round((100 * most) / (documents.length || 1))} % have the most frequent one`,
    "add a field to the key",
  );
}

/** Filters that the servers sampled for analyzeShardKey; none where they didn't. */
function sampled(ns) {
  if (!cli.since(7)) return [];
  return cli
    .config()
    .sampledQueries.find({ ns })
    .limit(5000)
    .toArray()
    .map(q => q.cmd && (q.cmd.filter || (q.cmd.updates || q.cmd.deletes || [{}])[0].q))
    .filter(Boolean);
}

/** Whether a filter goes to some shards only: it fixes or bounds the first field of the key; a hash has to be fixed. */
function targeted(filter, key) {
  const all = Object.assign({}, ...(filter.$and || []), filter),
    fields = Object.keys(key);
  const fixed = v =>
    v !== undefined &&
    (v === null || typeof v !== "object" || !Object.keys(v).some(k => k.startsWith("$")) || "$eq" in v || "$in" in v);
  const bounded = v => fixed(v) || (v && typeof v === "object" && ["$gt", "$gte", "$lt", "$lte"].some(o => o in v));
  if (all.$or) return all.$or.every(one => targeted({ ...all, $or: undefined, ...one }, key));
  return key[fields[0]] === "hashed" ? fixed(all[fields[0]]) : bounded(all[fields[0]]);
}
