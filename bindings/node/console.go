package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// nodeDepth is the depth to which Node itself shows a value: console.dir, util.inspect.
const nodeDepth = 2

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
	print := func(c *call, args []goja.Value) {
		texts := make([]string, len(args))
		for i, v := range args {
			texts[i] = c.s.Display.PrintedText(v)
		}
		line := strings.Join(texts, " ")
		if indent != "" {
			line = indent + strings.ReplaceAll(line, "\n", "\n"+indent)
		}
		c.JS.Out.WriteRaw(line + "\n")
	}
	elapsed := func(c *call, name string) string {
		return fmt.Sprintf("%s: %.3fms", name, float64(c.JS.Clock.Now().Sub(timers[name]))/float64(time.Millisecond))
	}
	add := func(name string, f func(c *call)) {
		script.Must(o.Set(name, s.newFunction(name, func(c *call) goja.Value { f(c); return nil })))
	}
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		add(name, func(c *call) { print(c, c.Args) })
	}
	add("trace", func(c *call) {
		c.JS.Out.WriteRaw("Trace: ")
		print(c, c.Args)
	})
	add("dir", func(c *call) {
		o := c.s.Display.InspectOptions()
		o.Depth = nodeDepth
		c.JS.Out.WriteRaw(c.JS.Values.Inspect(c.Arg(0), o) + "\n")
	})
	add("table", func(c *call) { c.JS.Out.WriteRaw(c.s.Display.NodeTable(c.Arg(0)) + "\n") })
	add("assert", func(c *call) {
		if !c.Arg(0).ToBoolean() {
			c.JS.Out.WriteRaw("Assertion failed")
			if len(c.Args) > 1 {
				c.JS.Out.WriteRaw(": ")
				print(c, c.Args[1:])
				return
			}
			c.JS.Out.WriteRaw("\n")
		}
	})
	add("group", func(c *call) {
		if len(c.Args) > 0 {
			print(c, c.Args)
		}
		indent += "  "
	})
	add("groupEnd", func(*call) { indent = strings.TrimSuffix(indent, "  ") })
	add("time", func(c *call) { timers[label(c)] = c.JS.Clock.Now() })
	add("timeLog", func(c *call) { c.JS.Out.WriteRaw(elapsed(c, label(c)) + "\n") })
	add("timeEnd", func(c *call) {
		c.JS.Out.WriteRaw(elapsed(c, label(c)) + "\n")
		delete(timers, label(c))
	})
	add("count", func(c *call) {
		counts[label(c)]++
		c.JS.Out.WriteRaw(fmt.Sprintf("%s: %d\n", label(c), counts[label(c)]))
	})
	add("countReset", func(c *call) { delete(counts, label(c)) })
	add("clear", func(c *call) { c.s.Display.ClearScreen() })
	return o
}

// newLog returns the object log, which start-up scripts use. There is no log file.
func (s *Globals) newLog() goja.Value {
	m := s.newModuleBuilder()
	for _, name := range []string{"info", "warn", "error", "fatal", "debug", "getPath"} {
		m.add(name, func(*call) any { return nil })
	}
	return m.o
}
