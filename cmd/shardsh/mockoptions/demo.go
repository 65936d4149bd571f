package mockoptions

import (
	"encoding/json"
	"fmt"

	"shardsh/balancer/mock"
)

// Demo returns the topology of a cluster with work for the balancer: collections with virtual data
// whose chunks are nearly all on the first shard, one of them with a jumbo chunk.
func Demo(shards int) *mock.Topology {
	t := mock.DefaultTopology(shards)
	for i, ns := range []string{"shop.orders", "shop.customers", "logs.events"} {
		c := mock.TopologyCollection{Namespace: ns, Key: json.RawMessage(`{"_id": 1}`)}
		chunks := 24 << i
		for n := range chunks {
			chunk := mock.TopologyChunk{
				Shard: t.Shards[n*n%7%min(shards, 1+n%5)].ID, Docs: 100_000, Jumbo: i == 0 && n == 5,
				Bytes: json.RawMessage(fmt.Sprint((64 + n*37%128) << 20)),
			}
			if n < chunks-1 {
				chunk.Max = json.RawMessage(fmt.Sprintf(`{"_id": %d}`, (n+1)*100_000))
			}
			c.Chunks = append(c.Chunks, chunk)
		}
		t.Collections = append(t.Collections, c)
	}
	return t
}
