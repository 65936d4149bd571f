// Prints the balance of every sharded collection, and what is wrong. Exits with 1
// when one of them is not balanced. For CI, see also: shardsh check.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "status",
    about: "Prints the balance of every sharded collection, and what is wrong.",
    options: {},
  },
  run => {
    const summary = sh.balancerSummary();
    const rows = summary.collections.map(c => ({
      collection: c.ns,
      balanced: c.balanced ? "yes" : "NO",
      reason: [c.violation, c.leftAlone].filter(Boolean).join("; "),
      chunks: c.chunks,
      jumbo: c.jumboChunks,
      "chunk size": sh.chunkSize(c.ns) + " MB",
    }));
    run.say(`balancer: ${summary.mode}`);
    run.table(rows);
    if (rows.length === 0) run.say("no sharded collections");
    for (const problem of summary.problems) run.say("! " + problem);
    if (summary.collections.some(c => !c.balanced)) process.exitCode = 1;
    return { mode: summary.mode, collections: rows, problems: summary.problems };
  },
);
