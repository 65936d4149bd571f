package sh

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/plan"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

const cutOptionNames = "chunks,perShard,points,fromSample,like"

// shardPresplitMethods returns the helpers that split a collection before data is inserted.
func shardPresplitMethods() []helper {
	return []helper{
		{
			"presplit",
			"ns:string|object options:object{" + cutOptionNames + ",progress," + runOptionNames + "}",
			withMongosWarning(shPresplit),
			"Pre-splits a collection and spreads its chunks evenly over the shards, by plan, like sh.apply(): {chunks} or " +
				"{perShard} for a hashed key, {points: [documents]}, {fromSample: chunks}, or {like: file or database}: " +
				"as another cluster has it; {pauseBalancing, forceJumbo, parallel, " +
				"journal, resume, dryRun, preflight, despite, advisories, maxMoves, maxBytes, for, pauseBetween, window, " +
				"timeZone, pauseWhen, diskLimit, progress}.",
		},
	}
}

func shPresplit(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	h := c.options("presplit", 1)
	cuts := c.presplitMethod(h, ns)
	return c.runPlanAction(sh, h, []string{ns}, func(e action.RunOptions) planAction {
		return action.Presplit{PresplitMethod: cuts, RunOptions: e}
	})
}

// presplitOption parses {presplit: {chunks, perShard, fromSample, points}}; nil when the goal is
// another one.
func (c *call) presplitOption(h helperOptions, names []string) *action.PresplitMethod {
	goal, _ := h.value("goal").(*goja.Object)
	if script.Property(goal, string(plan.Presplit)) == nil {
		return nil
	}
	h.helper, h.object = "plan.presplit", c.JS.Runtime.ToValue(goal.Get(string(plan.Presplit))).ToObject(c.JS.Runtime)
	known := strings.Split(cutOptionNames, ",")
	for _, name := range h.object.Keys() {
		if !slices.Contains(known, name) {
			c.JS.ThrowInvalid("the goal presplit has no option %s (options: %s)%s", name, strings.Join(known, ", "),
				plaintext.DidYouMean(name, known))
		}
	}
	if len(names) != 1 {
		c.JS.ThrowInvalid("the goal presplit is for one collection")
	}
	p := c.presplitMethod(h, names[0])
	return &p
}

// presplitMethod returns the options for the split points of a collection.
func (c *call) presplitMethod(h helperOptions, ns string) action.PresplitMethod {
	p := action.PresplitMethod{
		Namespace: ns, Chunks: int(h.count("chunks")), ChunksPerShard: int(h.count("perShard")),
		ChunksFromSample: int(h.count("fromSample")),
	}
	if list, ok := h.value("points").(*goja.Object); ok {
		for _, i := range list.Keys() {
			p.Points = append(p.Points, c.JS.Document(list.Get(i)))
		}
	}
	p.ReadTemplate = c.likeOption(h, ns)
	return p
}

// likeOption returns a reader for the layout to copy: that in a file, or that of another cluster's
// database.
func (c *call) likeOption(h helperOptions, ns string) func(context.Context) (*catalog.Snapshot, error) {
	v := h.value("like")
	if v == nil {
		return nil
	}
	if d, ok := script.Receiver[Database](v); ok {
		conn := d.ServerDatabase().Conn
		return action.NewTemplateReader(conn.Client, conn.Address, ns)
	}
	if !goja.IsString(v) || strings.Contains(v.String(), "://") {
		h.throwWrongOption(
			"like",
			`the name of a file, or a database such as connect("mongodb://other/app")`,
			c.host.Display.Inspect(v),
		)
	}
	path := v.String()
	c.checkMayRead(path)
	return func(context.Context) (*catalog.Snapshot, error) {
		s, err := snapfile.Open(path, snapfile.Limits{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return s, nil
	}
}
