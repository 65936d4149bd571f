// A tour of the mock cluster with the Node driver: node tour.mjs URI [CA file].
// It is run in the directory where the driver is installed.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { MongoClient, Long } = createRequire(process.cwd() + "/")("mongodb");
const [uri, caFile] = process.argv.slice(2);
const refused = async (code, what) => {
  await assert.rejects(what, (e) => {
    assert.equal(e.code, code, `${e.message} (${e.code})`);
    return true;
  });
};

const events = [];
const client = new MongoClient(uri, { monitorCommands: true, ...(caFile && { tlsCAFile: caFile }) });
client.on("commandStarted", (e) => events.push(e));
await client.connect();
const admin = client.db("admin");
const orders = client.db("app").collection("orders");

// Sharding first, so that the rest runs on a collection in many places.
assert.equal((await admin.command({ enableSharding: "app" })).ok, 1);
await admin.command({ shardCollection: "app.orders", key: { customer: 1 } });
const shards = (await admin.command({ listShards: 1 })).shards.map((s) => s._id);
assert.deepEqual(shards, ["shard0", "shard1", "shard2"]);
await admin.command({ split: "app.orders", middle: { customer: 100 } });
const from = (await client.db("config").collection("chunks").findOne({ "min.customer": 100 })).shard;
const to = shards.find((s) => s !== from);
await admin.command({ moveRange: "app.orders", min: { customer: 100 }, toShard: to });

// Documents in and out.
const inserted = await orders.insertMany(Array.from({ length: 300 }, (_, i) => ({ customer: i, total: i % 7 })));
assert.equal(inserted.insertedCount, 300);
assert.equal(await orders.countDocuments({ customer: { $gte: 100 } }), 200);
assert.equal((await orders.updateOne({ customer: 5 }, { $set: { seen: true } })).modifiedCount, 1);
assert.equal((await orders.updateMany({ total: 0 }, { $inc: { total: 10 } })).modifiedCount, 43);
assert.equal((await orders.findOneAndUpdate({ customer: 6 }, { $set: { seen: 1 } }, { returnDocument: "after" })).seen, 1);
assert.equal((await orders.deleteOne({ customer: 299 })).deletedCount, 1);
const bulk = await orders.bulkWrite([
  { insertOne: { document: { customer: 1000 } } },
  { updateOne: { filter: { customer: 1000 }, update: { $set: { total: 1 } } } },
  { updateOne: { filter: { customer: 1001 }, update: { $set: { total: 1 } }, upsert: true } },
  { deleteOne: { filter: { customer: 1000 } } },
]);
assert.deepEqual([bulk.insertedCount, bulk.modifiedCount, bulk.upsertedCount, bulk.deletedCount], [1, 1, 1, 1]);
await refused(11000, () => orders.insertOne({ _id: inserted.insertedIds[0], customer: 0 }));
await orders.insertOne({ customer: 5000 }, { writeConcern: { w: 0 } });
const groups = await orders.aggregate([{ $match: { customer: { $lt: 299 } } }, { $group: { _id: "$total", n: { $sum: 1 } } }, { $sort: { _id: 1 } }]).toArray();
assert.deepEqual(groups.map((g) => g._id), [1, 2, 3, 4, 5, 6, 10]);

// Cursors in batches.
let read = 0;
for await (const doc of orders.find({}, { batchSize: 10, sort: { customer: 1 } })) read += doc.customer >= 0;
assert.equal(read, 301);
assert.ok(events.filter((e) => e.commandName === "getMore").length >= 29);

// Sessions, and writes that may be sent again.
await client.withSession(async (session) => {
  await orders.insertOne({ customer: 7000 }, { session });
  assert.equal(await orders.countDocuments({ customer: 7000 }, { session }), 1);
});
const write = events.findLast((e) => e.commandName === "insert");
assert.ok(write.command.txnNumber !== undefined && write.command.lsid, "inserts are retryable");
await refused(263, () => client.withSession((session) => {
  session.startTransaction();
  return orders.insertOne({ customer: 1 }, { session });
}));

// A change stream, and one that goes on behind it.
const stream = orders.watch();
assert.equal(await stream.tryNext(), null); // it is open
await orders.insertOne({ customer: 8000 });
await orders.deleteOne({ customer: 8000 });
const first = await stream.next();
assert.equal(first.operationType, "insert");
assert.equal(first.fullDocument.customer, 8000);
await stream.close();
const behind = orders.watch([], { resumeAfter: first._id });
assert.equal((await behind.next()).operationType, "delete");
await behind.close();

// What the mock has not is refused, not made up.
await refused(59, () => admin.command({ nonsense: 1 }));

// The balancer.
await admin.command({ balancerStop: 1 });
assert.equal((await admin.command({ balancerStatus: 1 })).mode, "off");
await admin.command({ balancerStart: 1 });
assert.equal((await admin.command({ balancerStatus: 1 })).mode, "full");
assert.equal((await admin.command({ balancerCollectionStatus: "app.orders" })).balancerCompliant, true);

await client.close();
console.log("the tour is over");
