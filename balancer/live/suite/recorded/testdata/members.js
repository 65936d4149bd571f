// 22-secondaries talks to the three members of shard0. A shard of the mock has one secondary that can be
// behind, and members in this process have no ports: here is what the script asks of them, of the mock itself.
const [first, second, distant] = cfg.shards.findOne({ _id: "shard0" }).host.split("/")[1].split(",");
const setOf = [first, second, distant].map((host, i) => ({ _id: i, host, priority: 2 - i, votes: 1, arbiterOnly: false,
  tags: { dc: host === distant ? "far" : "near" } }));
const missing = host => { throw new Error("the mock's " + host + " has no port"); };
function member(host) {
  const run = cmd => {
    const reply = { ok: 1, count: 0 };
    switch (Object.keys(cmd)[0]) {
      case "hello": return { ...reply, isWritablePrimary: host === first, lastWrite: { opTime: { ts: { t: 0, i: 0 } } } };
      case "replSetGetConfig": return { ...reply, config: { members: setOf } };
      case "configureFailPoint":
        if (host === distant && cmd.configureFailPoint === "stopReplProducer")
          db.adminCommand({ mockSlow: "shard0", ...(cmd.mode === "off" ? {} : { secondary: "24h" }) });
        return reply;
      case "waitForFailPoint": return reply;
      case "setParameter": // the delay of range deletions is 0 here, and this makes it long
        db.adminCommand({ configureFailPoint: "suspendRangeDeletion", mode: cmd.orphanCleanupDelaySecs ? "alwaysOn" : "off" });
        return reply;
    }
    return missing(host);
  };
  const of = name => ({ runCommand: run, getSiblingDB: of, getCollection: () => missing(host),
    rangeDeletions: { countDocuments: () => 0 }, d: { countDocuments: () => 3 } });
  return { getDB: of };
}
Mongo = function (uri) { return member(uri.split("/")[2]); };
db.adminCommand({ configureFailPoint: "suspendRangeDeletion", mode: "alwaysOn" });
