package server

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/tag"

	"shardsh/bindings/script"
)

// TagSets returns the tag sets of a read preference; nil if it has none.
func TagSets(js *script.Engine, pref *readpref.ReadPref) goja.Value {
	if len(pref.TagSets()) == 0 {
		return nil
	}
	sets := make([]any, 0, len(pref.TagSets()))
	for _, set := range pref.TagSets() {
		o := js.Runtime.NewObject()
		for _, t := range set {
			script.Must(o.Set(t.Name, t.Value))
		}
		sets = append(sets, o)
	}
	return js.Runtime.NewArray(sets...)
}

// ParseReadPreference parses a mode, an array of tag sets, and {enabled} for hedged reads.
func ParseReadPreference(js *script.Engine, mode, tags, hedge goja.Value) *readpref.ReadPref {
	if goja.IsUndefined(mode) {
		mode = js.Runtime.ToValue("primary")
	}
	kind, err := readpref.ModeFromString(mode.String())
	if err != nil || kind.String() != mode.String() {
		js.Throw("MongoInvalidArgumentError", "Invalid read preference mode %q", mode)
	}
	var opts []readpref.Option
	if sets, ok := tags.(*goja.Object); ok {
		if sets.ClassName() != "Array" {
			js.Throw("MongoInvalidArgumentError", "ReadPreference tags must be an array")
		}
		if kind == readpref.PrimaryMode && len(sets.Keys()) > 0 {
			js.Throw("MongoInvalidArgumentError", "Primary read preference cannot be combined with tags")
		}
		opts = append(opts, readpref.WithTagSets(parseTagSets(sets)...))
	}
	if o, ok := hedge.(*goja.Object); ok {
		if kind == readpref.PrimaryMode {
			js.Throw("MongoInvalidArgumentError", "Primary read preference cannot be combined with hedge")
		}
		if enabled := script.Property(o, "enabled"); enabled != nil {
			opts = append(opts, readpref.WithHedgeEnabled(enabled.ToBoolean())) //nolint:staticcheck // servers before 8.0 hedge
		}
	}
	pref, err := readpref.New(kind, opts...)
	if err != nil {
		js.Throw("MongoInvalidArgumentError", "%s", err)
	}
	return pref
}

func parseTagSets(list *goja.Object) []tag.Set {
	var sets []tag.Set
	for _, item := range script.Items(list) {
		from, ok := item.(*goja.Object)
		if !ok {
			continue
		}
		set := tag.Set{}
		for _, k := range from.Keys() {
			set = append(set, tag.Tag{Name: k, Value: from.Get(k).String()})
		}
		sets = append(sets, set)
	}
	return sets
}

// EffectiveReadPreference returns the read preference; the default is primary.
func (c *Conn) EffectiveReadPreference() *readpref.ReadPref {
	if c.ReadPreference == nil {
		return readpref.Primary()
	}
	return c.ReadPreference
}

// AllowSecondaries implements setSecondaryOk.
func (c *Conn) AllowSecondaries() {
	c.gateway.JS.Out.WarnDeprecated(".setSecondaryOk() is deprecated. Use .setReadPref(\"primaryPreferred\") instead")
	mode := c.EffectiveReadPreference().Mode()
	if mode != readpref.PrimaryMode {
		c.gateway.JS.Out.Write("Leaving read preference unchanged (is already \"" + mode.String() + "\")\n")
		return
	}
	c.gateway.JS.Out.Write("Setting read preference from \"primary\" to \"primaryPreferred\"\n")
	c.ReadPreference = readpref.PrimaryPreferred()
}
