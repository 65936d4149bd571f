package sh

import (
	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live/keyfacts"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

const adviceOptions = "queries,expect,sampleDocs,sampleBytes,maxTime,analyze"

// shardAdviseMethods() say what suits a collection.
func shardAdviseMethods() []helper {
	return []helper{
		{"adviseKey", "ns:string|object keys?:object options?:object{" + adviceOptions + "}", shAdviseKey,
			"Says which shard key suits a collection, and why: of keys, one or an array of them, or of those that it finds; " +
				"{queries: [{filter, weight}], expect: \"500GB\", sampleDocs, sampleBytes, maxTime, analyze: false}."},
	}
}

// shAdviseKey returns advice, which is printed as the text of "shardsh advise".
func shAdviseKey(c *call, sh *Helpers) goja.Value {
	ns := c.namespaceArgument(0)
	o := c.adviceOptions("adviseKey", 2)
	o.Keys = c.keysArgument(1)
	progress := c.s.Display.Progress(true)
	o.Tell = func(what string) {
		if progress.Due() {
			progress.Say(ns+": "+what, nil)
		}
	}
	a, err := keyfacts.Advise(c.JS.Context(), sh.current().Conn.Client, ns, o)
	progress.End()
	if err != nil {
		c.s.Gateway.Throw(err)
	}
	return c.s.shown(a, findings.KeyAdviceText(a))
}

// adviceOptions reads how a collection is looked at.
func (c *call) adviceOptions(helper string, i int) keyfacts.Options {
	given := c.options(helper, i)
	o := keyfacts.Options{
		Queries: given.queries(), Expect: given.size("expect"), SampleDocs: int(given.count("sampleDocs")),
		SampleBytes: given.size("sampleBytes"), MaxTime: given.duration("maxTime", 0),
	}
	switch {
	case !given.flag("analyze", true):
		o.NoAnalyze = "analyze is false"
	case c.s.Gateway.Guarded():
		o.NoAnalyze = "it has the servers keep split points for a while, and this shell changes nothing"
	}
	return o
}

// queries reads what a collection is asked: filters with their weights.
func (h helperOptions) queries() (list []keyadvice.Query) {
	v := h.get("queries")
	if v == nil {
		return nil
	}
	array, ok := v.(*goja.Object)
	if !ok || array.ClassName() != "Array" {
		h.refuse("queries", "an array of { filter, weight }", h.c.s.Display.Inspect(v))
	}
	for _, i := range array.Keys() {
		list = append(list, h.query(array.Get(i)))
	}
	return keyadvice.Merge(list)
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
		h.refuse("queries", wanted, h.c.s.Display.Inspect(v))
	}
	q := keyadvice.QueryOf(h.c.JS.Document(filter))
	if q.Weight = 1; weight != nil {
		var ok bool
		if q.Weight, ok = h.c.numeric(weight); !ok || q.Weight <= 0 {
			h.refuse("queries", wanted, h.c.s.Display.Inspect(v))
		}
	}
	return q
}

// keysArgument reads a shard key, or an array of them; none for null.
func (c *call) keysArgument(i int) (list []keyadvice.Key) {
	v := c.Object(i)
	if v == nil {
		return nil
	}
	values := []goja.Value{v}
	if v.ClassName() == "Array" {
		values = nil
		for _, n := range v.Keys() {
			values = append(values, v.Get(n))
		}
	}
	for _, one := range values {
		const wanted = `a shard key such as { customer: 1, _id: "hashed" }, an array of them, or null before options`
		o, ok := one.(*goja.Object)
		if !ok {
			c.ThrowArgument("Shard.adviseKey", "keys", wanted, c.s.Display.Inspect(one))
		}
		doc := c.JS.Document(o)
		c.JS.CheckKeyOrder(o, doc)
		k, err := keyadvice.ParseKey(doc)
		if err != nil {
			c.ThrowArgument("Shard.adviseKey", "keys", wanted, c.s.Display.Inspect(one))
		}
		list = append(list, k)
	}
	return list
}
