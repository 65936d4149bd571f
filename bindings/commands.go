package bindings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// shellGlobals() are the shell's own functions.
func shellGlobals() []global {
	return []global{
		{"use", "database?:any", func(c *call) goja.Value { return c.useCommand() }, "Makes another database db."},
		{"show", "", func(c *call) goja.Value { return c.showCommand() },
			"Shows dbs, collections, users, roles, profile, logs, shards, zones, chunks, migrations or the balancer."},
		{"exit", "code?:any", func(c *call) goja.Value { return c.Quit() }, "Ends the shell with an exit code."},
		{"quit", "code?:any", func(c *call) goja.Value { return c.Quit() }, "Ends the shell with an exit code."},
		{"cls", "", func(c *call) goja.Value { c.s.display.ClearScreen(); return nil }, "Clears the screen."},
		{"sleep", "", func(c *call) goja.Value {
			if goja.IsString(c.Arg(0)) && !isNumeral(c.Arg(0).String()) {
				c.JS.Sleep(c.DurationOf("sleep", "time", c.Arg(0)))
				return nil
			}
			ms := c.Arg(0).ToFloat()
			if ms > 0 {
				c.JS.Sleep(time.Duration(math.Min(ms, 1<<53) * float64(time.Millisecond)))
			}
			return nil
		}, "Waits for some milliseconds, or a time such as \"1h30m\"."},
		{"version", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.s.cfg.Version) },
			"Returns the shell's version."},
		{"isInteractive", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.s.cfg.Interactive) },
			"Tells whether there is a prompt."},
		{"connect", "uri:string user?:string password?:string", func(c *call) goja.Value { return c.connectDatabase() },
			"Opens another connection and returns its database."},
		{"atExit", "f:function", func(c *call) goja.Value {
			f, _ := goja.AssertFunction(c.Arg(0))
			c.JS.AtExit(f)
			return nil
		}, "Calls a function when the shell ends, however it ends."},
		{"disableTelemetry", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue("Telemetry is now disabled.") },
			"Answers that telemetry is off: there is none."},
		{"enableTelemetry", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue("Telemetry is not available.") },
			"Answers that there is no telemetry."},
		{"convertShardKeyToHashed", "value:any", func(c *call) goja.Value { return c.hashed(c.Arg(0)) },
			"Returns the hash of a shard key value."},
	}
}

func (s *Shell) requireDB() *database {
	if s.db == nil {
		s.JS.ThrowCoded(script.InvalidInput, script.CodeNotConnected, "No connected database")
	}
	return s.db
}

// useCommand needs a connection before it needs a name, as a method of Mongo.
func (c *call) useCommand() goja.Value {
	c.s.requireDB()
	c.Check("Mongo.use", script.ParseSignature("database:string"))
	return c.s.use(c.Text(0))
}

func (s *Shell) use(name string) goja.Value {
	d := s.requireDB()
	if d.session == nil {
		return s.useOn(d.on, name)
	}
	if d.Name == name {
		return s.switched(d, name)
	}
	return s.switched(d.session.database(name), name)
}

// useOn is use with a database of another connection.
func (s *Shell) useOn(m *mongoObject, name string) goja.Value {
	return s.switched(m.checkedDatabase(name), name)
}

func (s *Shell) switched(to *database, name string) goja.Value {
	s.cursor = nil
	if s.db == to {
		return s.JS.Runtime.ToValue("already on db " + name)
	}
	s.db = to
	return s.JS.Runtime.ToValue("switched to db " + name)
}

// defineIt makes the global it, whose reading hands out the next page.
func (s *Shell) defineIt() {
	global := s.JS.Runtime.GlobalObject()
	settle := func(v goja.Value) {
		script.Must(global.DefineDataProperty("it", v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	get := func(goja.FunctionCall) goja.Value {
		if s.cursor == nil || s.cursor.server == nil && s.cursor.closed || !s.cursor.hasNext() {
			s.cursor = nil
			return s.JS.Runtime.ToValue("no cursor")
		}
		return s.cursor.object
	}
	set := func(fc goja.FunctionCall) goja.Value {
		settle(fc.Argument(0))
		return goja.Undefined()
	}
	script.Must(global.DefineAccessorProperty("it", s.JS.Runtime.ToValue(get), s.JS.Runtime.ToValue(set),
		goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// showCommand is show (rules/04-command-line-and-prompt §2.5).
func (c *call) showCommand() goja.Value {
	d := c.s.requireDB()
	word := "undefined"
	if c.Has(0) {
		word = c.Text(0)
	}
	if show, ok := c.s.sharding.Shows()[word]; ok {
		return show(c.Call, d.Database)
	}
	show, ok := showCommands()[word]
	if !ok {
		words := completion{c.s}.ShowWords()
		slices.Sort(words)
		c.JS.ThrowInvalid("'%s' is not a valid argument for \"show\" (it knows %s)%s", word, strings.Join(words, ", "),
			plaintext.DidYouMean(word, words))
	}
	return show(c, d)
}

func showCommands() map[string]func(*call, *database) goja.Value {
	return map[string]func(*call, *database) goja.Value{
		"dbs": showDatabases, "databases": showDatabases,
		"collections": showCollections, "tables": showCollections,
		"users": func(c *call, d *database) goja.Value {
			return c.s.display.ShownValue(c.JS.World.ToJS(d.Run(server.Command("usersInfo"), server.Reads).Lookup("users")))
		},
		"roles": func(c *call, d *database) goja.Value {
			reply := d.Run(server.Command("rolesInfo", bson.E{Key: "showBuiltinRoles", Value: true}), server.Reads)
			return c.s.display.ShownValue(c.JS.World.ToJS(reply.Lookup("roles")))
		},
		"profile": showProfile,
		"log": func(c *call, d *database) goja.Value {
			name := "global"
			if c.Has(1) {
				name = c.Text(1)
			}
			return c.s.display.ShownValue(c.JS.World.ToJS(d.Admin(bson.D{{Key: "getLog", Value: name}},
				server.Reads).Lookup("log")))
		},
		"logs": func(c *call, d *database) goja.Value {
			return c.s.display.ShownValue(c.JS.World.ToJS(d.Admin(bson.D{{Key: "getLog", Value: "*"}},
				server.Reads).Lookup("names")))
		},
		"startupWarnings":        showStartupWarnings,
		"automationNotices":      func(c *call, _ *database) goja.Value { return c.JS.ShownText("") },
		"nonGenuineMongoDBCheck": func(c *call, _ *database) goja.Value { return c.JS.ShownText("") },
	}
}

func showDatabases(c *call, d *database) goja.Value {
	list, _ := d.on.listDatabases().Lookup("databases").ArrayOK()
	values, _ := list.Values()
	rows := make([][]string, 0, len(values))
	for _, v := range values {
		doc, _ := v.DocumentOK()
		rows = append(rows, []string{
			plaintext.VisibleLine(rawdoc.Text(doc, "name")), plaintext.SizeText(rawdoc.Number(doc, "sizeOnDisk")),
		})
	}
	slices.SortFunc(rows, func(a, b []string) int { return plaintext.Compare(a[0], b[0]) })
	return c.JS.ShownStyled(c.s.columns(rows, script.NameColor, true))
}

// columns sets two columns, the second flush right when it holds numbers.
func (s *Shell) columns(rows [][]string, color string, right bool) string {
	var first, second int
	for _, r := range rows {
		first, second = max(first, len([]rune(r[0]))), max(second, len([]rune(r[1])))
	}
	var b strings.Builder
	for _, r := range rows {
		line := s.JS.Out.Paint(color, r[0])
		gap := strings.Repeat(" ", first-len([]rune(r[0])))
		switch {
		case right:
			line += gap + "  " + strings.Repeat(" ", second-len([]rune(r[1]))) + r[1]
		case r[1] != "":
			line += gap + "  " + r[1]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func showCollections(c *call, d *database) goja.Value {
	var plain, system [][]string
	infos := d.listCollections(rawdoc.Empty, true, nil)
	slices.SortFunc(infos, func(a, b bson.Raw) int {
		return plaintext.Compare(rawdoc.Text(a, "name"),
			rawdoc.Text(b, "name"))
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
		row := []string{plaintext.VisibleLine(name), badge}
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
	return c.JS.ShownStyled(b.String())
}

func showProfile(c *call, d *database) goja.Value {
	docs := d.FindAll("system.profile", bson.D{{Key: "millis", Value: bson.D{{Key: "$gt", Value: int32(0)}}}},
		server.SortedBy("$natural", -1), server.LimitedTo(5))
	if len(docs) == 0 {
		return c.JS.ShownText("db.system.profile is empty.\nUse db.setProfilingLevel(2) will enable profiling.\n" +
			"Use db.getCollection('system.profile').find() to show raw profile entries.")
	}
	var b strings.Builder
	for _, doc := range docs {
		when, _ := doc.Lookup("ts").TimeOK()
		b.WriteString(rawdoc.Text(doc, "op") + "\t" + rawdoc.Text(doc,
			"ns") + " " + plaintext.PlainNumber(rawdoc.Number(doc, "millis")) + "ms " + when.Format(time.ANSIC) + "\n")
		elems, _ := doc.Elements()
		var fields []string
		for _, el := range elems {
			if slices.Contains([]string{"ts", "op", "ns", "millis"}, el.Key()) {
				continue
			}
			fields = append(fields, el.Key()+":"+c.s.display.Inspect(c.JS.World.ToJS(el.Value()))+" ")
		}
		b.WriteString(strings.Join(fields, "") + "\n")
	}
	return c.JS.ShownText(b.String())
}

// showStartupWarnings prints the lines of the server's log that it wrote when it
// started.
func showStartupWarnings(c *call, d *database) goja.Value {
	list, _ := d.Admin(bson.D{{Key: "getLog", Value: "startupWarnings"}}, server.Reads).Lookup("log").ArrayOK()
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
		return c.JS.ShownText("")
	}
	return c.JS.ShownText("------\n   The server generated these startup warnings when booting\n" + strings.Join(lines,
		"\n") + "\n------")
}

// isNumeral reports whether JavaScript takes a text for a number, the empty one too.
func isNumeral(text string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil || strings.TrimSpace(text) == ""
}
