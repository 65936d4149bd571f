const topology = {
  shards: [{ id: "a" }, { id: "b" }, { id: "c" }],
  databases: [{ name: "app", primary: "a" }],
  collections: [
    { ns: "app.orders", key: { k: 1 }, chunks: [{ shard: "a", max: { k: 300 } }, { shard: "b" }] },
    { ns: "app.hashed", key: { k: "hashed" } },
  ],
};
const file = "zones.tmp.json";
const ranges = ns => sh.zones(ns).flatMap(z => z.ranges.map(r => [z.zone, r.min.k, r.max.k]));

describe("even-zones", { topology }, () => {
  before(() => db.getSiblingDB("app").orders.insertMany(Array.from({ length: 300 }, (_, i) => ({ k: i }))));
  const two = ["--ns", "app.orders", "--zone", "X=a,b", "--zone", "Y=c"];
  it("cuts by shares of the data and waits", () => {
    const r = run("shardsh:even-zones", { args: [...two, "--samples", "300", "--wait"] });
    expect(r.exitCode).toBe(0);
    const [[, , cut], [zone, from]] = ranges("app.orders");
    expect([zone, from]).toEqual(["Y", cut]);
    expect(cut).toBeGreaterThan(120); // two of three shards: 200, by a sample
    expect(cut).toBeLessThan(280);
    expect(sh.listShards().map(s => s.tags)).toEqual([["X"], ["X"], ["Y"]]);
    expect(cluster).toHaveLostNothing();
  });
  it("does nothing twice", { everyFault: false }, () => {
    run("shardsh:even-zones", { args: two });
    const before = ranges("app.orders");
    expect(run("shardsh:even-zones", { args: two }).output).toContain("The zones are so already.");
    expect(ranges("app.orders")).toEqual(before);
  });
  it("takes a hashed key", () => {
    const r = run("shardsh:even-zones", { args: ["--ns", "app.hashed", "--zone", "X=a", "--zone", "Y=b"] });
    expect(r.exitCode).toBe(0);
    expect(String(ranges("app.hashed")[0][2])).toBe("0");
  });
  it("changes nothing in a dry run", { everyFault: false }, () => {
    expect(run("shardsh:even-zones", { args: [...two, "--dry-run"] }).output).toContain(
      "would put shard a into zone X",
    );
    expect(ranges("app.orders")).toEqual([]);
  });
  it("refuses ranges of other zones", { everyFault: false }, () => {
    sh.addShardToZone("a", "Z");
    sh.updateZoneKeyRange("app.orders", { k: 0 }, { k: 9 }, "Z");
    const r = run("shardsh:even-zones", { args: two });
    expect(r.exitCode).toBe(1);
    expect(r.errors).toContain("--replace");
    expect(run("shardsh:even-zones", { args: [...two, "--replace"] }).exitCode).toBe(0);
    expect(ranges("app.orders").map(r => r[0])).toEqual(["X", "Y"]);
  });
});

describe("zones-from-file", { topology }, () => {
  beforeEach(() => {
    const wanted = {
      shards: { a: ["EU"], c: ["US"] },
      ranges: [
        { ns: "app.orders", zone: "EU", min: { k: 0 }, max: { k: 100 } },
        { ns: "app.orders", zone: "US", min: { k: 100 }, max: { k: 200 } },
      ],
    };
    fs.writeFileSync(file, JSON.stringify(wanted));
  });
  afterEach(() => fs.unlinkSync(file));
  const wanted = [
    ["EU", 0, 100],
    ["US", 100, 200],
  ];
  it("brings zones to what a file says", () => {
    const r = run("shardsh:zones-from-file", { args: ["--file", file, "--wait"] });
    expect(r.exitCode).toBe(0);
    expect(ranges("app.orders")).toEqual(wanted);
    expect(cluster).toBeBalanced("app.orders");
  });
  it("removes others with --prune", () => {
    sh.addShardToZone("a", "old");
    sh.updateZoneKeyRange("app.orders", { k: 500 }, { k: 600 }, "old");
    const r = run("shardsh:zones-from-file", { args: ["--file", file, "--prune"] });
    expect(r.exitCode).toBe(0);
    expect(ranges("app.orders")).toEqual(wanted);
    expect(sh.listShards()[0].tags).toEqual(["EU"]);
  });
  it("refuses what overlaps, and leaves it alone", { everyFault: false }, () => {
    sh.addShardToZone("b", "old");
    sh.updateZoneKeyRange("app.orders", { k: 50 }, { k: 150 }, "old");
    const r = run("shardsh:zones-from-file", { args: ["--file", file] });
    expect(r.exitCode).toBe(1);
    expect(ranges("app.orders")).toEqual([["old", 50, 150]]);
  });
  it("refuses a file with mistakes", { everyFault: false }, () => {
    for (const [text, why] of [
      ['{"shards": {"d": ["EU"]}}', "no shard d"],
      ['{"ranges": [{"ns": "app.orders", "zone": "EU", "min": {"x": 1}, "max": {"x": 2}}]}', "whose shard key is"],
      ['{"ranges": [{"ns": "app.none", "zone": "EU", "min": {"x": 1}, "max": {"x": 2}}]}', "not a sharded collection"],
      ['{"ranges": [{"ns": "app.orders", "zone": "NO", "min": {"k": 1}, "max": {"k": 2}}]}', "no shard is in zone NO"],
      ['{"ranges": [{"ns": "app.orders", "zone": "NO", "min": {"k": 2}, "max": {"k": 1}}]}', "ends before it begins"],
      ['{"zones": 1}', "it may have shards and ranges"],
    ]) {
      fs.writeFileSync(file, text);
      const r = run("shardsh:zones-from-file", { args: ["--file", file] });
      expect(r.exitCode).toBe(1);
      expect(r.errors).toContain(why);
    }
  });
});
