// Cuts a collection into as many ranges as there are zones, each with a share of the
// data as large as its share of the shards, and puts them into the zones. The cuts come
// from a sample of the data, for a hashed key from arithmetic.
const cli = require("shardsh:cli");
const { checked, bring, settle } = require("shardsh:zoning");

cli.script(
  {
    name: "even-zones",
    about: "Spreads a collection over zones by shares of its data, and verifies it.",
    usage: "--ns NS --zone NAME=SHARD,SHARD --zone NAME=SHARD [options]",
    options: {
      ns: { value: "NS", is: "ns", about: "this collection", needed: true },
      zone: {
        value: "NAME=SHARD,…",
        many: true,
        about: "a zone and its shards, in the order of the key; NAME alone has some",
        needed: true,
      },
      samples: { value: "N", is: "number", default: 2000, about: "keys to look at for each zone" },
      replace: { about: "cut again where zones have ranges of it already" },
      save: { value: "FILE", about: "write the zones into a file for zones-from-file, and change nothing" },
      wait: { about: "wait until the balancer has moved what has to move" },
      for: { value: "TIME", is: "duration", default: "1d", about: "wait so long at most" },
      ...cli.WAITS,
    },
    examples: [
      "mongodb://host:27017 --ns shop.orders --zone EU=eu1,eu2 --zone US=us1 --dry-run",
      "mongodb://host:27017 --ns shop.orders --zone EU --zone US --save zones.json",
    ],
  },
  run => {
    const { ns, zone, replace, save, wait } = run.options,
      entry = cli.sharded(run, ns);
    const zones = zone.map(text => {
      const [name, list] = text.split("="),
        given = (list || "").split(",").filter(Boolean);
      const members = given.length
        ? given
        : sh
            .listShards()
            .filter(s => (s.tags || []).includes(name))
            .map(s => s._id);
      if (members.length === 0) run.refuse(`no shard is in zone ${name}: --zone ${name}=SHARD,…`);
      return { name, members };
    });
    if (new Set(zones.map(z => z.name)).size < zones.length) run.refuse("a zone was named twice");
    const wanted = checked(run, {
      shards: members(zones),
      ranges: ranges(run, entry, zones, replace ? [] : cli.config().tags.find({ ns }).sort({ min: 1 }).toArray()),
    });
    run.table(
      wanted.ranges.map(r => ({ zone: r.zone, from: cli.key(r.min), "up to": cli.key(r.max) })),
      `Ranges of ${ns}:`,
    );
    if (save) {
      run.step(`write the zones into ${save}`, () => fs.writeFileSync(save, EJSON.stringify(wanted, null, 2) + "\n"));
      return { saved: save };
    }
    const result = bring(run, wanted, { replace });
    settle(run, [ns], wait, run.options.for, run.options.keepWaiting);
    return { ...result, ranges: wanted.ranges };
  },
);

function members(zones) {
  const shards = {};
  for (const z of zones) for (const id of z.members) (shards[id] = shards[id] || []).push(z.name);
  return shards;
}

/** One range for each zone. Bounds of ranges that are there from a run before stay as they are. */
function ranges(run, { _id: ns, key }, zones, there) {
  const all = value => Object.fromEntries(Object.keys(key).map(f => [f, value]));
  for (const t of there) {
    if (!zones.some(z => z.name === t.tag))
      run.refuse(`${ns} has a range of zone ${t.tag} already: --replace removes it`);
  }
  const total = cli.sum(zones.map(z => z.members.length));
  let share = 0;
  const cuts = zones.slice(0, -1).map((z, i) => {
    share += z.members.length / total;
    const ends = there.find(t => t.tag === z.name),
      begins = there.find(t => t.tag === zones[i + 1].name);
    return ends ? ends.max : begins ? begins.min : share;
  });
  const missing = cuts.filter(c => typeof c === "number");
  const found = missing.length ? points(run, ns, key, missing, run.options.samples * zones.length) : [];
  const bounds = [all(MinKey()), ...cuts.map(c => (typeof c === "number" ? found.shift() : c)), all(MaxKey())];
  return zones.map((z, i) => ({ ns, zone: z.name, min: bounds[i], max: bounds[i + 1] }));
}

/** The keys below which so great a share of the data lies. */
function points(run, ns, key, shares, samples) {
  const fields = Object.keys(key);
  if (key[fields[0]] === "hashed") {
    const low = -(2n ** 63n),
      at = share => low + BigInt(Math.round(share * 2 ** 32)) * 2n ** 32n;
    return shares.map(share => ({
      [fields[0]]: NumberLong(at(share).toString()),
      ...Object.fromEntries(fields.slice(1).map(f => [f, MinKey()])),
    }));
  }
  // The names of fields may have dots.
  const aliases = Object.fromEntries(fields.map((f, i) => ["f" + i, { $ifNull: ["$" + f, null] }]));
  const sample = cli
    .collection(ns)
    .aggregate([{ $sample: { size: samples } }, { $project: { _id: 0, ...aliases } }])
    .toArray()
    .map(d => Object.fromEntries(fields.map((f, i) => [f, d["f" + i]])))
    .sort(bsonWoCompare);
  const distinct = sample.filter((d, i) => i === 0 || bsonWoCompare(sample[i - 1], d) !== 0);
  if (distinct.length <= shares.length) {
    run.refuse(
      `${ns} has ${cli.plural(distinct.length, "different key")} in a sample, too few to cut by: ` +
        "shardsh run zones-from-file takes cuts of yours",
    );
  }
  const cuts = shares.map(share => sample[Math.floor(share * sample.length)]);
  if (cuts.some((c, i) => i > 0 && bsonWoCompare(cuts[i - 1], c) >= 0))
    run.refuse(`one key of ${ns} has more documents than a zone may have`);
  return cuts;
}
