package display

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// Options are the options of a Display.
type Options struct {
	// Interactive limits results to a page and to a depth.
	Interactive bool
	// Terminal allows tables, and lines that are rewritten.
	Terminal bool
	// Color allows escape sequences.
	Color bool
	// LimitDepth also limits a script's result to the depth in the settings.
	LimitDepth bool
	// Settings returns the current settings.
	Settings func() InspectSettings
	// Columns returns the width of the terminal; nil without a terminal.
	Columns func() int
	// RenderSpecial renders special objects such as cursors; ok is false for ordinary values.
	RenderSpecial func(v goja.Value) (text string, ok bool)
}

// InspectSettings are the user's settings for the format of values.
type InspectSettings struct {
	Compact     int
	Depth       int // negative: no limit
	ErrorStacks bool
}

// Display formats values for a screen or for a stream.
type Display struct {
	JS  *script.Engine
	cfg Options
	// Symbols that mark values with a special rendering. Each symbol is created when it is first
	// needed.
	replySymbol *goja.Symbol // on replies of commands
	tableSymbol *goja.Symbol // on values with tables for terminals
}

// New returns a Display.
func New(o Options) *Display { return &Display{cfg: o} }

// Color reports whether escape sequences are allowed.
func (s *Display) Color() bool { return s.cfg.Color }

// minColumns is the minimum width; narrower terminals wrap lines.
const minColumns = 40

// Columns returns the available width: that of the terminal, or Width without a terminal.
func (s *Display) Columns() int {
	if s.cfg.Columns == nil {
		return Width
	}
	if columns := s.cfg.Columns(); columns > 0 {
		return max(columns, minColumns)
	}
	return Width
}

// Render formats a result as the shell shows it (rules/04-values-and-language §3.1), without a trailing
// newline. It may throw.
func (s *Display) Render(v goja.Value) string {
	if text, ok := s.renderTables(v); ok {
		return text
	}
	if text, ok := s.cfg.RenderSpecial(v); ok {
		return text
	}
	o := s.InspectOptions()
	if !s.cfg.Interactive && !s.cfg.LimitDepth {
		o.Depth, o.MaxItems, o.MaxString = values.Unlimited, values.Unlimited, values.Unlimited
	}
	text := s.JS.Values.InspectResult(s.WithoutClusterTimeFields(v), o, true)
	if goja.IsString(v) && s.cfg.Terminal { // without a terminal, the string may be JSON for another program
		return plaintext.Visible(text)
	}
	return text
}

// InspectOptions returns the options of print() under the current settings.
func (s *Display) InspectOptions() values.InspectOptions {
	o, look := values.DefaultInspect(), s.cfg.Settings()
	o.Color = s.cfg.Color
	o.Depth = look.Depth
	o.Depth = cmp.Or(o.Depth, values.TopLevel)
	o.Compact = look.Compact
	o.ErrorStacks = look.ErrorStacks
	return o
}

// ClusterTimeFields are the cluster time fields in every reply (rules/03-commands §0.3).
var ClusterTimeFields = []string{"$clusterTime", "operationTime"}

// Reply returns a command's reply for the script. Scripts can read the cluster time fields, but they
// are not printed (rules/04-objects §5.1).
func (s *Display) Reply(raw bson.Raw) goja.Value {
	return s.markReply(s.JS.Values.DocToJS(raw))
}

// Inspect formats a value within a text.
func (s *Display) Inspect(v goja.Value) string {
	return s.JS.Values.Inspect(v, s.InspectOptions())
}

// PrintedText formats an argument of print().
func (s *Display) PrintedText(v goja.Value) string {
	if text, ok := s.cfg.RenderSpecial(v); ok {
		return text
	}
	return s.JS.Values.InspectResult(s.WithoutClusterTimeFields(v), s.InspectOptions(), false)
}

// markReply marks an object as a command's reply.
func (s *Display) markReply(o *goja.Object) *goja.Object {
	for _, name := range ClusterTimeFields {
		if o.Get(name) != nil {
			script.Must(o.DefineDataPropertySymbol(s.ensureReplySymbol(), s.JS.Runtime.ToValue(true), goja.FLAG_FALSE,
				goja.FLAG_FALSE, goja.FLAG_FALSE))
			break
		}
	}
	return o
}

func (s *Display) ensureReplySymbol() *goja.Symbol {
	if s.replySymbol == nil {
		s.replySymbol = goja.NewSymbol("shardsh.reply")
	}
	return s.replySymbol
}

// WithoutClusterTimeFields returns a reply as it is shown, without the fields that every reply has
// (rules/04-objects §5.1). Scripts can still read and list these fields.
func (s *Display) WithoutClusterTimeFields(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || s.replySymbol == nil || o.GetSymbol(s.replySymbol) == nil {
		return v
	}
	shown := s.JS.Runtime.NewObject()
	for _, k := range o.Keys() {
		if !slices.Contains(ClusterTimeFields, k) {
			script.Must(shown.Set(k, o.Get(k)))
		}
	}
	return shown
}

// StatsResult makes an object print as sections (rules/04-values-and-language §3.1). It has the members
// of mongosh's wrapper for such results as hidden members.
func (s *Display) StatsResult(value *goja.Object) goja.Value {
	script.Define(value, "type", s.JS.Runtime.ToValue("StatsResult"))
	script.Define(value, "value", value)
	s.JS.Values.SetPrinter(value, func() string {
		sections := make([]string, 0, len(value.Keys()))
		for _, name := range value.Keys() {
			o := s.InspectOptions()
			o.Depth, o.MaxItems, o.MaxString = values.Unlimited, values.Unlimited, values.Unlimited
			text := s.JS.Values.Inspect(value.Get(name), o)
			sections = append(sections, s.JS.Out.Paint(script.HeadingColor, name)+"\n"+text)
		}
		return strings.Join(sections, "\n---\n")
	})
	return value
}

// SetOneLine makes an object print on one line, whatever its width.
func (s *Display) SetOneLine(o *goja.Object) *goja.Object {
	s.JS.Values.SetPrinter(o, func() string {
		options := s.InspectOptions()
		options.Compact = values.CompactFull
		parts := make([]string, 0, len(o.Keys()))
		for _, k := range o.Keys() {
			key := plaintext.VisibleLine(k)
			if strings.Contains(k, " ") {
				key = s.JS.Values.Inspect(s.JS.Runtime.ToValue(k), options)
			}
			text := s.JS.Values.Inspect(o.Get(k), options)
			parts = append(parts, key+": "+strings.Join(strings.Fields(text), " "))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	})
	return o
}

// Print writes values as print() does, without format strings (rules/04-command-line-and-prompt §2.12).
func (s *Display) Print(args []goja.Value) {
	texts := make([]string, len(args))
	for i, v := range args {
		texts[i] = s.PrintedText(v)
	}
	s.JS.Out.WriteRaw(strings.Join(texts, " ") + "\n") // strings are written as they are, other values are inspected
}

// ShownValue returns a result of show that prints like the value itself.
func (s *Display) ShownValue(v goja.Value) goja.Value {
	o := s.InspectOptions()
	return s.JS.StyledResult(s.JS.Values.InspectResult(v, o, false))
}

// ClearScreen clears a terminal. It does nothing without a terminal.
func (s *Display) ClearScreen() {
	if s.cfg.Interactive && s.cfg.Color {
		s.JS.Out.WriteRaw("\x1b[H\x1b[2J")
	}
}
