// Scripts that look after chunks.
const doc = (from, n) => Array.from({ length: n }, (_, i) => ({ k: from + i }));
const shards = [{ id: "a" }, { id: "b" }, { id: "c" }];
const databases = [{ name: "app", primary: "a" }];
const of = (chunks, more = {}) => ({
  shards,
  databases,
  collections: [{ ns: "app.orders", key: { k: 1 }, chunks, ...more }],
});
const bounds = () =>
  sh
    .chunks("app.orders")
    .toArray()
    .map(c => [c.min.k, c.shard]);
const count = () => db.getSiblingDB("app").orders.countDocuments({});

describe(
  "merge-empty",
  {
    topology: {
      ...of([
        { shard: "a", max: { k: 0 } },
        { shard: "a", max: { k: 10 } },
        { shard: "a", max: { k: 20 } },
        { shard: "b", max: { k: 30 } },
        { shard: "b", max: { k: 40 } },
        { shard: "c" },
      ]),
      settings: { balancer: { mode: "off" } },
    },
  },
  () => {
    before(() => db.getSiblingDB("app").orders.insertMany([...doc(12, 5), ...doc(50, 5)]));
    it("merges with neighbours on the shard", () => {
      const r = run("shardsh:merge-empty", { args: ["--ns", "app.orders"] });
      expect(r.exitCode).toBe(0);
      expect(bounds()).toEqual([
        [MinKey(), "a"],
        [20, "b"],
        [40, "c"],
      ]);
      expect(count()).toEqual(10);
    });
    it("moves empty chunks to neighbours", () => {
      const r = run("shardsh:merge-empty", { args: ["--ns", "app.orders", "--move"] });
      expect(r.exitCode).toBe(0);
      expect(bounds().length).toBe(2);
      expect(cluster).toHaveLostNothing();
    });
    it("keeps zones apart", { everyFault: false }, () => {
      sh.addShardToZone("a", "EU");
      sh.updateZoneKeyRange("app.orders", { k: 0 }, { k: 10 }, "EU");
      const r = run("shardsh:merge-empty", { args: ["--ns", "app.orders", "--json"] });
      expect(r.json.merged).toBe(1);
      expect(bounds().map(b => b[0])).toEqual([MinKey(), 0, 10, 20, 40]);
    });
    it("changes nothing in a dry run", { everyFault: false }, () => {
      expect(run("shardsh:merge-empty", { args: ["--ns", "app.orders", "--dry-run"] }).output).toContain(
        "would merge 3 chunks",
      );
      expect(bounds().length).toBe(6);
    });
    it("refuses a collection that is empty altogether", { everyFault: false }, () => {
      db.getSiblingDB("app").orders.deleteMany({});
      expect(run("shardsh:merge-empty", { args: ["--ns", "app.orders"] }).errors).toContain("--all-empty");
    });
  },
);

const big = { bytes: "300MB", docs: 300 };
describe(
  "jumbo",
  {
    topology: of([
      { shard: "a", max: { k: 0 }, jumbo: true },
      { shard: "a", max: { k: 1000 }, jumbo: true, ...big },
      { shard: "b" },
    ]),
  },
  () => {
    before(() => db.getSiblingDB("app").orders.insertMany(doc(100, 200)));
    it("clears what is small, and splits what is not", () => {
      const r = run("shardsh:jumbo", { args: ["--ns", "app.orders"] });
      expect(r.exitCode).toBe(0);
      expect(sh.chunks("app.orders", { jumbo: true }).itcount()).toEqual(0);
      expect(bounds().length).toBeGreaterThanOrEqual(4); // 5.0 has smaller chunks
      expect(count()).toEqual(200);
      expect(cluster).toHaveLostNothing();
    });
    it("changes nothing in a dry run", { everyFault: false }, () => {
      const r = run("shardsh:jumbo", { args: ["--dry-run"] });
      expect(r.output).toContain("would clear the flag of the chunk of app.orders");
      expect(sh.chunks("app.orders", { jumbo: true }).itcount()).toEqual(2);
    });
  },
);

describe(
  "jumbo with one key",
  { topology: of([{ shard: "a", max: { k: 7 } }, { shard: "a", max: { k: 8 }, jumbo: true, ...big }, { shard: "b" }]) },
  () => {
    before(() =>
      db.getSiblingDB("app").orders.insertMany([
        { k: 7, a: 1 },
        { k: 7, a: 2 },
      ]),
    );
    it("says that only the key helps", { everyFault: false }, () => {
      const r = run("shardsh:jumbo", {});
      expect(r.exitCode).toBe(3);
      expect(r.output).toContain("--refine KEY");
    });
    it("refines the key", () => {
      const r = run("shardsh:jumbo", { args: ["--ns", "app.orders", "--refine", '{"k": 1, "a": 1}'] });
      expect(r.exitCode).toBe(0);
      expect(db.getSiblingDB("config").collections.findOne({ _id: "app.orders" }).key).toEqual({ k: 1, a: 1 });
      expect(cluster).toBeConsistent();
    });
    it("refuses a key that begins otherwise", { everyFault: false }, () => {
      expect(run("shardsh:jumbo", { args: ["--ns", "app.orders", "--refine", '{"a": 1}'] }).errors).toContain(
        "does not begin with",
      );
    });
  },
);

describe("move-hot", { topology: of([{ shard: "a", max: { k: 100 } }, { shard: "b" }]) }, () => {
  before(() => db.getSiblingDB("app").orders.insertMany(doc(0, 50)));
  it("moves a key to a shard", () => {
    const r = run("shardsh:move-hot", { args: ["--ns", "app.orders", "--key", '{"k": 7}', "--to", "c"] });
    expect(r.exitCode).toBe(0);
    expect(bounds().filter(b => b[1] === "c")).toEqual([[7, "c"]]);
    expect(count()).toEqual(50);
    expect(cluster).toHaveLostNothing();
  });
  it("says so when it is there", { everyFault: false }, () => {
    expect(
      run("shardsh:move-hot", { args: ["--ns", "app.orders", "--key", '{"k": 7}', "--to", "a"] }).output,
    ).toContain("already");
  });
  it("refuses a shard outside of the zone", { everyFault: false }, () => {
    sh.addShardToZone("b", "EU");
    sh.updateZoneKeyRange("app.orders", { k: 0 }, { k: 100 }, "EU");
    const args = ["--ns", "app.orders", "--key", '{"k": 7}', "--to", "c"];
    expect(run("shardsh:move-hot", { args }).errors).toContain("c is not in zone EU");
  });
  it("refuses what is not a key", { everyFault: false }, () => {
    expect(run("shardsh:move-hot", { args: ["--ns", "app.orders", "--key", '{"x": 7}'] }).errors).toContain(
      "not a value of the shard key",
    );
  });
  it("evens out load with the engine", { everyFault: false }, () => {
    const r = run("shardsh:move-hot", { args: ["--ns", "app.orders", "--measure", "5s"] });
    expect(r.exitCode).toBe(0);
    expect(r.output).toContain("0 moves of 0 B");
  });
});

describe("presplit", { topology: { shards, databases } }, () => {
  const sample = "sample.tmp.jsonl";
  beforeEach(() =>
    fs.writeFileSync(
      sample,
      doc(0, 60)
        .map(d => JSON.stringify(d))
        .join("\n"),
    ),
  );
  afterEach(() => fs.unlinkSync(sample));
  const args = ["--ns", "app.load", "--key", '{"k": 1}', "--sample", sample, "--per-shard", "2"];
  const chunks = () => sh.chunks("app.load").toArray();
  it("cuts a sample into even parts and spreads them", () => {
    const r = run("shardsh:presplit", { args });
    expect(r.exitCode).toBe(0);
    expect(
      chunks()
        .slice(1)
        .map(c => c.min.k),
    ).toEqual([10, 20, 30, 40, 50]);
    for (const id of ["a", "b", "c"]) expect(chunks().filter(c => c.shard === id).length).toBe(2);
    expect(db.getSiblingDB("config").collections.findOne({ _id: "app.load" }).noBalance).not.toBe(true);
  });
  it("does nothing twice", { everyFault: false }, () => {
    run("shardsh:presplit", { args });
    expect(run("shardsh:presplit", { args }).output).toContain("cut and spread so already");
  });
  it("takes a hashed key", { everyFault: false }, () => {
    const r = run("shardsh:presplit", { args: ["--ns", "app.load", "--key", '{"k": "hashed"}', "--hashed"] });
    expect(r.exitCode).toBe(0);
    expect(run("shardsh:presplit", { args: ["--ns", "app.load", "--hashed"] }).output).toContain("already");
  });
  it("changes nothing in a dry run", { everyFault: false }, () => {
    expect(run("shardsh:presplit", { args: [...args, "--dry-run"] }).output).toContain("would shard app.load");
    expect(db.getSiblingDB("config").collections.countDocuments({ _id: "app.load" })).toEqual(0);
  });
  it("refuses a collection with documents", { everyFault: false }, () => {
    db.getSiblingDB("app").load.insertOne({ k: 1 });
    expect(run("shardsh:presplit", { args }).errors).toContain("--with-data");
  });
});

const small = Array.from({ length: 24 }, (_, i) => ({
  shard: "abc"[Math.floor(i / 8)],
  bytes: "1MB",
  docs: 1000,
  ...(i < 23 ? { max: { k: 1000 * i } } : {}),
}));
describe("defragment-worst", { topology: of(small) }, () => {
  it("merges the chunks of the worst", () => {
    const r = run("shardsh:defragment-worst", { args: [] });
    expect(r.exitCode).toBe(0);
    expect(bounds().length).toBeLessThan(24);
    expect(cluster).toHaveLostNothing();
    expect(cluster).toBeConsistent();
  });
  it("changes nothing in a dry run", { everyFault: false }, () => {
    expect(run("shardsh:defragment-worst", { args: ["--dry-run"] }).output).toContain("would defragment app.orders");
    expect(bounds().length).toBe(24);
  });
  it("waits for its window", { everyFault: false }, () => {
    const hour = () => new Date().getUTCHours();
    const from = (hour() + 2) % 24;
    const two = n => String(n % 24).padStart(2, "0");
    const r = run("shardsh:defragment-worst", { args: ["--window", `${two(from)}:00-${two(from + 3)}:00`] });
    expect(r.exitCode).toBe(0);
    expect(hour()).toBeGreaterThanOrEqual(from);
    expect(r.errors).toContain("waiting until the window opens");
  });
  it("leaves collections alone that nothing may move", { everyFault: false }, () => {
    sh.disableBalancing("app.orders");
    expect(run("shardsh:defragment-worst", { args: ["--json"] }).json.collections).toEqual([]);
  });
});

// Servers before 7.0 give it 1,024 chunks, and want it so.
describe("defragment-worst beside the sessions collection", { serverVersion: "4.4", topology: of(small) }, () => {
  it("leaves the chunks that the servers made", { everyFault: false }, () => {
    sleep("10m");
    expect(sh.chunks("config.system.sessions").itcount()).toBe(1024);
    const r = run("shardsh:defragment-worst", { args: ["--dry-run"] });
    expect(r.output).not.toContain("system.sessions");
    expect(run("shardsh:defragment-worst", { args: ["--dry-run", "--window", "22:00-22:00"] }).exitCode).toBe(2);
  });
});
