const orders = [
  { shard: "shard0", max: { k: 0 }, bytes: "100MB", docs: 100000 },
  { shard: "shard1", max: { k: 100 }, bytes: "100MB", docs: 100000 },
  { shard: "shard2", max: { k: 200 }, bytes: "200MB", docs: 200000 },
  { shard: "shard2", bytes: "100MB", docs: 100000 },
];
const shards = [{ id: "shard0" }, { id: "shard1" }, { id: "shard2" }];
const collection = (more = {}) => ({ ns: "app.orders", key: { k: 1 }, chunks: orders, ...more });
const ids = () =>
  sh
    .listShards()
    .map(s => s._id)
    .sort();

const databases = [{ name: "app", primary: "shard0" }];
describe("drain", { topology: { shards, databases, collections: [collection()] } }, () => {
  it("empties a shard and removes it", () => {
    const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
    expect(r.exitCode).toBe(0);
    expect(r.output).toContain("Shard shard2 is removed.");
    expect(ids()).toEqual(["shard0", "shard1"]);
    expect(cluster).toHaveLostNothing();
    expect(cluster).toBeConsistent();
  });
  it("says so when the shard has been removed already", { everyFault: false }, () => {
    run("shardsh:drain", { args: ["--shard", "shard2"] });
    const r = run("shardsh:drain", { args: ["--shard", "shard2", "--json"] });
    expect(r.json).toEqual({ ok: 1, shard: "shard2", removed: true });
  });
  it("keeps an empty shard", { everyFault: false }, () => {
    const r = run("shardsh:drain", { args: ["--shard", "shard2", "--keep"] });
    expect(r.output).toContain("goes on draining");
    expect(sh.drainStatus("shard2").remaining.chunks).toEqual(0);
    expect(ids()).toEqual(["shard0", "shard1", "shard2"]);
  });
  it("changes nothing in a dry run", { everyFault: false }, () => {
    const r = run("shardsh:drain", { args: ["--shard", "shard2", "--dry-run"] });
    expect(r.exitCode).toBe(0);
    expect(r.output).toContain("would start draining shard2");
    expect(sh.drainStatus("shard2").state).toBe("notDraining");
  });
  it("refuses where there is no room", { everyFault: false }, () => {
    const r = run("shardsh:drain", { args: ["--shard", "shard2", "--max-data", "150MB"] });
    expect(r.exitCode).toBe(1);
    expect(r.errors).toContain("--max-data");
    expect(sh.drainStatus("shard2").state).toBe("notDraining");
  });
  it("refuses while the balancer is off", { everyFault: false }, () => {
    sh.stopBalancer();
    const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
    expect(r.exitCode).toBe(1);
    expect(r.errors).toContain("sh.startBalancer()");
  });
  it("refuses collections that the balancer may not move", { everyFault: false }, () => {
    sh.disableBalancing("app.orders");
    expect(run("shardsh:drain", { args: ["--shard", "shard2"] }).errors).toContain("sh.enableBalancing");
  });
  it("goes on after the balancer was switched off on the way", { everyFault: false }, () => {
    cluster.onMigration("done", () => sh.stopBalancer());
    const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
    expect(r.exitCode).toBe(3);
    expect(r.errors).toContain("Shard shard2 may be marked as draining");
    expect(r.errors).toContain("sh.startBalancer()");
    sh.startBalancer();
    expect(run("shardsh:drain", { args: ["--shard", "shard2"] }).exitCode).toBe(0);
    expect(ids()).toEqual(["shard0", "shard1"]);
  });
  it("is finished by somebody else's crash and restart", { everyFault: false }, () => {
    cluster.onMigration("clone", () => cluster.crash("shard2"));
    cluster.onMigration("failed", () => cluster.restart("shard2"));
    run("shardsh:drain", { args: ["--shard", "shard2"] });
    run("shardsh:drain", { args: ["--shard", "shard2"] });
    expect(ids()).toEqual(["shard0", "shard1"]);
    expect(cluster).toHaveLostNothing();
  });
});

describe(
  "drain of a primary",
  { topology: { shards, databases: [{ name: "app", primary: "shard2" }], collections: [collection()] } },
  () => {
    before(() => db.getSiblingDB("app").small.insertMany([{ a: 1 }, { a: 2 }]));
    it("has to be asked for", { everyFault: false }, () => {
      const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
      expect(r.exitCode).toBe(1);
      expect(r.errors).toContain("--move-primaries");
    });
    it("moves databases and their collections", () => {
      const r = run("shardsh:drain", { args: ["--shard", "shard2", "--move-primaries"] });
      expect(r.exitCode).toBe(0);
      expect(ids()).toEqual(["shard0", "shard1"]);
      expect(db.getSiblingDB("app").small.countDocuments({})).toEqual(2);
      expect(cluster).toHaveLostNothing();
    });
  },
);

const jumbo = orders.map((c, i) => (i === 2 ? { ...c, jumbo: true } : c));
describe(
  "drain with a jumbo chunk, which servers since 8.2.6 leave",
  { serverVersion: "8.2.6", topology: { shards, databases, collections: [collection({ chunks: jumbo })] } },
  () => {
    it("says in a dry run that it would not end", { everyFault: false }, () => {
      const r = run("shardsh:drain", { args: ["--shard", "shard2", "--dry-run"] });
      expect(r.exitCode).toBe(3);
      expect(r.errors).toContain("It would not end by itself: shard shard2");
      expect(r.errors).toContain("forceJumbo: true");
      expect(sh.drainStatus("shard2").state).toBe("notDraining");
    });
    it("ends with 3 when only that is left, and goes on once it is moved", { everyFault: false }, () => {
      const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
      expect(r.exitCode).toBe(3);
      expect(r.errors).toContain("move 1 jumbo chunk by force");
      expect(ids().length).toBe(3);
      sh.moveRange("app.orders", "shard0", { k: 100 }, { k: 200 }, { forceJumbo: true });
      expect(run("shardsh:drain", { args: ["--shard", "shard2"] }).exitCode).toBe(0);
      expect(ids()).toEqual(["shard0", "shard1"]);
    });
    it("waits on where that is asked for", { everyFault: false }, () => {
      const r = run("shardsh:drain", { args: ["--shard", "shard2", "--keep-waiting", "--for", "20m"] });
      expect(r.exitCode).toBe(1);
      expect(r.errors).toContain("Waiting all the same");
      expect(r.errors).toContain("after 20m");
    });
  },
);

describe(
  "drain that is under way, of a primary",
  { topology: { shards, databases: [{ name: "app", primary: "shard2" }], collections: [collection()] } },
  () => {
    it("moves no database that it was not asked to move", { everyFault: false }, () => {
      sh.drain("shard2");
      expect(run("shardsh:drain", { args: ["--shard", "shard2", "--dry-run"] }).exitCode).toBe(3);
      const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
      expect(r.exitCode).toBe(3);
      expect(r.errors).toContain("--move-primaries");
      expect(db.getSiblingDB("config").databases.findOne({ _id: "app" }).primary).toBe("shard2");
      expect(run("shardsh:drain", { args: ["--shard", "shard2", "--move-primaries"] }).exitCode).toBe(0);
    });
  },
);

const zoned = [{ id: "shard0" }, { id: "shard1" }, { id: "shard2", zones: ["EU"] }];
const eu = { zones: [{ zone: "EU", min: { k: 100 }, max: { k: 200 } }] };
describe(
  "drain of a zone's only shard",
  { topology: { shards: zoned, databases, collections: [collection(eu)] } },
  () => {
    it("is refused", { everyFault: false }, () => {
      const r = run("shardsh:drain", { args: ["--shard", "shard2"] });
      expect(r.exitCode).toBe(1);
      expect(r.errors).toContain("no zone loses its only shard");
      expect(sh.drainStatus("shard2").state).toBe("notDraining");
    });
  },
);

describe(
  "remove-shard-checklist",
  { topology: { shards: zoned, databases: [{ name: "app", primary: "shard2" }], collections: [collection(eu)] } },
  () => {
    it("lists what is not so", () => {
      const r = run("shardsh:remove-shard-checklist", { args: ["--shard", "shard2", "--json"] });
      expect(r.exitCode).toBe(3);
      expect(r.json.checks.filter(c => c.ok === false).map(c => c.check)).toEqual([
        "no zone loses its only shard",
        "it is nobody's primary shard",
      ]);
    });
    it("is ready where all is so", { everyFault: false }, () => {
      sh.addShardToZone("shard1", "EU");
      sh.movePrimary("app", "shard1");
      const r = run("shardsh:remove-shard-checklist", { args: ["--shard", "shard2"] });
      expect(r.exitCode).toBe(0);
      expect(r.output).toContain("Ready: shardsh run drain");
    });
  },
);
