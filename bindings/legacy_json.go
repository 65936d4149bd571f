package bindings

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// toJSONArgument is tojson(value, indent, nolint).
func (c *call) toJSONArgument(oneLine bool) string {
	text := c.s.toJSON(c.Arg(0), oneLine)
	if short := c.s.toJSON(c.Arg(0), true); len(short) < 80 && !c.Has(1) {
		return short
	}
	if indent := script.OptionalText(c.Arg(1)); indent != "" {
		text = strings.ReplaceAll(text, "\n", "\n"+indent)
	}
	return text
}

// toJSON writes a value in the old shell's JSON.
func (s *Shell) toJSON(v goja.Value, oneLine bool) string {
	if _, ok := script.Receiver[*cursor](v); ok {
		s.JS.ThrowInvalid(cursorIsNoValue)
	}
	return s.display.OldJSON(v, oneLine)
}
