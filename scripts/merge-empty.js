// Merges chunks that hold nothing into a neighbour: on the same shard as they are, from
// elsewhere after moving them there, which copies nothing. Chunks of different zones stay
// apart.
const cli = require("shardsh:cli");

/** Where a group comes together: with the chunk that holds something, else with the first. */
const home = group => (group.find(c => !c.empty) || group[0]).shard;

cli.script(
  {
    name: "merge-empty",
    about: "Merges empty chunks into their neighbours.",
    usage: "--ns NS [options]",
    options: {
      ns: { value: "NS", is: "ns", about: "this collection", needed: true },
      move: { about: "move empty chunks to the shard of a neighbour where they have none on their own" },
      "all-empty": { about: "also if the whole collection is empty, as after a presplit" },
      most: { value: "N", is: "number", default: 10000, about: "merge so many chunks in one run" },
    },
    examples: ["mongodb://host:27017 --ns shop.orders --dry-run", "mongodb://host:27017 --ns shop.orders --move"],
  },
  run => {
    const { ns, move, most } = run.options,
      { key } = cli.sharded(run, ns);
    const zones = cli.config().tags.find({ ns }).toArray();
    const zoneOf = chunk =>
      (zones.find(z => bsonWoCompare(z.min, chunk.min) <= 0 && bsonWoCompare(chunk.max, z.max) <= 0) || {}).tag;
    const chunks = sh.chunks(ns).toArray();
    let told = Date.now();
    chunks.forEach((chunk, i) => {
      const size = db
        .getSiblingDB("admin")
        .runCommand({ dataSize: ns, keyPattern: key, min: chunk.min, max: chunk.max, maxObjects: 1 });
      chunk.empty = Number(size.numObjects) === 0;
      if (Date.now() - told > 10000) {
        told = Date.now();
        run.warn(`looked at ${i + 1} of ${chunks.length} chunks`);
      }
    });
    const emptyOnes = chunks.filter(c => c.empty).length;
    run.say(`${ns}: ${cli.plural(chunks.length, "chunk")}, ${emptyOnes} empty`);
    if (emptyOnes === chunks.length && emptyOnes > 1 && !run.options.allEmpty) {
      run.refuse("all of its chunks are empty, as after a presplit: --all-empty");
    }
    const groups = grouped(chunks, zoneOf, move).slice(0, most);
    let merged = 0,
      moved = 0;
    for (const group of groups) {
      const [min, max] = [group[0].min, group[group.length - 1].max],
        shard = home(group);
      for (const chunk of group.filter(c => c.shard !== shard)) {
        run.step(`move the empty chunk from ${cli.key(chunk.min)} to ${shard}`, () =>
          db.adminCommand({ moveChunk: ns, bounds: [chunk.min, chunk.max], to: shard }),
        );
        moved++;
      }
      run.step(`merge ${cli.plural(group.length, "chunk")} from ${cli.key(min)} to ${cli.key(max)} on ${shard}`, () =>
        sh.mergeChunks(ns, min, max),
      );
      merged += group.length - 1;
    }
    const left = emptyOnes - cli.sum(groups.map(g => g.filter(c => c.empty).length));
    if (left > 0) {
      run.say(
        `${cli.plural(left, "empty chunk")} left: no neighbour ` +
          `${move ? "in their zone" : "on their shard; --move brings them to one"}.`,
      );
    }
    return { ns, chunks: chunks.length, merged, moved, left };
  },
);

/** Neighbours that become one chunk: empty ones, with one that is not at most. */
function grouped(chunks, zoneOf, move) {
  const groups = [];
  let group = [];
  const close = () => {
    if (group.length > 1) groups.push(group);
    group = [];
  };
  for (const chunk of chunks) {
    const last = group[group.length - 1];
    const fits =
      last &&
      zoneOf(last) === zoneOf(chunk) &&
      !chunk.jumbo &&
      !last.jumbo &&
      (chunk.empty || group.every(c => c.empty)) &&
      (move || group[0].shard === chunk.shard);
    if (!fits) close();
    group.push(chunk);
  }
  close();
  return groups;
}
