package sh

import (
	"slices"
	"strings"
	"time"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// helperOptions is the last argument of a helper: an object whose names are
// known. A name that is not is a mistake, and nothing is done.
type helperOptions struct {
	c      *call
	helper string
	o      *goja.Object // nil when there is none
}

// options reads the argument at position i. The helper's signature lists what it
// may have.
func (c *call) options(helper string, i int) helperOptions {
	h := helperOptions{c: c, helper: helper, o: c.Object(i)}
	if h.o == nil {
		return h
	}
	known := optionNames(helper)
	for _, name := range h.o.Keys() {
		if now, old := oldNames()[name]; !slices.Contains(known, name) && (!old || !slices.Contains(known, now)) {
			c.JS.ThrowInvalid("sh.%s has no option %s (options: %s)%s", helper, name, strings.Join(known, ", "),
				plaintext.DidYouMean(name, known))
		}
	}
	return h
}

// optionNames returns the names of a helper's options.
func optionNames(helper string) []string {
	for _, m := range slices.Concat(tables()...) {
		if m.name != helper {
			continue
		}
		for i := range script.ParameterNames(m.signature) {
			if names := script.FieldNames(m.signature, i); names != nil {
				return names
			}
		}
	}
	return nil
}

// oldNames returns older names of options, which work and are not shown.
func oldNames() map[string]string {
	return map[string]string{"takeOver": "pauseBalancing", "maxTime": "for"}
}

// get returns an option; nil when it was not given.
func (h helperOptions) get(name string) goja.Value {
	v := h.property(name)
	if v == nil || goja.IsNull(v) {
		return nil
	}
	return v
}

// property is get, but distinguishes null from what is missing.
func (h helperOptions) property(name string) goja.Value {
	if h.o == nil {
		return nil
	}
	v := script.Property(h.o, name)
	for old, now := range oldNames() {
		if now == name && v == nil {
			v = script.Property(h.o, old)
		}
	}
	return v
}

// given reports whether an option was given, perhaps as null.
func (h helperOptions) given(name string) bool { return h.property(name) != nil }

func (h helperOptions) isNull(name string) bool {
	v := h.property(name)
	return v != nil && goja.IsNull(v)
}

// refuse throws for an option of a wrong kind.
func (h helperOptions) refuse(name, wanted, got string) {
	h.c.ThrowArgument("Shard."+h.helper, "options."+name, wanted, got)
}

func (h helperOptions) text(name string) string {
	v := h.get(name)
	if v == nil {
		return ""
	}
	if !goja.IsString(v) {
		h.refuse(name, "of type string", script.TypeOf(v))
	}
	return v.String()
}

func (h helperOptions) flag(name string, byDefault bool) bool {
	v := h.get(name)
	if v == nil {
		return byDefault
	}
	if script.TypeOf(v) != "boolean" {
		h.refuse(name, "of type boolean", script.TypeOf(v))
	}
	return v.ToBoolean()
}

// duration reads a number of milliseconds, or a text such as "1h30m".
func (h helperOptions) duration(name string, byDefault time.Duration) time.Duration {
	v := h.get(name)
	if v == nil {
		return byDefault
	}
	return h.c.DurationOf("Shard."+h.helper, "options."+name, v)
}

// numeric returns a number of any of BSON's types.
func (c *call) numeric(v goja.Value) (float64, bool) {
	if kind := script.TypeOf(v); kind != "number" && kind != "object" {
		return 0, false
	}
	f, ok := c.JS.Value(v).AsFloat64OK()
	return f, ok && f == f
}
