// Everything to look at before a shard is taken out, with what to do where it is not
// so. Nothing is changed. Exits with 3 where something is not as it has to be.
const cli = require("shardsh:cli");
const { checks } = require("shardsh:draining");

cli.script(
  {
    name: "remove-shard-checklist",
    about: "Lists what has to be so before a shard is removed, and what is not.",
    usage: "--shard ID [options]",
    options: {
      shard: { value: "ID", about: "this one", needed: true },
      "max-data": { value: "SIZE", is: "size", about: "no other shard may have more data afterwards, such as 2TB" },
      headroom: {
        value: "PERCENT",
        is: "number",
        default: 15,
        about: "of each disk stays free, where servers tell its size",
      },
    },
    examples: ["mongodb://host:27017 --shard shard3", "mongodb://host:27017 --shard shard3 --max-data 2TB --json"],
  },
  run => {
    const { shard } = run.options;
    const entry = cli.shard(run, shard);
    const { list, plan } = checks(shard, run.options);
    const jumbo = Number(cli.config().chunks.countDocuments({ shard, jumbo: true }));
    list.push({ check: "it has no jumbo chunks", ok: jumbo === 0, detail: String(jumbo), remedy: "shardsh run jumbo" });
    const routers = cli.config().mongos.countDocuments({});
    for (const [check, remedy] of [
      ["no application connects to this shard itself", `${entry.host} in connection strings, cron jobs, monitoring`],
      ["there is a backup of the cluster", "one from before, and one after"],
      [`all ${routers} routers are known and run`, "those that are away learn of the removal when they come back"],
    ])
      list.push({ check, ok: null, detail: "yours to see to", remedy });

    run.table(
      list.map(c => ({
        "": c.ok === null ? "[?]" : c.ok ? "[x]" : "[ ]",
        check: c.check,
        is: c.detail,
        "to do": c.ok ? "" : c.remedy,
      })),
    );
    if (plan) {
      run.say(
        `${cli.plural(plan.totals.moves, "move")} of ${cli.size(plan.totals.bytes)}. ` +
          sh.forecast(null, { goal: { drain: shard } }).headline,
      );
    }
    run.found = list.filter(c => c.ok === false).length;
    run.say(
      run.found
        ? `${cli.plural(run.found, "thing")} to do first.`
        : `Ready: shardsh run drain --shard ${shard} --move-primaries`,
    );
    return { shard, ready: run.found === 0, checks: list };
  },
);
