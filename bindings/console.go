package bindings

import (
	"fmt"
	"shardsh/bindings/script"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// nodeDepth is how deep Node itself shows a value: console.dir, util.inspect.
const nodeDepth = 2

// newConsole makes console. All of it writes to standard output, as mongosh's
// does (spec 04 §1.7).
func (s *Shell) newConsole() goja.Value {
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
			texts[i] = c.s.printed(v)
		}
		line := strings.Join(texts, " ")
		if indent != "" {
			line = indent + strings.ReplaceAll(line, "\n", "\n"+indent)
		}
		c.JS.Write(line + "\n")
	}
	elapsed := func(c *call, name string) string {
		return fmt.Sprintf("%s: %.3fms", name, float64(c.JS.Clock.Now().Sub(timers[name]))/float64(time.Millisecond))
	}
	add := func(name string, f func(c *call)) {
		script.Must(o.Set(name, s.function(name, func(c *call) goja.Value { f(c); return nil })))
	}
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		add(name, func(c *call) { print(c, c.Args) })
	}
	add("trace", func(c *call) {
		c.JS.Write("Trace: ")
		print(c, c.Args)
	})
	add("dir", func(c *call) {
		o := c.s.inspectOptions()
		o.Depth = nodeDepth
		c.JS.Write(c.JS.World.Inspect(c.Arg(0), o) + "\n")
	})
	add("table", func(c *call) { c.JS.Write(c.s.table(c.Arg(0)) + "\n") })
	add("assert", func(c *call) {
		if !c.Arg(0).ToBoolean() {
			c.JS.Write("Assertion failed")
			if len(c.Args) > 1 {
				c.JS.Write(": ")
				print(c, c.Args[1:])
				return
			}
			c.JS.Write("\n")
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
	add("timeLog", func(c *call) { c.JS.Write(elapsed(c, label(c)) + "\n") })
	add("timeEnd", func(c *call) {
		c.JS.Write(elapsed(c, label(c)) + "\n")
		delete(timers, label(c))
	})
	add("count", func(c *call) {
		counts[label(c)]++
		c.JS.Write(fmt.Sprintf("%s: %d\n", label(c), counts[label(c)]))
	})
	add("countReset", func(c *call) { delete(counts, label(c)) })
	add("clear", func(c *call) { c.s.clearScreen() })
	return o
}

// clearScreen clears a terminal and does nothing else elsewhere.
func (s *Shell) clearScreen() {
	if s.cfg.Interactive && s.cfg.Color {
		s.JS.Write("\x1b[H\x1b[2J")
	}
}

// table draws rows of objects as console.table does.
func (s *Shell) table(v goja.Value) string {
	rows, ok := v.(*goja.Object)
	if !ok {
		return s.printed(v)
	}
	const index, single = "(index)", "Values"
	header := []string{index}
	seen := map[string]int{}
	var lines [][]string
	hasSingle := false
	column := func(name string) int {
		i, ok := seen[name]
		if !ok {
			i = len(header)
			seen[name] = i
			header = append(header, name)
		}
		return i
	}
	put := func(line []string, i int, text string) []string {
		for len(line) <= i {
			line = append(line, "")
		}
		line[i] = text
		return line
	}
	var singles []string
	for _, k := range rows.Keys() {
		line := []string{k}
		single := ""
		if row, ok := rows.Get(k).(*goja.Object); ok {
			for _, name := range row.Keys() {
				line = put(line, column(name), s.inspect(row.Get(name)))
			}
		} else {
			single, hasSingle = s.inspect(rows.Get(k)), true
		}
		lines = append(lines, line)
		singles = append(singles, single)
	}
	if hasSingle {
		i := column(single)
		for n := range lines {
			lines[n] = put(lines[n], i, singles[n])
		}
	}
	return drawTable(header, lines)
}

// drawTable draws as Node does. Cells are text that is shown as it is.
func drawTable(header []string, lines [][]string) string {
	var b strings.Builder
	table := tablewriter.NewTable(&b,
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone))
	table.Header(header)
	for _, line := range lines {
		for len(line) < len(header) {
			line = append(line, "")
		}
		if err := table.Append(line); err != nil {
			return err.Error()
		}
	}
	if err := table.Render(); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
