package sh

import (
	"encoding/json"
	"errors"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardWhyMethods() tell why things are as they are.
func shardWhyMethods() []helper {
	const signature = "ns?:string|object{shard,zone} key?:object"
	return []helper{
		{"why", signature, shWhy,
			"Explains what is wrong, its causes, and what to do: for the cluster, a collection, {shard} or " +
				"{zone}; with a key, of one chunk."},
		{"explain", signature, shWhy, "Another name of why."},
	}
}

// shWhy answers as an object, which is printed as the text of "shardsh why".
func shWhy(c *call, sh *Helpers) goja.Value {
	about := c.scopeArgument()
	hasKey := c.Has(1) && !goja.IsNull(c.Arg(1))
	if hasKey && about.Namespace == "" {
		c.JS.ThrowInvalid("Argument key is the shard key of a chunk of a collection: ns has to name one (Shard.why)")
	}
	s := sh.snapshot(live.ReaderOptions{Parts: live.WithStatus | live.Causes})
	if err := diagnosis.Check(s, about); err != nil {
		if answer, ok := sh.whyNotSharded(s, about.Namespace); ok && !hasKey {
			return c.s.shown(answer, findings.Text(answer))
		}
		sh.throwUnknown(err)
	}
	if !hasKey {
		answer := diagnosis.Why(s, about)
		return c.s.shown(answer, findings.Text(answer))
	}
	answer, err := diagnosis.WhyKey(s, about.Namespace, c.JS.Document(c.Arg(1)))
	if key, ok := errors.AsType[*diagnosis.KeyError](err); ok {
		c.JS.ThrowInvalid("Argument key: %s (Shard.why)", key)
	}
	if err != nil {
		c.JS.Throw(script.RuntimeError, "%s", err)
	}
	return c.s.shown(answer, findings.ChunkText(answer))
}

// whyNotSharded answers for a collection that is there and not sharded.
func (sh *Helpers) whyNotSharded(s *catalog.Snapshot, ns string) (a diagnosis.Answer, ok bool) {
	database, collection, named := strings.Cut(ns, ".")
	if !named {
		return a, false
	}
	docs, err := sh.s.Gateway.TryAll(sh.current().Sibling(database).Request(bson.D{
		{Key: "listCollections", Value: int32(1)}, {Key: "nameOnly", Value: true},
		{Key: "filter", Value: bson.D{{Key: "name", Value: collection}}},
	}, server.Reads))
	return diagnosis.NotSharded(s, ns, err == nil && len(docs) > 0)
}

// scopeArgument reads what is asked about: nothing, a collection, or an object
// that names a shard or a zone.
func (c *call) scopeArgument() diagnosis.Scope {
	v := c.Arg(0)
	switch {
	case !c.Has(0), goja.IsNull(v):
		return diagnosis.Scope{}
	case goja.IsString(v), isCollection(v):
		if ns := c.namespaceArgument(0); ns != "" {
			return diagnosis.Scope{Namespace: ns}
		}
		c.ThrowArgument("Shard.why", "ns", `a collection such as "shop.orders"`, `""`)
	}
	o := c.options("why", 0)
	about := diagnosis.Scope{Shard: catalog.ShardID(o.text("shard")), Zone: o.text("zone")}
	if (about.Shard == "") == (about.Zone == "") {
		c.ThrowArgument("Shard.why", "ns", "a collection, { shard } or { zone }", c.s.Display.Inspect(v))
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
	s.JS.World.SetPrinter(o, func() string { return strings.TrimSuffix(text, "\n") })
	return o
}

// fromJSON returns the JSON form of a value as an object.
func (s *Host) fromJSON(v any) *goja.Object {
	text, err := json.Marshal(v)
	if err != nil {
		s.JS.Throw(script.RuntimeError, "%s", err)
	}
	value, err := s.JS.World.ParseEJSON(string(text), true)
	if err != nil {
		s.JS.Rethrow(err)
	}
	return value.ToObject(s.JS.Runtime)
}
