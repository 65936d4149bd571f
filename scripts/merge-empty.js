// Merges chunks that hold nothing into a neighbour: on the same shard as they are, from
// elsewhere after moving them there, which copies nothing. Chunks of different zones stay
// apart.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "merge-empty",
    about: "Merges empty chunks into their neighbours.",
    usage: "--ns NS [options]",
    options: {
      ns: { value: "NS", is: "ns", about: "this collection", needed: true },
      move: { about: "move empty chunks to the shard of a neighbour where they have none on their own" },
      "all-empty": { about: "also if the whole collection is empty, as after a presplit" },
      most: { value: "N", is: "number", default: 10000, about: "merge so many groups of chunks in one run" },
    },
    examples: ["mongodb://host:27017 --ns shop.orders --dry-run", "mongodb://host:27017 --ns shop.orders --move"],
  },
  run => {
    const { ns, move, most } = run.options;
    const chunks = look(run);
    const empty = chunks.filter(c => c.empty).length;
    run.say(`${ns}: ${cli.plural(chunks.length, "chunk")}, ${empty} empty`);
    if (empty === chunks.length && empty > 1 && !run.options.allEmpty) {
      run.refuse("all of its chunks are empty, as after a presplit: --all-empty");
    }
    let left = merge(run, grouped(ns, chunks, move).slice(0, most));
    for (let again = 1; left > 0; again++) {
      if (again === 10) {
        throw new Error(`the balancer moves chunks of ${ns} all the time: sh.disableBalancing("${ns}") first`);
      }
      run.say("The balancer has moved some of them meanwhile: looking again.");
      left = merge(run, grouped(ns, look(run), move).slice(0, most));
    }
    if (run.dryRun) return { ns, chunks: chunks.length, empty };
    const now = look(run);
    const rest = now.filter(c => c.empty).length;
    const why = move ? "in their zone" : "on their shard; --move brings them to one";
    if (rest > 0) run.say(`${cli.plural(rest, "empty chunk")} left: no neighbour ${why}.`);
    return { ns, chunks: chunks.length, merged: chunks.length - now.length, left: rest };
  },
);

/** The chunks, and which are empty. */
function look(run) {
  const { ns } = run.options;
  const { key } = cli.sharded(run, ns);
  let told = Date.now();
  return sh
    .chunks(ns)
    .toArray()
    .map(({ min, max, shard, jumbo }, i, all) => {
      if (Date.now() - told > 10000) {
        told = Date.now();
        run.warn(`looked at ${i} of ${all.length} chunks`);
      }
      const size = db.getSiblingDB("admin").runCommand({ dataSize: ns, keyPattern: key, min, max, maxObjects: 1 });
      if (!size.ok) throw new Error(size.errmsg);
      return { min, max, shard, jumbo, empty: Number(size.numObjects) === 0 };
    });
}

/** Merges groups; returns how many were not what they had been when they were looked at. */
function merge(run, groups) {
  const { ns } = run.options;
  let changed = 0;
  for (const group of groups) {
    const { shard } = group.find(c => !c.empty) || group[0]; // with the chunk that holds something
    const [min, max] = [group[0].min, group[group.length - 1].max];
    try {
      for (const chunk of group.filter(c => c.shard !== shard)) {
        run.step(`move the empty chunk from ${cli.key(chunk.min)} to ${shard}`, () =>
          cli.patient(() => db.adminCommand({ moveChunk: ns, bounds: [chunk.min, chunk.max], to: shard })),
        );
      }
      const text = `merge ${cli.plural(group.length, "chunk")} from ${cli.key(min)} to ${cli.key(max)} on ${shard}`;
      run.step(text, () => cli.patient(() => sh.mergeChunks(ns, min, max)));
    } catch (e) {
      const now = sh.chunks(ns).toArray();
      if (group.every(c => now.some(n => cli.same(n.min, c.min) && n.shard === c.shard))) throw e;
      changed++;
    }
  }
  return changed;
}

/** Neighbours that become one chunk: empty ones, with one that is not at most. */
function grouped(ns, chunks, move) {
  const zones = cli.config().tags.find({ ns }).toArray();
  const within = (c, z) => bsonWoCompare(z.min, c.min) <= 0 && bsonWoCompare(c.max, z.max) <= 0;
  const zoneOf = chunk => (zones.find(z => within(chunk, z)) || {}).tag;
  const groups = [];
  let group = [];
  for (const chunk of [...chunks, null]) {
    const last = group[group.length - 1];
    const fits =
      last &&
      chunk &&
      zoneOf(last) === zoneOf(chunk) &&
      !chunk.jumbo &&
      !last.jumbo &&
      (chunk.empty || group.every(c => c.empty)) &&
      (move || last.shard === chunk.shard);
    if (!fits) {
      if (group.length > 1) groups.push(group);
      group = [];
    }
    group.push(chunk);
  }
  return groups;
}
