package sh

import (
	"slices"
	"strings"
	"time"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// helperOptions is the last argument of a helper: an object with known names. For an unknown name, the
// helper throws and does nothing.
type helperOptions struct {
	call   *call
	helper string
	object *goja.Object // nil without options
}

// options returns the options in the argument at position i. The helper's signature lists their names.
func (c *call) options(helper string, i int) helperOptions {
	h := helperOptions{call: c, helper: helper, object: c.Object(i)}
	if h.object == nil {
		return h
	}
	known := optionNames(helper)
	for _, name := range h.object.Keys() {
		if now, old := oldOptionNames()[name]; !slices.Contains(known, name) && (!old || !slices.Contains(known, now)) {
			c.JS.ThrowInvalid("sh.%s has no option %s (options: %s)%s", helper, name, strings.Join(known, ", "),
				plaintext.DidYouMean(name, known))
		}
	}
	return h
}

// optionNames returns the names of a helper's options.
func optionNames(helper string) []string {
	for _, m := range slices.Concat(helperTables()...) {
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

// oldOptionNames maps older names of options, which still work and are not shown, to their new names.
func oldOptionNames() map[string]string {
	return map[string]string{"takeOver": "pauseBalancing", "maxTime": "for"}
}

// value returns the value of an option; nil if it is missing.
func (h helperOptions) value(name string) goja.Value {
	v := h.valueOrNull(name)
	if v == nil || goja.IsNull(v) {
		return nil
	}
	return v
}

// valueOrNull returns the value of an option; null if it is null, nil if it is missing.
func (h helperOptions) valueOrNull(name string) goja.Value {
	if h.object == nil {
		return nil
	}
	v := script.Property(h.object, name)
	for old, now := range oldOptionNames() {
		if now == name && v == nil {
			v = script.Property(h.object, old)
		}
	}
	return v
}

// isGiven reports whether an option is present, possibly as null.
func (h helperOptions) isGiven(name string) bool { return h.valueOrNull(name) != nil }

func (h helperOptions) isNull(name string) bool {
	v := h.valueOrNull(name)
	return v != nil && goja.IsNull(v)
}

// throwWrongOption throws for an option of a wrong type.
func (h helperOptions) throwWrongOption(name, wanted, got string) {
	h.call.ThrowArgument("Shard."+h.helper, "options."+name, wanted, got)
}

func (h helperOptions) text(name string) string {
	v := h.value(name)
	if v == nil {
		return ""
	}
	if !goja.IsString(v) {
		h.throwWrongOption(name, "of type string", script.TypeOf(v))
	}
	return v.String()
}

func (h helperOptions) flag(name string, byDefault bool) bool {
	v := h.value(name)
	if v == nil {
		return byDefault
	}
	if script.TypeOf(v) != "boolean" {
		h.throwWrongOption(name, "of type boolean", script.TypeOf(v))
	}
	return v.ToBoolean()
}

// duration returns an option that is a number of milliseconds, or a string such as "1h30m".
func (h helperOptions) duration(name string, byDefault time.Duration) time.Duration {
	v := h.value(name)
	if v == nil {
		return byDefault
	}
	return h.call.DurationOf("Shard."+h.helper, "options."+name, v)
}

// asNumber converts a number of any BSON type.
func (c *call) asNumber(v goja.Value) (float64, bool) {
	if kind := script.TypeOf(v); kind != "number" && kind != "object" {
		return 0, false
	}
	f, ok := c.JS.BSONValue(v).AsFloat64OK()
	return f, ok && f == f
}
