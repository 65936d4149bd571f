package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// newConsole returns console. All its methods write to standard output, as mongosh's do
// (rules/04-command-line-and-prompt §1.7).
func (s *Globals) newConsole() goja.Value {
	o := s.JS.Runtime.NewObject()
	indent := ""
	timers := map[string]time.Time{}
	counts := map[string]int{}
	label := func(c *call) string {
		if c.Has(0) {
			return c.Text(0)
		}
		return "default"
	}
	write := func(c *call, text string) {
		if indent != "" {
			text = indent + strings.ReplaceAll(text, "\n", "\n"+indent)
		}
		c.JS.Out.WriteRaw(text + "\n")
	}
	joined := func(c *call, args []goja.Value) string {
		texts := make([]string, len(args))
		for i, v := range args {
			texts[i] = c.globals.Display.PrintedText(v)
		}
		return strings.Join(texts, " ")
	}
	writeElapsed := func(c *call, method string) {
		began, ok := timers[label(c)]
		if !ok {
			c.JS.Out.Warn(fmt.Sprintf("No such label '%s' for console.%s()", label(c), method))
			return
		}
		elapsed := c.JS.Clock.Now().Sub(began)
		write(c, fmt.Sprintf("%s: %.3fms", label(c), float64(elapsed)/float64(time.Millisecond)))
	}
	add := func(name string, f func(c *call)) {
		script.Must(o.Set(name, s.newFunction(name, func(c *call) goja.Value { f(c); return nil })))
	}
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		add(name, func(c *call) { write(c, joined(c, c.Args)) })
	}
	add("trace", func(c *call) { write(c, "Trace: "+joined(c, c.Args)) })
	add("dir", func(c *call) {
		o := c.globals.Display.InspectOptions()
		o.Depth = values.NodeInspectOptions().Depth
		write(c, c.JS.Values.Inspect(c.Arg(0), o))
	})
	add("table", func(c *call) { write(c, c.globals.Display.ConsoleTable(c.Arg(0))) })
	add("assert", func(c *call) {
		switch {
		case c.Arg(0).ToBoolean():
		case len(c.Args) > 1:
			write(c, "Assertion failed: "+joined(c, c.Args[1:]))
		default:
			write(c, "Assertion failed")
		}
	})
	add("group", func(c *call) {
		if len(c.Args) > 0 {
			write(c, joined(c, c.Args))
		}
		indent += "  "
	})
	add("groupEnd", func(*call) { indent = strings.TrimSuffix(indent, "  ") })
	add("time", func(c *call) { timers[label(c)] = c.JS.Clock.Now() })
	add("timeLog", func(c *call) { writeElapsed(c, "timeLog") })
	add("timeEnd", func(c *call) {
		writeElapsed(c, "timeEnd")
		delete(timers, label(c))
	})
	add("count", func(c *call) {
		counts[label(c)]++
		write(c, fmt.Sprintf("%s: %d", label(c), counts[label(c)]))
	})
	add("countReset", func(c *call) { delete(counts, label(c)) })
	add("clear", func(c *call) { c.globals.Display.ClearScreen() })
	return o
}

// newLog returns the object log, which start-up scripts use. There is no log file.
func (s *Globals) newLog() goja.Value {
	m := s.newModuleBuilder()
	for _, name := range []string{"info", "warn", "error", "fatal", "debug", "getPath"} {
		m.add(name, func(*call) any { return nil })
	}
	return m.object
}
