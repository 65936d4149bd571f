package sh

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/bindings/script"
)

// shardSnapshotMethods returns the helpers that read the whole cluster.
func shardSnapshotMethods() []helper {
	return []helper{
		{"snapshot", "file?:string", shSnapshot,
			"Returns the state of the cluster at one moment, or that in a file of \"shardsh snapshot\": " +
				"{source, time, version, settings, shards, databases, collections, tags}."},
	}
}

// shSnapshot returns a snapshot for scripts, without chunks.
func shSnapshot(c *call, sh *Helpers) goja.Value {
	var s *catalog.Snapshot
	if c.Has(0) {
		s = c.readSnapshotFile(c.Text(0))
	} else {
		s = sh.readSnapshot(live.ReaderOptions{Parts: live.BalancerParts | live.BalanceStatuses | live.Drains})
	}
	parts := s.Parts()
	collections := report.CollectionsOf(s)
	o := c.JS.NewObject("source", parts.Source.Name, "time", c.host.timeOrNull(parts.Time), "version", parts.Version)
	for name, list := range map[string]any{
		"shards": report.ShardsOf(s, collections), "collections": collections, "databases": databasesOf(parts.Databases),
	} {
		script.Must(o.Set(name, c.host.jsonFormObject(list)))
	}
	keepSnapshot(c, o, s)
	for _, name := range []string{"settings", "tags"} {
		script.Must(o.Set(name, c.JS.DocumentArray(parts.Config[name])))
	}
	return o
}

func databasesOf(list []catalog.Database) []bson.M {
	documents := make([]bson.M, len(list))
	for i, d := range list {
		documents[i] = bson.M{"name": d.Name, "primary": d.Primary}
	}
	return documents
}

// readSnapshot reads the whole cluster, including routing tables, for questions about chunks, plans and
// forecasts. It throws errors; parts that could not be read are gaps of the Snapshot's source.
func (h *Helpers) readSnapshot(o live.ReaderOptions) *catalog.Snapshot {
	s, err := h.source().Read(h.host.JS.Context(), o)
	if err != nil {
		h.host.Gateway.Throw(err)
	}
	return s
}
