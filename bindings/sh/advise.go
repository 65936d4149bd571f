package sh

import (
	"errors"

	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live/keyfacts"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

const adviceOptionNames = "queries,expect,sampleDocs,sampleBytes,maxTime,analyze"

// shardAdviseMethods returns the helpers that give advice about a collection.
func shardAdviseMethods() []helper {
	return []helper{
		{"adviseKey", "ns:string|object keys?:object options?:object{" + adviceOptionNames + "}", shAdviseKey,
			"Recommends a shard key, with reasons: rates one key, an array of keys, or those that it finds; " +
				"{queries: [{filter, weight}], expect: \"500GB\", sampleDocs, sampleBytes, maxTime, analyze: false}."},
		{"adviseChunkSize", "ns:string|object options?:object{expect,sampleDocs,sampleBytes,maxTime}", shAdviseChunkSize,
			"Recommends a chunk size, with reasons; {expect: \"500GB\"} is the expected size."},
		{"advisePresplit", "ns:string|object options?:object{expect,docs,key,sampleDocs,sampleBytes,maxTime}",
			shAdvisePresplit,
			"Recommends how to split a collection before a load; {expect: \"500GB\", docs, " +
				"key}."},
	}
}

// shAdviseChunkSize returns the advice, which prints as text.
func shAdviseChunkSize(c *call, sh *Helpers) goja.Value {
	o := c.adviceOptions("adviseChunkSize", 1)
	ns, end := c.startAdvice(&o)
	a, err := keyfacts.AdviseChunkSize(c.JS.Context(), sh.current().Conn.Client, ns, o)
	if end(); err != nil {
		c.host.Gateway.Throw(err)
	}
	return c.host.printableObject(a, findings.ChunkSizeText(a))
}

// shAdvisePresplit returns the advice, which prints as text.
func shAdvisePresplit(c *call, sh *Helpers) goja.Value {
	o := c.adviceOptions("advisePresplit", 1)
	given := c.options("advisePresplit", 1)
	if o.ExpectDocs = given.count("docs"); given.value("key") != nil {
		o.Keys = c.keysOf("advisePresplit", "options.key", given.value("key"))
	}
	ns, end := c.startAdvice(&o)
	a, err := keyfacts.AdvisePresplit(c.JS.Context(), sh.current().Conn.Client, ns, o)
	end()
	switch {
	case errors.Is(err, keyfacts.ErrNoKey):
		c.JS.ThrowInvalid("%s, as in sh.advisePresplit(%q, { key: { customer: 1 } })", err, ns)
	case err != nil:
		c.host.Gateway.Throw(err)
	}
	return c.host.printableObject(a, findings.PresplitText(a))
}

// startAdvice returns the namespace argument, and sets o.Tell to show progress until end is called.
func (c *call) startAdvice(o *keyfacts.Options) (ns string, end func()) {
	ns = c.namespaceArgument(0)
	progress := c.host.Display.NewProgress(true)
	o.OnRead = func(what string) {
		if progress.IsDue() {
			progress.Show(plaintext.EscapeLine(ns+": "+what), nil)
		}
	}
	return ns, progress.End
}

// shAdviseKey returns the advice, which prints as the text of "shardsh advise".
func shAdviseKey(c *call, sh *Helpers) goja.Value {
	o := c.adviceOptions("adviseKey", 2)
	o.Keys = c.keysArgument(1)
	ns, end := c.startAdvice(&o)
	a, err := keyfacts.Advise(c.JS.Context(), sh.current().Conn.Client, ns, o)
	end()
	if err != nil {
		c.host.Gateway.Throw(err)
	}
	return c.host.printableObject(a, findings.KeyAdviceText(a))
}

// adviceOptions returns the options of an advice helper.
func (c *call) adviceOptions(helper string, i int) keyfacts.Options {
	given := c.options(helper, i)
	o := keyfacts.Options{
		Queries: given.queries(), ExpectBytes: given.size("expect"), SampleDocs: int(given.count("sampleDocs")),
		SampleBytes: given.size("sampleBytes"), MaxTime: given.duration("maxTime", 0),
	}
	switch {
	case !given.flag("analyze", true):
		o.NoAnalyzeReason = "analyze is false"
	case c.host.Gateway.HasGuard():
		o.NoAnalyzeReason = "it makes the servers store split points, and this shell is read-only"
	}
	return o
}

// queries returns the queries in the options: filters with their weights.
func (h helperOptions) queries() (list []keyadvice.Query) {
	v := h.value("queries")
	if v == nil {
		return nil
	}
	array, ok := v.(*goja.Object)
	if !ok || array.ClassName() != "Array" {
		h.throwWrongOption("queries", "an array of { filter, weight }", h.call.host.Display.Inspect(v))
	}
	for _, i := range array.Keys() {
		list = append(list, h.query(array.Get(i)))
	}
	return keyadvice.MergeQueries(list)
}

func (h helperOptions) query(v goja.Value) keyadvice.Query {
	const wanted = "an array of { filter, weight }, the weights above 0"
	o, _ := v.(*goja.Object)
	filter, weight := script.Property(o, "filter"), script.Property(o, "weight")
	known := 0
	for _, given := range []goja.Value{filter, weight} {
		if given != nil {
			known++
		}
	}
	if _, isObject := filter.(*goja.Object); !isObject || len(o.Keys()) != known {
		h.throwWrongOption("queries", wanted, h.call.host.Display.Inspect(v))
	}
	q := keyadvice.QueryOf(h.call.JS.Document(filter))
	if q.Weight = 1; weight != nil {
		var ok bool
		if q.Weight, ok = h.call.asNumber(weight); !ok || q.Weight <= 0 {
			h.throwWrongOption("queries", wanted, h.call.host.Display.Inspect(v))
		}
	}
	return q
}

// keysArgument returns a shard key, or an array of them; none for null.
func (c *call) keysArgument(i int) []keyadvice.ShardKey {
	if v := c.Object(i); v != nil {
		return c.keysOf("adviseKey", "keys", v)
	}
	return nil
}

func (c *call) keysOf(helper, name string, v goja.Value) (list []keyadvice.ShardKey) {
	values := []goja.Value{v}
	if array, ok := v.(*goja.Object); ok && array.ClassName() == "Array" && helper == "adviseKey" {
		values = nil
		for _, n := range array.Keys() {
			values = append(values, array.Get(n))
		}
	}
	for _, one := range values {
		const wanted = `a shard key such as { customer: 1, _id: "hashed" }`
		o, ok := one.(*goja.Object)
		if !ok {
			c.ThrowArgument("Shard."+helper, name, wanted, c.host.Display.Inspect(one))
		}
		doc := c.JS.Document(o)
		c.JS.CheckKeyOrder(o, doc)
		k, err := keyadvice.ParseShardKey(doc)
		if err != nil {
			c.ThrowArgument("Shard."+helper, name, wanted+" (options come after it; null for no key)",
				c.host.Display.Inspect(one))
		}
		list = append(list, k)
	}
	return list
}
