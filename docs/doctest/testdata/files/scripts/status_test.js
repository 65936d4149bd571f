it("tells how the cluster is", () => {
  expect(run("status.js").exitCode).toBe(0);
});
