// Starts to empty a shard: drain.js [SHARD]
const shard = process.argv[2] || sh.listShards().at(-1)._id;
for (let tries = 3; ; tries--) {
  try {
    sh.drain(shard);
    break;
  } catch (e) {
    if (tries === 1) throw e;
  }
}
print(`${shard} is draining`);
