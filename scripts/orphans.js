// Reports documents that lie on shards which don't own them, and has them deleted. Shards
// do that by themselves some time after a move; what stays longer, as after a crash or
// with the deleter switched off, is asked for on each shard with cleanupOrphaned.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "orphans",
    about: "Reports orphaned documents of each collection and shard, and has them cleaned up.",
    options: {
      ns: { value: "NS", is: "ns", about: "only this collection" },
      count: { about: "before 6.0.3: count documents with and without orphans, which reads all of them" },
      clean: { about: "have each shard delete its orphans: connects to the shards themselves" },
      connect: {
        value: "URI",
        default: "mongodb://{hosts}/?replicaSet={set}",
        about: "how to reach a shard; e.g. a user and TLS",
      },
      wait: { about: "wait until there are none, which shards see to by themselves" },
      for: { value: "TIME", is: "duration", default: "1h", about: "wait so long at most" },
    },
    examples: [
      "mongodb://host:27017",
      "mongodb://host:27017 --clean --connect 'mongodb://ops:secret@{hosts}/?replicaSet={set}'",
    ],
  },
  run => {
    const { ns, clean, wait } = run.options;
    if (ns) cli.sharded(run, ns);
    let rows = report(run);
    run.table(
      rows.map(r => ({
        collection: r.ns,
        shard: r.shard || "all",
        orphans: r.orphans,
        size: r.bytes === undefined ? "" : cli.size(r.bytes),
      })),
    );
    run.say(
      rows.length
        ? `${cli.plural(cli.sum(rows.map(r => r.orphans)), "orphaned document")}`
        : "There are no orphaned documents.",
    );
    if (clean) {
      for (const s of sh.listShards()) {
        const names = [...new Set(rows.filter(r => !r.shard || r.shard === s._id).map(r => r.ns))];
        if (names.length > 0) cleanShard(run, s, names);
      }
    }
    if (wait && rows.length > 0 && !run.dryRun) {
      run.wait("there are no orphans left", () => report(run).length === 0, { timeout: run.options.for, interval: 60000 });
    }
    if ((clean || wait) && !run.dryRun) rows = report(run);
    if (!clean && !wait && rows.length > 0)
      run.say(
        "Shards delete them by themselves, 15 minutes after a move; --wait waits for it, --clean asks for it now.",
      );
    run.found = rows.length;
    return { orphans: rows };
  },
);

function report(run) {
  const { ns, count } = run.options;
  if (cli.since(6, 0, 3)) {
    return cli.distribution(ns).flatMap(c =>
      c.shards
        .filter(s => Number(s.numOrphanedDocs) > 0)
        .map(s => ({
          ns: c.ns,
          shard: s.shardName,
          orphans: Number(s.numOrphanedDocs),
          bytes: Number(s.orphanedSizeBytes),
        })),
    );
  }
  if (!count) run.refuse("servers before 6.0.3 don't tell: --count counts documents, which reads all of them");
  const names = ns ? [ns] : sh.balancerSummary().collections.map(c => c.ns);
  return names
    .map(name => {
      const c = cli.collection(name),
        all = Number(c.estimatedDocumentCount()),
        owned = Number(c.countDocuments({}));
      return { ns: name, orphans: Math.max(0, all - owned) };
    })
    .filter(r => r.orphans > 0);
}

function cleanShard(run, { _id: id, host }, names) {
  const [set, hosts] = host.includes("/") ? host.split("/") : ["", host];
  const uri = run.options.connect.replace("{hosts}", hosts).replace("{set}", set);
  let on;
  try {
    on = new Mongo(uri).getDB("admin");
    on.runCommand({ ping: 1 });
  } catch (e) {
    run.refuse(`shard ${id} can't be reached at ${hosts} (${e.message}): --connect says how`);
  }
  for (const ns of names) {
    run.step(`have ${id} delete its orphans of ${ns}`, () => {
      const reply = on.runCommand({ cleanupOrphaned: ns });
      if (!reply.ok) throw new Error(`${id}: ${reply.errmsg}`);
    });
  }
}
