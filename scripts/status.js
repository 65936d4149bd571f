// Prints the balance of every sharded collection. Exits with 1 when one of
// them is not balanced. For CI, see also: shardsh check.
const collections = db.getSiblingDB("config").collections
  .find({ dropped: { $ne: true }, unsplittable: { $ne: true } }).sort({ _id: 1 }).toArray();

const rows = collections.map(c => {
  const status = sh.balancerCollectionStatus(c._id);
  return {
    collection: c._id,
    balanced: status.balancerCompliant ? "yes" : "NO",
    reason: status.firstComplianceViolation || (c.noBalance ? "balancing is disabled" : ""),
    "chunk size": status.chunkSize + " MiB",
  };
});

print(`balancer: ${sh.getBalancerState() ? "on" : "off"}`);
if (rows.length > 0) console.table(rows);
else print("no sharded collections");
if (rows.some(r => r.balanced !== "yes")) quit(1);
