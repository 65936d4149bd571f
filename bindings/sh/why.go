package sh

import (
	"encoding/json"
	"errors"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// shardWhyMethods returns the helpers that explain problems and their causes.
func shardWhyMethods() []helper {
	const signature = "ns?:string|object{shard,zone,timeZone,advisories} key?:object"
	return []helper{
		{"why", signature, shWhy,
			"Explains what is wrong, its causes, and what to do: for the cluster, a collection, {shard} or " +
				"{zone}; with a key, of one chunk."},
		{"explain", signature, shWhy, "Another name of why."},
	}
}

// shWhy returns the answer as an object, which prints as the text of "shardsh why".
func shWhy(c *call, sh *Helpers) goja.Value {
	verb := c.scopeArgument()
	if c.Has(1) && !goja.IsNull(c.Arg(1)) {
		verb.Key = c.JS.Document(c.Arg(1))
	}
	result := runReadAction(c, sh, "why", verb)
	return c.host.printableWithFullText(result, func(long bool) string { return actiontext.Why(result, long) })
}

// scopeArgument returns the scope of the question: nothing, a collection, or an object that names a
// shard or a zone.
func (c *call) scopeArgument() action.Why {
	v := c.Arg(0)
	switch {
	case !c.Has(0), goja.IsNull(v):
		return action.Why{}
	case goja.IsString(v), isCollection(v):
		if ns := c.namespaceArgument(0); ns != "" {
			return action.Why{Namespace: ns}
		}
		c.ThrowArgument("Shard.why", "ns", `a collection such as "shop.orders"`, `""`)
	}
	o := c.options("why", 0)
	about := action.Why{Shard: catalog.ShardID(o.text("shard")), Zone: o.text("zone"), TimeZone: o.text("timeZone"),
		AdvisoriesFile: c.advisoriesPath(o)}
	if about.Shard == "" && about.Zone == "" && about.TimeZone == "" && about.AdvisoriesFile == "" {
		c.ThrowArgument("Shard.why", "ns", "a collection, { shard }, { zone }, { timeZone } or { advisories }",
			c.host.Display.Inspect(v))
	}
	return about
}

// throwUnknown throws the error for an unknown collection, shard or zone.
func (h *Helpers) throwUnknown(err error) {
	unknown, ok := errors.AsType[*diagnosis.NotFoundError](err)
	switch {
	case !ok:
		h.host.JS.Throw(script.RuntimeErrorName, "%s", err)
	case unknown.Kind == diagnosis.ShardScope:
		h.throwNoShard(unknown.Name)
	case unknown.Kind == diagnosis.ZoneScope:
		h.checkZoneExists(unknown.Name)
	}
	h.throwNotSharded(unknown.Name)
}

// printableObject returns the JSON form of an answer as an object that prints as text.
func (h *Host) printableObject(answer any, text string) goja.Value {
	o := h.jsonFormObject(answer)
	h.JS.Values.SetPrinter(o, func() string { return strings.TrimSuffix(text, "\n") })
	return o
}

// printableWithFullText works like printableObject, for a result with a short text; its method text(true)
// returns the full text.
func (h *Host) printableWithFullText(answer any, text func(all bool) string) goja.Value {
	o := h.printableObject(answer, text(false)).ToObject(h.JS.Runtime)
	script.Define(o, "text", h.JS.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		return h.JS.Runtime.ToValue(text(call.Argument(0).ToBoolean()))
	}))
	return o
}

// jsonFormObject returns the JSON form of a value as an object.
func (h *Host) jsonFormObject(v any) *goja.Object {
	text, err := json.Marshal(v)
	if err != nil {
		h.JS.Throw(script.RuntimeErrorName, "%s", err)
	}
	value, err := h.JS.Values.ParseEJSON(string(text), true)
	h.JS.Check(err)
	return value.ToObject(h.JS.Runtime)
}
