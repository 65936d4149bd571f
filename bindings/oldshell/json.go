package oldshell

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/cursor"
	"shardsh/bindings/script"
)

// toJSONArgument implements tojson(value, indent, nolint).
func (h Host) toJSONArgument(c *script.Call, oneLine bool) string {
	text := h.JSON(c.Arg(0), oneLine)
	if short := h.JSON(c.Arg(0), true); len(short) < 80 && !c.Has(1) {
		return short
	}
	if indent := script.OptionalText(c.Arg(1)); indent != "" {
		text = strings.ReplaceAll(text, "\n", "\n"+indent)
	}
	return text
}

// JSON formats a value as the old shell's JSON.
func (h Host) JSON(v goja.Value, oneLine bool) string {
	if _, ok := script.Receiver[*cursor.Cursor](v); ok {
		h.JS.ThrowInvalid(cursor.NotSerializableText)
	}
	return h.Display.OldJSON(v, oneLine)
}
