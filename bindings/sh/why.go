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

// shardWhyMethods() explain why things are as they are.
func shardWhyMethods() []helper {
	const signature = "ns?:string|object{shard,zone,timeZone,advisories} key?:object"
	return []helper{
		{"why", signature, shWhy,
			"Explains what is wrong, its causes, and what to do: for the cluster, a collection, {shard} or " +
				"{zone}; with a key, of one chunk."},
		{"explain", signature, shWhy, "Another name of why."},
	}
}

// shWhy answers as an object, which is printed as the text of "shardsh why".
func shWhy(c *call, sh *Helpers) goja.Value {
	verb := c.scopeArgument()
	if c.Has(1) && !goja.IsNull(c.Arg(1)) {
		verb.Key = c.JS.Document(c.Arg(1))
	}
	result := runReadAction(c, sh, "why", verb)
	return c.s.shownInParts(result, func(long bool) string { return actiontext.Why(result, long) })
}

// scopeArgument reads what is asked about: nothing, a collection, or an object
// that names a shard or a zone.
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
		Advisories: c.advisories(o)}
	if about.Shard == "" && about.Zone == "" && about.TimeZone == "" && about.Advisories == "" {
		c.ThrowArgument("Shard.why", "ns", "a collection, { shard }, { zone }, { timeZone } or { advisories }",
			c.s.Display.Inspect(v))
	}
	return about
}

// throwUnknown throws for something that the cluster does not have.
func (sh *Helpers) throwUnknown(err error) {
	unknown, ok := errors.AsType[*diagnosis.UnknownError](err)
	switch {
	case !ok:
		sh.s.JS.Throw(script.RuntimeError, "%s", err)
	case unknown.Kind == diagnosis.OfShard:
		sh.noShard(unknown.Name)
	case unknown.Kind == diagnosis.OfZone:
		sh.knowZone(unknown.Name)
	}
	sh.notSharded(unknown.Name)
}

// shown returns the JSON form of an answer as an object that is printed as a
// text.
func (s *Host) shown(answer any, text string) goja.Value {
	o := s.fromJSON(answer)
	s.JS.Values.SetPrinter(o, func() string { return strings.TrimSuffix(text, "\n") })
	return o
}

// shownInParts is shown for an answer that is printed in part; its text(true) is the whole.
func (s *Host) shownInParts(answer any, text func(all bool) string) goja.Value {
	o := s.shown(answer, text(false)).ToObject(s.JS.Runtime)
	script.Define(o, "text", s.JS.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		return s.JS.Runtime.ToValue(text(call.Argument(0).ToBoolean()))
	}))
	return o
}

// fromJSON returns the JSON form of a value as an object.
func (s *Host) fromJSON(v any) *goja.Object {
	text, err := json.Marshal(v)
	if err != nil {
		s.JS.Throw(script.RuntimeError, "%s", err)
	}
	value, err := s.JS.Values.ParseEJSON(string(text), true)
	s.JS.Check(err)
	return value.ToObject(s.JS.Runtime)
}
