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
func (d *Display) Color() bool { return d.cfg.Color }

// minColumns is the minimum width; narrower terminals wrap lines.
const minColumns = 40

// Columns returns the available width: that of the terminal, or DefaultWidth without a terminal.
func (d *Display) Columns() int {
	if d.cfg.Columns == nil {
		return DefaultWidth
	}
	if columns := d.cfg.Columns(); columns > 0 {
		return max(columns, minColumns)
	}
	return DefaultWidth
}

// Render formats a result as the shell shows it (rules/04-values-and-language §3.1), without a trailing
// newline. It may throw.
func (d *Display) Render(v goja.Value) string {
	if text, ok := d.renderTables(v); ok {
		return text
	}
	if text, ok := d.cfg.RenderSpecial(v); ok {
		return text
	}
	o := d.InspectOptions()
	if !d.cfg.Interactive && !d.cfg.LimitDepth {
		o.Depth, o.MaxItems, o.MaxString = values.Unlimited, values.Unlimited, values.Unlimited
	}
	text := d.JS.Values.InspectOutput(d.WithoutClusterTimeFields(v), o, true)
	if goja.IsString(v) && d.cfg.Terminal { // without a terminal, the string may be JSON for another program
		return plaintext.EscapeText(text)
	}
	return text
}

// InspectOptions returns the options of print() under the current settings.
func (d *Display) InspectOptions() values.InspectOptions {
	o, look := values.DefaultInspectOptions(), d.cfg.Settings()
	o.Color = d.cfg.Color
	o.Depth = cmp.Or(look.Depth, values.TopLevel)
	o.Compact = look.Compact
	o.ErrorStacks = look.ErrorStacks
	return o
}

// ClusterTimeFields are the cluster time fields in every reply (rules/03-commands §0.3).
var ClusterTimeFields = []string{"$clusterTime", "operationTime"}

// ReplyValue returns a command's reply for the script. Scripts can read the cluster time fields, but they
// are not printed (rules/04-objects §5.1).
func (d *Display) ReplyValue(raw bson.Raw) goja.Value {
	return d.markReply(d.JS.Values.DocToJS(raw))
}

// Inspect formats a value within a text.
func (d *Display) Inspect(v goja.Value) string {
	return d.JS.Values.Inspect(v, d.InspectOptions())
}

// PrintedText formats an argument of print().
func (d *Display) PrintedText(v goja.Value) string {
	if text, ok := d.cfg.RenderSpecial(v); ok {
		return text
	}
	return d.JS.Values.InspectOutput(d.WithoutClusterTimeFields(v), d.InspectOptions(), false)
}

// markReply marks an object as a command's reply.
func (d *Display) markReply(o *goja.Object) *goja.Object {
	for _, name := range ClusterTimeFields {
		if o.Get(name) != nil {
			script.Must(o.DefineDataPropertySymbol(d.ensureReplySymbol(), d.JS.Runtime.ToValue(true), goja.FLAG_FALSE,
				goja.FLAG_FALSE, goja.FLAG_FALSE))
			break
		}
	}
	return o
}

func (d *Display) ensureReplySymbol() *goja.Symbol {
	if d.replySymbol == nil {
		d.replySymbol = goja.NewSymbol("shardsh.reply")
	}
	return d.replySymbol
}

// WithoutClusterTimeFields returns a reply as it is shown, without the fields that every reply has
// (rules/04-objects §5.1). Scripts can still read and list these fields.
func (d *Display) WithoutClusterTimeFields(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || d.replySymbol == nil || o.GetSymbol(d.replySymbol) == nil {
		return v
	}
	shown := d.JS.Runtime.NewObject()
	for _, k := range o.Keys() {
		if !slices.Contains(ClusterTimeFields, k) {
			script.Must(shown.Set(k, o.Get(k)))
		}
	}
	return shown
}

// StatsResult makes an object print as sections (rules/04-values-and-language §3.1). It has the members
// of mongosh's wrapper for such results as hidden members.
func (d *Display) StatsResult(value *goja.Object) goja.Value {
	script.Define(value, "type", d.JS.Runtime.ToValue("StatsResult"))
	script.Define(value, "value", value)
	d.JS.Values.SetPrinter(value, func() string {
		sections := make([]string, 0, len(value.Keys()))
		for _, name := range value.Keys() {
			o := d.InspectOptions()
			o.Depth, o.MaxItems, o.MaxString = values.Unlimited, values.Unlimited, values.Unlimited
			text := d.JS.Values.Inspect(value.Get(name), o)
			sections = append(sections, d.JS.Out.Paint(script.HeadingColor, name)+"\n"+text)
		}
		return strings.Join(sections, "\n---\n")
	})
	return value
}

// Print writes values as print() does, without format strings (rules/04-command-line-and-prompt §2.12).
func (d *Display) Print(args []goja.Value) {
	texts := make([]string, len(args))
	for i, v := range args {
		texts[i] = d.PrintedText(v)
	}
	d.JS.Out.WriteRaw(strings.Join(texts, " ") + "\n") // strings are written as they are, other values are inspected
}

// ShowResult returns a result of show that prints like the value itself.
func (d *Display) ShowResult(v goja.Value) goja.Value {
	o := d.InspectOptions()
	return d.JS.StyledResult(d.JS.Values.InspectOutput(v, o, false))
}

// ClearScreen clears a terminal. It does nothing without a terminal.
func (d *Display) ClearScreen() {
	if d.cfg.Interactive && d.cfg.Terminal {
		d.JS.Out.WriteRaw("\x1b[H\x1b[2J")
	}
}
