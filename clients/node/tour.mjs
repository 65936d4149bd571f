// A tour of start() with MongoDB's driver: node tour.mjs, in a directory where it is installed.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { start } from "./shardsh.mjs";

const { MongoClient } = createRequire(process.cwd() + "/")("mongodb");

const cluster = await start({ shards: 2, version: "7.0", seed: 7, parameters: { orphanCleanupDelaySecs: 0 } });
const client = await MongoClient.connect(cluster.uri);
const admin = client.db("admin");

const { version } = await admin.command({ buildInfo: 1 });
assert.match(version, /^7\.0\./);
assert.equal((await admin.command({ listShards: 1 })).shards.length, 2);

// A failure: what does the program under test do when an insert gets no answer?
await admin.command({ mockFailNext: "insert", code: 50 });
const orders = client.db("shop").collection("orders");
await assert.rejects(orders.insertOne({ customer: 1 }), { code: 50 });
await orders.insertOne({ customer: 2 });
assert.equal(await orders.countDocuments(), 1);

await client.close();
await cluster.stop();
await assert.rejects(start({ shards: 0 }), /takes 1 to 1000 shards/);
await assert.rejects(start({ binary: "/nowhere/shardsh" }), /there is no \/nowhere\/shardsh/);
await assert.rejects(start({ shard: 3 }), /start\(\) has no option shard; it has shards/);
if (process.argv[2] === "leave") console.log("left", (await start()).uri); // which ends with this process
console.log("the tour is over");
