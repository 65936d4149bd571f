package bindings

import (
	"context"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// Render is a result as the shell shows it (spec 04 §3.1), without a line end
// after it; empty for undefined. An interactive shell shows a cursor's first
// page, any other all of its documents.
func (s *Shell) Render(ctx context.Context, r script.Result) (string, error) {
	if r.Undefined() {
		return "", nil
	}
	var text string
	_, err := s.JS.Within(ctx, func() (goja.Value, error) {
		var err error
		text, err = s.JS.Try(func() string { return s.render(r.Value) })
		return nil, err
	})
	return text, err
}

// render is Render inside a running call; it may throw.
func (s *Shell) render(v goja.Value) string {
	if text, ok := s.renderTables(v); ok {
		return text
	}
	if text, ok := s.renderShell(v); ok {
		return text
	}
	o := s.inspectOptions()
	if !s.cfg.Interactive && !s.cfg.Shallow {
		o.Depth, o.MaxItems, o.MaxString = values.Unlimited, values.Unlimited, values.Unlimited
	}
	return s.JS.World.InspectResult(s.withoutGossip(v), o, true)
}

// renderShell renders what is no ordinary value: cursors. sh and rs need a
// connection to be shown at all.
func (s *Shell) renderShell(v goja.Value) (string, bool) {
	_, isShard := script.Receiver[*shard](v)
	_, isReplicaSet := script.Receiver[*replicaSet](v)
	if isShard || isReplicaSet {
		s.requireDB()
	}
	cur, ok := script.Receiver[*cursor](v)
	if !ok || cur.stream {
		return "", false
	}
	if cur.explain != "" {
		return s.render(cur.plan()), true
	}
	return s.renderPage(cur), true
}

// renderPage shows the next documents of a cursor and whether there are more.
func (s *Shell) renderPage(cur *cursor) string {
	size := s.settings.displayBatchSize
	if !s.cfg.Interactive {
		size = everything
		if s.cfg.Limit > 0 {
			size = s.cfg.Limit
		}
	}
	items := cur.page(size)
	more := cur.mayHaveMore()
	if len(items) == 0 {
		return ""
	}
	o := s.inspectOptions()
	o.MaxItems = values.Unlimited
	text := s.JS.World.Inspect(s.JS.Runtime.NewArray(items...), o)
	if more && s.cfg.Interactive {
		text += "\nType \"it\" for more"
	}
	return text
}

// inspectOptions are those of print() under the current settings.
func (s *Shell) inspectOptions() values.InspectOptions {
	o := values.DefaultInspect()
	o.Color = s.cfg.Color
	o.Depth = s.settings.inspectDepth
	if o.Depth == 0 {
		o.Depth = values.TopLevel
	}
	o.Compact = s.settings.inspectCompact
	o.Stacks = s.settings.showStackTraces
	return o
}

func (s *Shell) inspect(v goja.Value) string {
	return s.JS.World.Inspect(v, s.inspectOptions())
}

// printed is an argument of print().
func (s *Shell) printed(v goja.Value) string {
	if text, ok := s.renderShell(v); ok {
		return text
	}
	return s.JS.World.InspectResult(s.withoutGossip(v), s.inspectOptions(), false)
}

// markReply notes that an object is a command's reply.
func (s *Shell) markReply(o *goja.Object) *goja.Object {
	for _, name := range gossip {
		if o.Get(name) != nil {
			script.Must(o.DefineDataPropertySymbol(s.replyMark(), s.JS.Runtime.ToValue(true), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
			break
		}
	}
	return o
}

func (s *Shell) replyMark() *goja.Symbol {
	if s.marks.reply == nil {
		s.marks.reply = goja.NewSymbol("shardsh.reply")
	}
	return s.marks.reply
}

// withoutGossip is a reply as it is shown: the fields every reply has are left
// out (spec 04 §5.1). Scripts can still read and list them.
func (s *Shell) withoutGossip(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || s.marks.reply == nil || o.GetSymbol(s.marks.reply) == nil {
		return v
	}
	shown := s.JS.Runtime.NewObject()
	for _, k := range o.Keys() {
		if !slices.Contains(gossip, k) {
			script.Must(shown.Set(k, o.Get(k)))
		}
	}
	return shown
}

// statsResult makes an object print as sections (spec 04 §3.1). The wrapper
// mongosh puts around such results is there as hidden members.
func (s *Shell) statsResult(value *goja.Object) goja.Value {
	script.Define(value, "type", s.JS.Runtime.ToValue("StatsResult"))
	script.Define(value, "value", value)
	s.JS.World.SetPrinter(value, func() string {
		sections := make([]string, 0, len(value.Keys()))
		for _, name := range value.Keys() {
			o := s.inspectOptions()
			o.Depth, o.MaxItems, o.MaxString = values.Unlimited, values.Unlimited, values.Unlimited
			text := s.JS.World.Inspect(value.Get(name), o)
			sections = append(sections, s.JS.Paint(script.HeadingColor, name)+"\n"+text)
		}
		return strings.Join(sections, "\n---\n")
	})
	return value
}

// onOneLine makes an object print on one line, whatever its width.
func (s *Shell) onOneLine(o *goja.Object) *goja.Object {
	s.JS.World.SetPrinter(o, func() string {
		options := s.inspectOptions()
		options.Compact = values.CompactFull
		parts := make([]string, 0, len(o.Keys()))
		for _, k := range o.Keys() {
			key := k
			if strings.Contains(k, " ") {
				key = s.JS.World.Inspect(s.JS.Runtime.ToValue(k), options)
			}
			text := s.JS.World.Inspect(o.Get(k), options)
			parts = append(parts, key+": "+strings.Join(strings.Fields(text), " "))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	})
	return o
}
