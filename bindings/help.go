package bindings

import (
	"strings"

	"github.com/dop251/goja"
)

// helpEntry is the help of one function.
type helpEntry struct {
	form  string // the call: name(arguments)
	class string // as in error messages; empty for globals
	text  string
}

// helpColumn is where explanations start, and go on in the lines that follow
// (spec 04 §2.13); helpWidth is where they end.
const (
	helpColumn = 47
	helpWidth  = 80
)

// receivers() is how an object of a class is written in a call form.
func receivers() map[string]string {
	return map[string]string{
		"Shard": "sh.", "Database": "db.", "Collection": "db.collection.", "Cursor": "cursor.", "Mongo": "db.getMongo().",
		"ReplicaSet": "rs.", mockClass: "mock.", "Bulk": "bulk.", "Explainable": "db.collection.explain().", configClass: "config.",
	}
}

func (h helpEntry) render(s *Shell) string {
	return "\n  " + s.paint(headingColor, receivers()[h.class]+h.form+":") + "\n\n  " + h.text
}

// helpTable is the help of an object: a heading and a line for each member.
func (s *Shell) helpTable(heading string, rows [][2]string) string {
	var b strings.Builder
	b.WriteString("\n  " + s.paint(headingColor, heading+":") + "\n\n")
	for _, r := range rows {
		column := "    " + r[0]
		for _, line := range wrapped(r[1], helpWidth-helpColumn) {
			gap := max(1, helpColumn-len([]rune(column)))
			b.WriteString(column + strings.Repeat(" ", gap) + line + "\n")
			column = ""
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// helpOf makes a table of methods that say what they do.
func helpOf[T any](methods []method[T]) [][2]string {
	var rows [][2]string
	for _, m := range methods {
		if m.help != "" {
			rows = append(rows, [2]string{m.name, m.help})
		}
	}
	return rows
}

func shellHelp(s *Shell) string {
	rows := [][2]string{
		{"use <db>", "Makes another database db."},
		{"show dbs", "Lists the databases and their sizes."},
		{"show collections", "Lists the collections of db."},
		{"show shards, zones, chunks [ns]", "Shows the cluster's layout."},
		{"show balancer, migrations", "Shows what the balancer does."},
		{"it", "Shows the next page of the last cursor."},
		{"db.help()", "Methods of databases."},
		{"db.collection.help()", "Methods of collections."},
		{"sh.help()", "Helpers for sharded clusters."},
		{"rs.help()", "Helpers for replica sets."},
		{"mock.help()", "Time and faults of the mock cluster."},
		{"config.help()", "Settings of the shell."},
		{"sh.moveChunk.help()", "What a method does; each has such a help."},
	}
	for _, table := range [][]global{printGlobals(), shellGlobals(), consoleGlobals(), fileGlobals()} {
		for _, g := range table {
			if g.help != "" && g.name != "use" && g.name != "show" {
				rows = append(rows, [2]string{callForm(g.name, g.signature), g.help})
			}
		}
	}
	return s.helpTable("Shell Help", rows)
}

// helpObject is a help text as a value: it prints as the text.
func (s *Shell) helpObject(text func(*Shell) string) goja.Value {
	return s.shownHelp(text(s))
}

func (s *Shell) shownHelp(text string) goja.Value { return s.instanceOfShown(&shown{text: text}) }

// helpFunction is a help that works with and without call parentheses
// (spec 04 §2.4).
func (s *Shell) helpFunction(text func(*Shell) string) goja.Value {
	f := s.function("help", func(c *call) goja.Value { return c.s.helpObject(text) })
	s.world.SetPrinter(f, func() string { return text(s) })
	return f
}

// helpProperty gives a class's prototype a help that needs no parentheses.
func (s *Shell) helpProperty(proto *goja.Object, text func(*Shell) string) {
	s.world.DefineLazy(proto, "help", func() goja.Value { return s.helpFunction(text) })
}
