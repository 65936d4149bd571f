package sh

import (
	"github.com/dop251/goja"

	"shardsh/balancer/action"
	"shardsh/balancer/heat"
	"shardsh/bindings/actiontext"
)

// shardHeatMethods returns the helpers that measure the load.
func shardHeatMethods() []helper {
	return []helper{
		{"heat", "ns?:string|object options?:object{for,back,by,top,sample,log}", shHeat,
			"Shows which shards, chunks and shard keys have how much of the load; {for: \"1m\"} is how long it counts, " +
				"{back: \"1h\"} how old samples may be, {by: \"reads\"|\"writes\"|\"mixed\", top: 10}; {sample: 50} samples 50 " +
				"queries a second meanwhile, " +
				"{log: [\"mongos.log\"]} goes by the slow queries of logs in place of samples."},
	}
}

// shHeat returns the load, which prints as the text of "shardsh heat".
func shHeat(c *call, sh *Helpers) goja.Value {
	names, at := c.namespacesArgument("heat")
	h := c.options("heat", at)
	logs := h.texts("log")
	for _, path := range logs {
		c.checkMayRead(path)
	}
	verb := action.Heat{Namespaces: names, CountDuration: h.duration("for", 0), Lookback: h.duration("back", 0),
		LoadKind: heat.LoadKind(h.text("by")), Top: int(h.count("top")), SamplesPerSecond: h.parseNumber("sample",
			"a number", nil), Logs: logs}
	result := runReadAction(c, sh, "heat", verb, names...)
	return c.host.printableObject(result, actiontext.Heat(result))
}
