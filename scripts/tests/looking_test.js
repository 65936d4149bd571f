// Scripts that look, and the one that keeps the balancer quiet.
const shards = [{ id: "a" }, { id: "b" }, { id: "c" }];
const topology = {
  shards,
  databases: [{ name: "app", primary: "a" }],
  collections: [{ ns: "app.orders", key: { k: 1 }, chunks: [{ shard: "a", max: { k: 100 } }, { shard: "b" }] }],
};
const window = () => (db.getSiblingDB("config").settings.findOne({ _id: "balancer" }) || {}).activeWindow || null;
const begin = ["--for", "2h"];

describe("maintenance", { topology }, () => {
  it("closes the window, which opens by itself", () => {
    const r = run("shardsh:maintenance", { args: begin });
    expect(r.exitCode).toBe(0);
    expect(window()).not.toBe(null);
    const opens = new Date(db.getSiblingDB("shardsh").maintenance.findOne().until);
    expect(window().start).toBe(opens.toISOString().slice(11, 16));
    expect(opens - new Date()).toBeGreaterThan(1.8 * 3600e3);
    expect(sh.getBalancerState()).toBe(true);
    expect(new Date(sh.pause({ show: true }).until) - opens).toBeGreaterThan(-60e3);
  });
  it("has nothing moved before, and all after", { everyFault: false }, () => {
    run("shardsh:maintenance", { args: begin });
    const many = Array.from({ length: 400 }, (_, i) => ({ k: i / 10, text: "x".repeat(8192) }));
    db.getSiblingDB("app").orders.insertMany(many);
    sh.chunkSize(1);
    mock.advance("1h");
    const moves = () => db.getSiblingDB("config").changelog.countDocuments({ what: "moveChunk.commit" });
    expect(moves()).toEqual(0);
    mock.advance("2h");
    expect(moves()).toBeGreaterThan(0);
  });
  it("puts the own window back", () => {
    sh.balancerWindow("00:00", "12:00");
    const own = window();
    run("shardsh:maintenance", { args: begin });
    expect(window()).not.toEqual(own);
    const r = run("shardsh:maintenance", { args: ["--end"] });
    expect(r.exitCode).toBe(0);
    expect(window()).toEqual(own);
    expect(db.getSiblingDB("shardsh").maintenance.countDocuments({})).toEqual(0);
    expect(sh.pause({ show: true }).paused).toBe(false);
  });
  it("keeps the first own window when it is made longer", { everyFault: false }, () => {
    run("shardsh:maintenance", { args: begin });
    run("shardsh:maintenance", { args: ["--for", "4h"] });
    run("shardsh:maintenance", { args: ["--end"] });
    expect(window()).toBe(null);
  });
  it("belongs to the own window", { everyFault: false }, () => {
    // Time begins at midnight UTC: the window is open for six hours, and 2 hours of it go.
    const h = new Date().getUTCHours();
    const two = n => String((n + 24) % 24).padStart(2, "0") + ":00";
    sh.balancerWindow(two(h - 2), two(h + 6));
    run("shardsh:maintenance", { args: begin });
    expect(window().stop).toBe(two(h + 6));
    run("shardsh:maintenance", { args: ["--end"] });
    sh.balancerWindow(two(h + 4), two(h + 5)); // closed all the time
    expect(run("shardsh:maintenance", { args: begin }).output).toContain("nothing has to be set");
    sh.balancerWindow(two(h + 1), two(h + 2));
    expect(run("shardsh:maintenance", { args: ["--for", "5h"] }).errors).toContain(
      "longer than the balancer's whole window",
    );
    expect(window().start).toBe(two(h + 1));
  });
  it("puts it back after --stay", { everyFault: false }, () => {
    const r = run("shardsh:maintenance", { args: [...begin, "--stay"] });
    expect(r.exitCode).toBe(0);
    expect(window()).toBe(null);
  });
  it("leaves a balancer that is off alone", { everyFault: false }, () => {
    sh.stopBalancer();
    expect(run("shardsh:maintenance", { args: begin }).output).toContain("The balancer is off, and stays so");
    expect(window()).toBe(null);
  });
  it("leaves the window of somebody else alone", { everyFault: false }, () => {
    run("shardsh:maintenance", { args: begin });
    sh.balancerWindow("03:00", "04:00");
    expect(run("shardsh:maintenance", { args: ["--end"] }).output).toContain("left alone");
    expect(window()).toEqual({ start: "03:00", stop: "04:00" });
  });
  it("changes nothing in a dry run", { everyFault: false }, () => {
    expect(run("shardsh:maintenance", { args: [...begin, "--dry-run"] }).output).toContain(
      "would let the balancer work",
    );
    expect(window()).toBe(null);
  });
});

describe("audit", { topology }, () => {
  it("finds nothing on a good cluster", () => {
    const r = run("shardsh:audit", { args: ["--json"] });
    expect(r.exitCode).toBe(0);
    expect(r.json.findings).toEqual([]);
  });
  it("finds what is not as recommended", { everyFault: false }, () => {
    sh.stopBalancer();
    sh.balancerWindow("03:00", "04:00");
    sh.disableBalancing("app.orders");
    sh.chunkSize(1);
    const r = run("shardsh:audit", { args: ["--json"] });
    expect(r.exitCode).toBe(3);
    const rules = ["balancerOff", "window", "chunkSize", "balancingOff"];
    if (Number(db.version().split(".")[0]) >= 7)
      rules.push("autoMerger"); // the command switches both
    else rules.push("autoSplit");
    expect(r.json.findings.map(f => f.rule)).toEqual(rules);
    expect(
      run("shardsh:audit", {
        args: ["--json", "--skip", "balancerOff,window,chunkSize,balancingOff,autoMerger,autoSplit"],
      }).exitCode,
    ).toBe(0);
  });
});

describe("orphans", { shards: 3 }, () => {
  before(() => {
    sh.stopBalancer(); // that of 5.0 counts chunks, and would be in the way
    sh.enableSharding("app", "shard0");
    sh.shardCollection("app.orders", { k: 1 });
    sh.splitAt("app.orders", { k: 100 });
    db.getSiblingDB("app").orders.insertMany(Array.from({ length: 20 }, (_, i) => ({ k: i })));
    sh.moveChunk("app.orders", { k: 5 }, "shard2");
  });
  it("reports them and waits until they are gone", () => {
    const args = [...(db.version().startsWith("5") ? ["--count"] : []), "--wait", "--json"];
    const r = run("shardsh:orphans", { args });
    expect(r.exitCode).toBe(0);
    expect(r.json.orphans).toEqual([]);
    expect(db.getSiblingDB("app").orders.countDocuments({})).toEqual(20);
  });
  it("exits with 3 where there are some", { everyFault: false }, () => {
    const args = db.version().startsWith("5") ? ["--count", "--json"] : ["--json"];
    const r = run("shardsh:orphans", { args });
    expect(r.exitCode).toBe(3);
    expect(r.json.orphans[0].orphans).toBe(20);
  });
  it("refuses to clean shards that it can't reach", { everyFault: false }, () => {
    const args = db.version().startsWith("5") ? ["--count", "--clean"] : ["--clean"];
    const r = run("shardsh:orphans", {
      args: [...args, "--connect=mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=20"],
    });
    expect(r.exitCode).toBe(1);
    expect(r.errors).toContain("--connect says how");
  });
});

describe("reshard-check", { topology }, () => {
  const queries = "queries.tmp.jsonl";
  before(() =>
    db.getSiblingDB("app").orders.insertMany(Array.from({ length: 200 }, (_, i) => ({ k: i, c: i, s: i % 2 }))),
  );
  beforeEach(() => fs.writeFileSync(queries, '{"c": 1}\n{"k": 5}\n{"c": {"$gt": 7}}\n{"$and": [{"k": 1}, {"s": 1}]}'));
  afterEach(() => fs.unlinkSync(queries));
  const failing = r => r.json.checks.filter(c => c.ok === false).map(c => c.check);
  it("judges a good key", () => {
    db.getSiblingDB("app").orders.createIndex({ c: 1 });
    const r = run("shardsh:reshard-check", { args: ["--ns", "app.orders", "--key", '{"c": 1}', "--json"] });
    expect(r.exitCode).toBe(0);
    expect(failing(r)).toEqual([]);
  });
  it("tells which queries lose and win", { everyFault: false }, () => {
    const args = ["--ns", "app.orders", "--key", '{"c": 1}', "--queries", queries, "--json"];
    const { json } = run("shardsh:reshard-check", { args });
    expect(json.lose).toEqual([{ k: 5 }, { $and: [{ k: 1 }, { s: 1 }] }]);
    expect(json.win).toEqual([{ c: 1 }, { c: { $gt: 7 } }]);
  });
  it("finds what is wrong with a bad one", { everyFault: false }, () => {
    db.getSiblingDB("app").orders.createIndex({ k: 1, c: 1 }, { unique: true });
    const r = run("shardsh:reshard-check", { args: ["--ns", "app.orders", "--key", '{"s": 1}', "--json"] });
    expect(r.exitCode).toBe(3);
    expect(failing(r)).toContain("the unique index k_1_c_1 begins with the key");
    expect(failing(r)).toContain("there are values enough");
    expect(failing(r)).toContain("no value has too much");
    const none = run("shardsh:reshard-check", { args: ["--ns", "app.orders", "--key", '{"z": 1}', "--json"] });
    expect(failing(none)).toContain("documents have the fields");
  });
});

describe("compare", { topology }, () => {
  it("says what is not a snapshot", { everyFault: false }, () => {
    const r = run("shardsh:compare", { args: ["none.snap"] });
    expect(r.exitCode).toBe(1);
    expect(r.errors).toContain("none.snap");
    expect(run("shardsh:compare", {}).exitCode).toBe(2);
  });
});

describe("quickstart, status and roles", { shards: 3 }, () => {
  it("quickstart puts back what it switched", () => {
    if (db.version().startsWith("5")) {
      expect(run("shardsh:quickstart").errors).toContain("needs 6.0");
      return;
    }
    sh.stopBalancer();
    const r = run("shardsh:quickstart");
    expect(r.exitCode).toBe(0);
    expect(sh.getBalancerState()).toBe(false);
    expect(db.adminCommand({ listDatabases: 1 }).databases.map(d => d.name)).not.toContain("shardsh_quickstart");
  });
  it("status exits with 1 where something is not balanced", () => {
    const r = run("shardsh:status", { args: ["--json"] });
    expect(r.exitCode).toBe(0);
    expect(r.json.mode).toBe("full");
  });
  it("roles makes roles, and brings them up to date", () => {
    expect(run("shardsh:roles").exitCode).toBe(0);
    expect(run("shardsh:roles").output).toContain("shardshEngine: brought up to date");
    expect(db.getSiblingDB("admin").getRole("shardshLook")).not.toBe(null);
  });
});
