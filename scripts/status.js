// Prints the balance of every sharded collection, and what is wrong. Exits with 1
// when one of them is not balanced. For CI, see also: shardsh check.
const summary = sh.balancerSummary();

const rows = summary.collections.map(c => ({
  collection: c.ns,
  balanced: c.balanced ? "yes" : "NO",
  reason: [c.violation, c.leftAlone].filter(Boolean).join("; "),
  chunks: c.chunks,
  jumbo: c.jumboChunks,
  "chunk size": sh.chunkSize(c.ns) + " MB",
}));

print(`balancer: ${summary.mode}`);
if (rows.length > 0) console.table(rows);
else print("no sharded collections");
for (const problem of summary.problems) print("! " + problem);
if (rows.some(r => r.balanced !== "yes")) quit(1);
