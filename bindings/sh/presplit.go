package sh

import (
	"slices"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/plan"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// presplitOption reads {presplit: {chunks, perShard, fromSample, points}}; nil when the
// goal is another one.
func (c *call) presplitOption(h helperOptions, names []string) *action.Cuts {
	goal, _ := h.get("goal").(*goja.Object)
	if script.Property(goal, string(plan.Presplit)) == nil {
		return nil
	}
	h.helper, h.o = "plan.presplit", c.JS.Runtime.ToValue(goal.Get(string(plan.Presplit))).ToObject(c.JS.Runtime)
	known := []string{"chunks", "perShard", "fromSample", "points"}
	for _, name := range h.o.Keys() {
		if !slices.Contains(known, name) {
			c.JS.ThrowInvalid("the goal presplit has no %s (it knows %s)%s", name, strings.Join(known, ", "),
				plaintext.DidYouMean(name, known))
		}
	}
	if len(names) != 1 {
		c.JS.ThrowInvalid("the goal presplit is for one collection")
	}
	p := &action.Cuts{
		Namespace: names[0], Chunks: int(h.count("chunks")), PerShard: int(h.count("perShard")),
		FromSample: int(h.count("fromSample")),
	}
	if list, is := h.get("points").(*goja.Object); is {
		for _, i := range list.Keys() {
			p.Points = append(p.Points, c.JS.Document(list.Get(i)))
		}
	}
	if err := p.Validate(); err != nil {
		c.JS.ThrowInvalid("%s", err)
	}
	return p
}
