describe("drain.js", { shards: 4 }, () => {
  it("begins", () => {
    expect(run("drain.js").output).toBe("shard3 is draining\n");
  });

  it("says so when a shard crashes", () => {
    cluster.crash("shard3");
    run("drain.js");
    cluster.restart();
    expect(cluster).toHaveLostNothing();
  });
});
