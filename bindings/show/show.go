// Package show implements the command show: databases, collections, users, roles, logs and profiles;
// package sh adds more.
package show

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/display"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Host provides what the command needs from the shell.
type Host struct {
	JS      *script.Engine
	Display *display.Display
	// DB returns the current database; nil without a connection.
	DB func() *server.Database
	// Sharding returns the show commands of package sh.
	Sharding func() map[string]func(c *script.Call, d *server.Database) goja.Value
}

// Call implements show (rules/04-command-line-and-prompt §2.5).
func (h Host) Call(c *script.Call) goja.Value {
	d := server.RequireDatabase(c.JS, h.DB())
	word := "undefined"
	if c.Has(0) {
		word = c.Text(0)
	}
	if show, ok := h.Sharding()[word]; ok {
		return show(c, d)
	}
	show, ok := commands()[word]
	if !ok {
		words := h.Words()
		slices.Sort(words)
		c.JS.ThrowInvalid("'%s' is not a valid argument for \"show\" (it knows %s)%s", word, strings.Join(words, ", "),
			plaintext.DidYouMean(word, words))
	}
	return show(h, c, d)
}

// Words returns the valid arguments.
func (h Host) Words() []string {
	words := slices.Collect(maps.Keys(h.Sharding()))
	for w := range commands() {
		if w != "dbs" && w != "nonGenuineMongoDBCheck" && w != "automationNotices" {
			words = append(words, w)
		}
	}
	return words
}

func commands() map[string]func(Host, *script.Call, *server.Database) goja.Value {
	return map[string]func(Host, *script.Call, *server.Database) goja.Value{
		"dbs": showDatabases, "databases": showDatabases,
		"collections": showCollections, "tables": showCollections,
		"users": func(h Host, c *script.Call, d *server.Database) goja.Value {
			return h.Display.ShowResult(c.JS.Values.ToJS(d.Run(server.Command("usersInfo"), server.Repeatable).Lookup("users")))
		},
		"roles": func(h Host, c *script.Call, d *server.Database) goja.Value {
			reply := d.Run(server.Command("rolesInfo", bson.E{Key: "showBuiltinRoles", Value: true}), server.Repeatable)
			return h.Display.ShowResult(c.JS.Values.ToJS(reply.Lookup("roles")))
		},
		"profile": showProfile,
		"log": func(h Host, c *script.Call, d *server.Database) goja.Value {
			name := "global"
			if c.Has(1) {
				name = c.Text(1)
			}
			return h.Display.ShowResult(c.JS.Values.ToJS(d.RunAdmin(bson.D{{Key: "getLog", Value: name}},
				server.Repeatable).Lookup("log")))
		},
		"logs": func(h Host, c *script.Call, d *server.Database) goja.Value {
			return h.Display.ShowResult(c.JS.Values.ToJS(d.RunAdmin(bson.D{{Key: "getLog", Value: "*"}},
				server.Repeatable).Lookup("names")))
		},
		"startupWarnings":        showStartupWarnings,
		"automationNotices":      func(_ Host, c *script.Call, _ *server.Database) goja.Value { return c.JS.TextResult("") },
		"nonGenuineMongoDBCheck": func(_ Host, c *script.Call, _ *server.Database) goja.Value { return c.JS.TextResult("") },
	}
}

func showDatabases(_ Host, c *script.Call, d *server.Database) goja.Value {
	list, _ := d.Conn.ListDatabases().Lookup("databases").ArrayOK()
	values, _ := list.Values()
	rows := make([][]string, 0, len(values))
	for _, v := range values {
		doc, _ := v.DocumentOK()
		rows = append(rows, []string{
			plaintext.EscapeLine(rawdoc.Text(doc, "name")), plaintext.DatabaseSizeText(rawdoc.Number(doc, "sizeOnDisk")),
		})
	}
	slices.SortFunc(rows, func(a, b []string) int { return plaintext.CompareNames(a[0], b[0]) })
	return c.JS.StyledResult(databaseColumns(c.JS, rows))
}

// databaseColumns formats the names and the sizes of databases; sizes are right-aligned.
func databaseColumns(js *script.Engine, rows [][]string) string {
	var first, second int
	for _, r := range rows {
		first, second = max(first, len([]rune(r[0]))), max(second, len([]rune(r[1])))
	}
	var b strings.Builder
	for _, r := range rows {
		gap := first - len([]rune(r[0])) + 2 + second - len([]rune(r[1]))
		b.WriteString(js.Out.Paint(script.NameColor, r[0]) + strings.Repeat(" ", gap) + r[1] + "\n")
	}
	return b.String()
}

func showCollections(_ Host, c *script.Call, d *server.Database) goja.Value {
	var plain, system [][]string
	infos := d.ListCollections(rawdoc.Empty, true, nil)
	slices.SortFunc(infos, func(a, b bson.Raw) int {
		return plaintext.CompareNames(rawdoc.Text(a, "name"), rawdoc.Text(b, "name"))
	})
	for _, info := range infos {
		name := rawdoc.Text(info, "name")
		badge := ""
		switch rawdoc.Text(info, "type") {
		case "view":
			badge = "[view]"
		case "timeseries":
			badge = "[time-series]"
		}
		row := []string{plaintext.EscapeLine(name), badge}
		if strings.HasPrefix(name, "system.") || strings.HasPrefix(name, "enxcol_.") {
			system = append(system, row)
		} else {
			plain = append(plain, row)
		}
	}
	width := 0
	for _, r := range append(slices.Clone(plain), system...) {
		width = max(width, len([]rune(r[0])))
	}
	pad := func(rows [][]string) {
		for _, r := range rows {
			if r[1] != "" {
				r[1] = strings.Repeat(" ", 2+width-len([]rune(r[0]))) + r[1]
			}
		}
	}
	pad(plain)
	pad(system)
	var b strings.Builder
	for _, r := range plain {
		b.WriteString(c.JS.Out.Paint(script.NameColor, r[0]) + r[1] + "\n")
	}
	for _, r := range system {
		b.WriteString(c.JS.Out.Paint(script.DimColor, r[0]) + r[1] + "\n")
	}
	return c.JS.StyledResult(b.String())
}

func showProfile(h Host, c *script.Call, d *server.Database) goja.Value {
	docs := d.FindAll("system.profile", bson.D{{Key: "millis", Value: bson.D{{Key: "$gt", Value: int32(0)}}}},
		server.SortField("$natural", -1), server.LimitField(5))
	if len(docs) == 0 {
		return c.JS.TextResult("db.system.profile is empty.\nUse db.setProfilingLevel(2) will enable profiling.\n" +
			"Use db.getCollection('system.profile').find() to show raw profile entries.")
	}
	var b strings.Builder
	for _, doc := range docs {
		when, _ := doc.Lookup("ts").TimeOK()
		b.WriteString(rawdoc.Text(doc, "op") + "\t" + rawdoc.Text(doc, "ns") + " " +
			plaintext.JSNumber(rawdoc.Number(doc, "millis")) + "ms " + when.Format(time.ANSIC) + "\n")
		elems, _ := doc.Elements()
		var fields []string
		for _, el := range elems {
			if slices.Contains([]string{"ts", "op", "ns", "millis"}, el.Key()) {
				continue
			}
			fields = append(fields, el.Key()+":"+h.Display.Inspect(c.JS.Values.ToJS(el.Value()))+" ")
		}
		b.WriteString(strings.Join(fields, "") + "\n")
	}
	return c.JS.TextResult(b.String())
}

// showStartupWarnings prints the startup warnings of the server's log.
func showStartupWarnings(_ Host, c *script.Call, d *server.Database) goja.Value {
	list, _ := d.RunAdmin(bson.D{{Key: "getLog", Value: "startupWarnings"}}, server.Repeatable).Lookup("log").ArrayOK()
	values, _ := list.Values()
	var lines []string
	for _, v := range values {
		text, _ := v.StringValueOK()
		var line struct {
			T   time.Time `bson:"t"`
			Msg string    `bson:"msg"`
		}
		if err := bson.UnmarshalExtJSON([]byte(text), false, &line); err != nil {
			lines = append(lines, "   "+text)
			continue
		}
		lines = append(lines, "   "+line.T.UTC().Format("2006-01-02T15:04:05.000Z07:00")+": "+line.Msg)
	}
	if len(lines) == 0 {
		return c.JS.TextResult("")
	}
	return c.JS.TextResult("------\n   The server generated these startup warnings when booting\n" + strings.Join(lines,
		"\n") + "\n------")
}
