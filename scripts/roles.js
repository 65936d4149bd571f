// Creates three roles with no more than shardsh needs, or brings them up to date;
// users are not touched. Run it as a user who may create roles:
//
//   shardsh mongodb://root@host:27017 scripts/roles.js
//
// then give a user one of them:
//
//   db.getSiblingDB("admin").createUser({ user: "ops", pwd: passwordPrompt(), roles: ["shardshLook"] })
//
// shardshLook     reads: check, why, report, map, plan, forecast, simulate, watch, snapshot, and the helpers
//                 of sh that look. No documents can be read, nothing can be changed.
// shardshEngine   also moves, splits and merges chunks, empties and removes shards, switches the balancing
//                 of collections off and on, and holds the lease shardsh.leases: apply and its like.
// shardshHelpers  also all that the helpers of sh change: shard keys, zones, settings, shards.
//
// docs/live.md says which privilege is for what.
const cli = require("shardsh:cli");

const anyCollection = { db: "", collection: "" },
  anyOfConfig = { db: "config", collection: "" },
  anyBuckets = { db: "", system_buckets: "" }; // of time series, which no other resource has
const grant = (resource, ...actions) => ({ resource, actions: actions.filter(Boolean) });
const ofConfig = (collection, ...actions) => grant({ db: "config", collection }, ...actions);

/** The roles: name, privileges, the roles that each has in it. */
function roles() {
  const version = db.version().split(".").map(Number);
  const since = (...from) => (version[0] - from[0] || version[1] - (from[1] || 0) || version[2] - (from[2] || 0)) >= 0;
  const look = [
    grant(
      { cluster: true },
      "connPoolStats",
      "getParameter",
      "getShardMap",
      "hostInfo",
      "inprog",
      "listDatabases",
      "listShards",
      "serverStatus",
      since(6, 0, 3) && "shardedDataDistribution",
      since(7) && "checkMetadataConsistency",
      since(7) && "listSampledQueries", // of heat
      since(8, 3) && "shardDrainingStatus",
    ),
    grant(anyOfConfig, "collStats", "dbStats", "find", "indexStats", "listCollections", "listIndexes"),
    grant(anyCollection, "collStats", "dbStats", "indexStats", "listCollections", "listIndexes"),
    since(5) && grant(anyBuckets, "collStats", "indexStats"),
    grant({ db: "shardsh", collection: "jobs" }, "find"),
    grant({ db: "admin", collection: "system.version" }, "find"), // the feature compatibility version
    grant({ db: "shardsh", collection: "leases" }, "find"), // who changes the cluster, and what they have paused
    grant({ db: "shardsh", collection: "audit" }, "find"), // of history
  ];
  const engine = [
    grant({ cluster: true }, "killop", "removeShard"), // a second Ctrl-C stops the moves under way
    // Unsharded collections move with moveCollection. No documents are read.
    grant(anyCollection, "moveChunk", "splitChunk", since(6) && "splitVector", since(8) && "moveCollection"),
    since(5) && grant(anyBuckets, "moveChunk", "splitChunk", since(6) && "splitVector", since(8) && "moveCollection"),
    grant({ db: "config", collection: "system.sessions" }, "moveChunk", "splitChunk", since(6) && "splitVector"),
    ofConfig("collections", "update"),
    grant({ db: "shardsh", collection: "leases" }, "find", "insert", "remove", "update"),
    grant({ db: "shardsh", collection: "jobs" }, "find", "insert", "update"),
    grant({ db: "shardsh", collection: "journals" }, "find", "insert", "remove"), // of jobs
    grant({ db: "shardsh", collection: "audit" }, "convertToCapped", "createCollection", "insert"), // of --audit
  ];
  const helpers = [
    grant(
      { cluster: true },
      "addShard",
      since(8) && "transitionFromDedicatedConfigServer",
      since(8) && "transitionToDedicatedConfigServer",
    ),
    grant(
      anyCollection,
      "enableSharding",
      since(4, 2, 3) && "clearJumboFlag",
      since(4, 4) && "refineCollectionShardKey",
      since(5) && "reshardCollection",
      since(8) && "unshardCollection",
    ),
    // balancerCollectionStatus asks for it.
    grant({ db: "config", collection: "system.sessions" }, "enableSharding"),
    since(5) && grant(anyBuckets, "enableSharding"),
    ofConfig("settings", "insert", "update"),
    grant({ db: "shardsh", collection: "maintenance" }, "find", "insert", "remove", "update"), // of maintenance
    ofConfig("shards", "update"),
    ofConfig("tags", "insert", "remove", "update"),
  ];
  return [
    ["shardshLook", look, []],
    ["shardshEngine", engine, ["shardshLook"]],
    ["shardshHelpers", helpers, ["shardshEngine"]],
  ].map(([name, privileges, contains]) => [name, privileges.filter(Boolean), contains]);
}

cli.script(
  {
    name: "roles",
    about: "Creates roles with no more than shardsh needs, or brings them up to date.",
    options: {},
  },
  run => {
    const admin = db.getSiblingDB("admin");
    for (const [role, privileges, inherited] of roles()) {
      const known = admin.getRole(role) !== null;
      const act = () => admin.runCommand({ [known ? "updateRole" : "createRole"]: role, privileges, roles: inherited });
      if (run.dryRun) {
        run.step(`${known ? "bring up to date" : "create"} ${role}`, act);
        continue;
      }
      const reply = act();
      if (!reply.ok) throw new Error(`${role}: ${reply.errmsg}`);
      run.say(`${role}: ${known ? "brought up to date" : "created"}`);
    }
  },
);
