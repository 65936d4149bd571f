// Empties a shard and takes it out of the cluster, as an operator would: looks first
// whether the others can take it all, waits for the balancer, moves what the balancer
// leaves, removes. It switches nothing; where it fails it is run again. Where the shard can't
// become empty as things stand, it says what has to be done, and ends with exit code 3.
const cli = require("shardsh:cli");
const { checks } = require("shardsh:draining");

cli.script(
  {
    name: "drain",
    about: "Empties a shard, moves what the balancer leaves there, and removes it.",
    usage: "--shard ID [options]",
    options: {
      shard: { value: "ID", about: "this one", needed: true },
      "move-primaries": {
        about: "move its databases and unsharded collections; up to 7.0 nothing may write to them then",
      },
      "max-data": { value: "SIZE", is: "size", about: "no other shard may have more data afterwards, such as 2TB" },
      headroom: {
        value: "PERCENT",
        is: "number",
        default: 15,
        about: "of each disk stays free, where servers tell its size",
      },
      keep: { about: "don't remove the shard when it is empty" },
      "start-only": { about: "start draining, and don't wait" },
      for: { value: "TIME", is: "duration", default: "7d", about: "stop waiting after this; draining goes on" },
      ...cli.WAITS,
    },
    examples: ["mongodb://host:27017 --shard shard3 --dry-run", "mongodb://host:27017 --shard shard3 --move-primaries"],
  },
  run => {
    const { shard, movePrimaries, keep, startOnly } = run.options;
    const entry = sh.listShards().find(s => s._id === shard);
    if (!entry && cli.config().changelog.findOne({ what: "removeShard", "details.shard": shard })) {
      run.say(`Shard ${shard} has been removed already.`);
      return { shard, removed: true };
    }
    const draining = cli.shard(run, shard).draining === true;
    if (!draining) look(run);

    const remedy = cli.since(8, 3)
      ? `sh.stopDrain("${shard}") has it stay`
      : `sh.drainStatus("${shard}") tells what is left`;
    const done = run.dryRun
      ? () => {}
      : run.left(`Shard ${shard} may be marked as draining, and stays so; ${remedy}.`);
    if (draining) run.say(`Shard ${shard} is draining already: going on.`);
    else run.step(`start draining ${shard}`, () => sh.drain(shard));
    if (startOnly) {
      run.say(`Shard ${shard} goes on draining; without --start-only this script waits for it, and removes it.`);
      done();
      return { shard, draining: true, removed: false };
    }
    const found = run.dryRun ? obstacles(run) : [];
    for (const text of found) run.warn(`It would not end by itself: ${text}`);
    run.found = found.length;
    const rest = movePrimaries ? ", move its databases and unsharded collections," : "";
    run.step(
      `wait until ${shard} is empty${rest} and ${keep ? "leave it so" : "remove it"}`,
      () => empty(run),
    );
    done();
    if (run.dryRun) return { shard, removed: false, obstacles: found };
    run.say(
      keep
        ? `Shard ${shard} is empty, and goes on draining so that nothing comes to it.`
        : `Shard ${shard} is removed.`,
    );
    return { shard, removed: !keep };
  },
);

/** Waits for the balancer, and moves what it leaves: shardsh's own databases always, others if that was asked for. */
function empty(run) {
  const { shard, keep, keepWaiting } = run.options,
    movePrimaries = run.options.movePrimaries || databases(shard).length === 0;
  try {
    sh.drain(shard, { wait: true, remove: !keep, movePrimaries, timeout: run.options.for, keepWaiting });
  } catch (e) {
    if (e.name !== "StuckError" || movePrimaries) throw e;
    throw new cli.Stuck(`${e.message}; --move-primaries moves the databases`);
  }
}

/** The databases of others than shardsh whose primary a shard is. */
function databases(shard) {
  return cli
    .config()
    .databases.find({ primary: shard, _id: { $ne: "shardsh" } })
    .toArray()
    .map(d => d._id);
}

/** What keeps the shard from becoming empty as things stand, and is not moved by this script. */
function obstacles(run) {
  const { shard, movePrimaries } = run.options,
    byScript = command => /^sh\.move(Primary|Collection)\(/.test(command);
  const ours = f =>
    f.code === "drainNeedsOperator" && (movePrimaries || databases(shard).length === 0) && f.commands.every(byScript);
  return sh
    .forecast(null, { goal: { drain: shard } })
    .obstacles.filter(f => !ours(f))
    .map(f => `${f.sentence}: ${f.commands.join(", ")}`);
}

/** Says what will move, and refuses what would go wrong. */
function look(run) {
  const { list, plan, rows } = checks(run.options.shard, run.options);
  const bad = list.filter(c => c.ok === false);
  if (bad.length > 0) {
    run.refuse(bad.map(c => `it is not so that ${c.check} (${c.detail}): ${c.remedy}`).join("; "));
  }
  run.table(
    rows.map(r => ({
      shard: r.id,
      "data now": cli.size(r.now),
      afterwards: cli.size(r.after),
      "disk free": r.disk ? cli.size(r.disk.total - r.disk.used) : "?",
    })),
    "What the other shards will have:",
  );
  for (const c of list.filter(one => one.ok === null)) run.say(`Not checked: ${c.check} (${c.detail}); ${c.remedy}.`);
  run.say(
    `${cli.plural(plan.totals.moves, "move")} of ${cli.size(plan.totals.bytes)}. ` +
      sh.forecast(null, { goal: { drain: run.options.shard } }).headline,
  );
}
