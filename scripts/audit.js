// Holds the settings of a cluster against what is recommended, and says what to enter
// where they differ. Nothing is changed. Exits with 3 where something was found. What is
// wrong at this moment sh.why() tells; limits for monitoring: shardsh check.
const cli = require("shardsh:cli");

/** Routers that reported within the last ten minutes. */
const fresh = c => c.routers.filter(r => c.now - r.ping < 10 * cli.TIMES.m);

// Each has what it finds as texts, what would be better, and what to enter for it.
const RULES = [
  {
    name: "balancerOff",
    better: "on",
    enter: "sh.startBalancer()",
    find: c => c.summary.mode === "off" && "the balancer is off",
  },
  {
    name: "window",
    better: "at least 4 hours a day, or none",
    enter: "sh.clearBalancerWindow()",
    find: ({ settings: { balancer: { activeWindow: w } = {} } }) =>
      w && hours(w) < 4 && `the balancer may work ${w.start}-${w.stop} only`,
  },
  {
    name: "maintenance",
    better: "ended",
    enter: "shardsh run maintenance --end",
    find: c =>
      db
        .getSiblingDB("shardsh")
        .maintenance.find({ until: { $lt: c.now } })
        .toArray()
        .map(m => `one that was over at ${m.until.toISOString()}`),
  },
  {
    name: "chunkSize",
    better: "32 to 512 MB",
    enter: "sh.chunkSize(null)",
    find: c =>
      [
        ["the cluster", (c.settings.chunksize || {}).value],
        ...c.collections.map(one => [one._id, one.maxChunkSizeBytes && Number(one.maxChunkSizeBytes) / 2 ** 20]),
      ]
        .filter(([, mb]) => mb && (Number(mb) < 32 || Number(mb) > 512))
        .map(([what, mb]) => `${what} has chunks of ${mb} MB`),
  },
  {
    name: "balancingOff",
    better: "on",
    enter: "sh.enableBalancing(<collection>)",
    find: c => c.collections.filter(one => one.noBalance).map(one => `the balancing of ${one._id} is off`),
  },
  {
    name: "migrationsOff",
    better: "allowed",
    enter: "sh.enableMigrations(<collection>)",
    find: c =>
      c.collections
        .filter(one => one.allowMigrations === false || one.permitMigrations === false)
        .map(one => `migrations of ${one._id} are forbidden`),
  },
  {
    name: "throttle",
    better: "left out: it makes migrations wait",
    enter: 'db.getSiblingDB("config").settings.updateOne({ _id: "balancer" }, { $unset: { _secondaryThrottle: 1 } })',
    find: ({ settings: { balancer = {} } }) => balancer._secondaryThrottle && "_secondaryThrottle is set",
  },
  {
    name: "waitForDelete",
    better: "left out: a shard waits for deletions after each move",
    enter: 'db.getSiblingDB("config").settings.updateOne({ _id: "balancer" }, { $unset: { _waitForDelete: 1 } })',
    find: ({ settings: { balancer = {} } }) => balancer._waitForDelete && "_waitForDelete is set",
  },
  {
    name: "autoMerger",
    better: "on",
    enter: "sh.startAutoMerger()",
    find: c =>
      cli.since(7) && [
        c.settings.automerge && c.settings.automerge.enabled === false && "the auto-merger is off",
        ...c.collections
          .filter(one => one.enableAutoMerge === false)
          .map(one => `the auto-merger leaves ${one._id} alone`),
      ],
  },
  {
    name: "autoSplit",
    better: "on",
    enter: "sh.enableAutoSplit()",
    find: c =>
      !cli.since(6, 0, 3) && c.settings.autosplit && c.settings.autosplit.enabled === false && "chunks are not split",
  },
  {
    name: "jumbo",
    better: "none",
    enter: "shardsh run jumbo",
    find: c =>
      c.summary.collections
        .filter(one => one.jumboChunks > 0)
        .map(one => `${one.ns} has ${cli.plural(Number(one.jumboChunks), "jumbo chunk")}`),
  },
  {
    name: "zones",
    better: "a shard for each zone with ranges",
    enter: "sh.addShardToZone(<shard>, <zone>)",
    find: c => c.zones.filter(z => z.problem).map(z => `zone ${z.zone}: ${z.problem}`),
  },
  {
    name: "draining",
    better: "ended, one way or the other",
    enter: "shardsh run drain --shard <shard>",
    find: c => c.summary.drainingShards.map(id => `shard ${id} is draining`),
  },
  {
    name: "oneShard",
    better: "at least two",
    enter: "sh.addShard(<address>)",
    find: c => c.shards.length < 2 && `there is ${cli.plural(c.shards.length, "shard")}`,
  },
  {
    name: "primaries",
    better: "spread over the shards",
    enter: "sh.movePrimary(<database>, <shard>)",
    find: c =>
      Object.entries(c.databases.reduce((all, d) => ({ ...all, [d.primary]: (all[d.primary] || 0) + 1 }), {}))
        .filter(([, n]) => c.shards.length > 1 && n >= 5 && n > c.databases.length * 0.8)
        .map(([id, n]) => `${id} is the primary of ${n} of ${c.databases.length} databases`),
  },
  {
    name: "hashedId",
    better: "a key that queries use, or a hashed one",
    enter: "sh.reshardCollection(<collection>, <key>)",
    find: c =>
      c.collections
        .filter(one => cli.same(one.key, { _id: 1 }))
        .map(one => `${one._id} is sharded by _id, which mostly grows: inserts go to one shard`),
  },
  {
    name: "versions",
    better: "one",
    enter: "upgrade the others",
    find: c => {
      const all = [...new Set(fresh(c).map(r => r.mongoVersion))];
      return all.length > 1 && `routers run ${all.sort().join(", ")}`;
    },
  },
];

cli.script(
  {
    name: "audit",
    about: "Holds the settings of a cluster against recommendations.",
    options: {
      skip: { value: "LIST", is: "list", default: "", about: "leave these out, by name: balancerOff,jumbo" },
      all: { about: "show what is in order, too" },
    },
    examples: ["mongodb://host:27017", "mongodb://host:27017 --json --skip balancerOff"],
  },
  run => {
    const known = RULES.map(r => r.name),
      unknown = run.options.skip.find(s => !known.includes(s));
    if (unknown)
      throw new cli.Usage(`no rule ${unknown}${cli.didYouMean(unknown, known)}; there are ${known.join(", ")}`);
    const c = cluster(),
      rules = RULES.filter(r => !run.options.skip.includes(r.name));
    const found = rules.flatMap(r => {
      const list = [].concat(r.find(c) || []).filter(Boolean);
      return list.length
        ? list.map(is => ({ rule: r.name, is, recommended: r.better, enter: r.enter || "" }))
        : run.options.all
          ? [{ rule: r.name, is: "in order", recommended: r.better, enter: "" }]
          : [];
    });
    run.table(found);
    run.found = found.filter(f => f.is !== "in order").length;
    run.say(`${cli.plural(rules.length, "rule")}, ${cli.plural(run.found, "finding")}`);
    return { findings: found, rules: rules.length };
  },
);

/** What the rules look at. */
function cluster() {
  const config = cli.config(),
    settings = {};
  for (const s of config.settings.find()) settings[s._id] = s;
  return {
    settings,
    summary: sh.balancerSummary(),
    shards: sh.listShards(),
    zones: sh.zones(),
    databases: config.databases.find({ _id: { $nin: ["config", "admin", "shardsh"] } }).toArray(),
    collections: config.collections
      .find({ dropped: { $ne: true }, unsplittable: { $ne: true } })
      .toArray()
      .filter(c => !c._id.startsWith("config.")),
    routers: config.mongos.find().toArray(),
    now: db.hello().localTime,
  };
}

/** How many hours a day a window is open. */
function hours({ start, stop }) {
  const [a, b] = [start, stop].map(t => t.split(":").map(Number)).map(([h, m]) => h + m / 60);
  return (b - a + 24) % 24;
}
