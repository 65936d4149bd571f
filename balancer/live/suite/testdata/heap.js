// A collection of twelve chunks with documents: eight on A, two on B and C each. The balancer and the auto-merger
// leave them alone.
sh.stopBalancer()
fresh()
if (since(7.0)) sh.disableAutoMerger(NS)
for (let k = 25; k < 300; k += 25) if (k % 100) sh.splitAt(NS, { k })
for (const k of [100, 125, 200, 225]) sh.moveChunk(NS, { k }, A, { _waitForDelete: true })
print("{}")
