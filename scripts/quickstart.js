// A tour in one script: shard a collection, load data onto one shard, look at
// the imbalance, let the balancer even it out, and report.
//
//   shardsh scripts/quickstart.js                       on the embedded mock cluster
//   shardsh mongodb://host:27017 scripts/quickstart.js  on a cluster of yours
//
// It works in a database of its own, which it drops at the end, however that comes; the
// balancer is switched as it was then, too.
const cli = require("shardsh:cli");
const name = "shardsh_quickstart";
const ns = name + ".orders";
const mib = bytes => (bytes / 1048576).toFixed(1) + " MiB";

function distribution() {
  const found = cli.distribution(ns);
  const sizes = Object.fromEntries((found[0] ? found[0].shards : []).map(s => [s.shardName, s]));
  return sh
    .listShards()
    .map(s => s._id)
    .sort()
    .map(shard => ({
      shard,
      chunks: sh.chunks(ns, { shard }).itcount(),
      documents: Number(sizes[shard] ? sizes[shard].numOwnedDocuments : 0),
      data: mib(Number(sizes[shard] ? sizes[shard].ownedSizeBytes : 0)),
    }));
}

function show(title, rows) {
  print(title);
  console.table(rows);
}

cli.script(
  {
    name: "quickstart",
    about: "A tour: shard a collection, load it, look at the imbalance, let the balancer work.",
    options: {},
  },
  run => {
    const app = db.getSiblingDB(name);
    if (!cli.since(6)) run.refuse("the tour needs 6.0, with chunk sizes of collections and balancing by data");
    if (run.dryRun)
      return run.step(`make, balance and drop the database ${name}, with the balancer switched off and on`, () => {});
    run.say("1. A collection sharded by customer, with chunks of 1 MiB and the balancer off");
    const wasOn = sh.getBalancerState();
    run.restore(`sh.setBalancerState(${wasOn})`, () => sh.setBalancerState(wasOn));
    run.restore(`db.getSiblingDB("${name}").dropDatabase()`, () => app.dropDatabase());
    sh.stopBalancer();
    app.dropDatabase();
    sh.shardCollection(ns, { customer: 1 });
    sh.chunkSize(ns, 1);

    run.say("2. Load 2400 orders of 8 KiB; they all land on the shard of the only chunk");
    const note = "x".repeat(8 * 1024);
    for (let from = 0; from < 2400; from += 400) {
      app.orders.insertMany(
        Array.from({ length: 400 }, (_, i) => ({ customer: from + i, total: (from + i) % 97, note })),
      );
    }
    show("", distribution());

    run.say("3. What the balancer thinks of it");
    printjson(sh.balancerCollectionStatus(ns));

    run.say("4. Let it work");
    const started = new Date();
    sh.startBalancer();
    sh.waitForBalance(ns, { timeout: 30 * 60 * 1000, interval: 1000 });
    sh.stopBalancer();
    const seconds = Math.round((new Date() - started) / 1000);
    const moves = cli
      .config()
      .changelog.find({ ns, what: "moveChunk.commit", time: { $gte: started } })
      .sort({ time: 1 })
      .toArray();
    show(
      `   ${moves.length} moves in ${seconds} s of cluster time`,
      moves.map(m => ({
        at: Math.round((m.time - started) / 1000) + " s",
        from: m.details.from,
        to: m.details.to,
        range: EJSON.stringify(m.details.min) + " to " + EJSON.stringify(m.details.max),
        data: mib(Number(m.details.counts.clonedBytes)),
      })),
    );

    show("5. Afterwards", distribution());
    printjson(sh.balancerCollectionStatus(ns));
    assert.eq(app.orders.countDocuments({}), 2400, "every order is still there");

    run.say("Done: every order is still there. What next: shardsh --help, or sh.help() in the shell.");
  },
);
