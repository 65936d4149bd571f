describe("uuidhelpers", () => {
  it("finds what a driver for C# has stored, and only that", () => {
    db.c.insertOne({ _id: BinData(3, "MyIRAFVEd2aImaq7zN3u/w==") })
    const r = run("count_by_uuid.js", { args: ["{00112233-4455-6677-8899-aabbccddeeff}"] })
    expect(r.errors).toBe("")
    expect(r.output).toBe("0 0 1 0\n")
    expect(r.commands).toHaveLength(4)
  })
  it("sends nothing when it is loaded", () => {
    const r = run("uuidhelpers.js")
    expect(r.exitCode).toBe(0)
    expect(r.commands).toHaveLength(0)
  })
})
