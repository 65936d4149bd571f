package bindings_test

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// TestJSON: results as extended JSON; cursors are drained, wrappers bare
// (rules/04-command-line-and-prompt §1.8, fix).
func TestJSON(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tc := range []struct {
		input     string
		canonical bool
		want      string
	}{
		{"({a: NumberLong(1), b: [1.5]})", false, "{\n  \"a\": 1,\n  \"b\": [\n    1.5\n  ]\n}"},
		{"({a: NumberLong(1)})", true, "{\n  \"a\": {\n    \"$numberLong\": \"1\"\n  }\n}"},
		{"db.orders.find({_id: {$lt: 2}}, {a: 0})", false, "[\n  {\n    \"_id\": 0\n  },\n  {\n    \"_id\": 1\n  }\n]"},
		{"db.orders.find().map(d => d._id).limit ? 1 : 0", false, "1"},
		{"undefined", false, ""},
		{"sh.status().autosplit", false, "{\n  \"Currently enabled\": \"yes\"\n}"},
	} {
		r, err := c.Eval(context.Background(), "eval", tc.input)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if tc.want != "" {
			tc.want += "\n"
		}
		err = c.WriteJSON(context.Background(), &got, r, bindings.JSONStyle{Canonical: tc.canonical})
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: %s %v", tc.input, got.String(), err)
		}
	}
	r, err := c.Eval(context.Background(), "eval", "sh.status()")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	err = c.WriteJSON(context.Background(), &got, r, bindings.JSONStyle{})
	if err != nil || !strings.HasPrefix(got.String(), "{\n  \"shardingVersion\"") || strings.Contains(got.String(), "StatsResult") {
		t.Errorf("sh.status(): %s %v", got.String(), err)
	}
}

// TestJSONLines: one document a line, of cursors and of arrays.
func TestJSONLines(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tc := range []struct {
		input string
		style bindings.JSONStyle
		want  string
	}{
		{"db.orders.find({}, {a: 0})", bindings.JSONStyle{Lines: true, Limit: 2}, "{\"_id\":0}\n{\"_id\":1}\n"},
		{"db.orders.find({_id: -1})", bindings.JSONStyle{Lines: true}, ""},
		{"db.orders.find({_id: -1})", bindings.JSONStyle{}, "[]\n"},
		{"[{a: 1}, 'b']", bindings.JSONStyle{Lines: true}, "{\"a\":1}\n\"b\"\n"},
		{"({a: [1]})", bindings.JSONStyle{Lines: true, Canonical: true}, "{\"a\":[{\"$numberInt\":\"1\"}]}\n"},
		{"undefined", bindings.JSONStyle{Lines: true}, ""},
	} {
		r, err := c.Eval(context.Background(), "eval", tc.input)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := c.WriteJSON(context.Background(), &got, r, tc.style); err != nil || got.String() != tc.want {
			t.Errorf("%s: %q %v, want %q", tc.input, got.String(), err, tc.want)
		}
	}
}

// TestLimits of what a script's result shows.
func TestLimits(t *testing.T) {
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive, cfg.ResultLimit, cfg.LimitDepth = false, 2, true })
	shelltest.Run(t, c, step{"({a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}}).a ? 1 : 0", "1"})
	if got, _ := c.Show("db.orders.find({}, {a: 0})"); got != "[ { _id: 0 }, { _id: 1 } ]" {
		t.Errorf("find() shows %s", got)
	}
	if got, _ := c.Show("({a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}})"); !strings.Contains(got, "[Object]") {
		t.Errorf("a deep object shows as %s", got)
	}
}

// TestResultsOfScripts are whole, but for cursors: no depth.
func TestResultsOfScripts(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive = false }),
		step{"db.orders.find({_id: {$lt: 25}}, {a: 0}).toArray().length + db.orders.find().toArray().length", "70"},
		step{"({a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}})", "{\n  a: {\n    b: {\n      c: {\n        d: {\n          e: { f: { g: { h: 1 } } }\n        }\n      }\n    }\n  }\n}"},
		step{"Array.from({length: 101}, (_, i) => i).length + String(Array(101)).length", "201"},
	)
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive, cfg.ResultLimit = false, -1 })
	got, _ := c.Show("db.orders.find()")
	if strings.Contains(got, "Type") || !strings.Contains(got, "_id: 44") {
		t.Errorf("find() shows %s", got)
	}
	c = shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Interactive = false }) // as mongosh: 20
	got, _ = c.Show("db.orders.find()")
	if !strings.HasSuffix(got, "Type \"it\" for more") || !strings.Contains(got, "_id: 19") || strings.Contains(got, "_id: 20") {
		t.Errorf("find() shows %s", got)
	}
}

func TestPages(t *testing.T) {
	c := shelltest.Connect(t)
	shelltest.Run(t, c,
		step{"config.set('displayBatchSize', 2)", `Setting "displayBatchSize" has been changed`},
		step{"let c1 = db.orders.find({}, {a: 0}); db.orders.find({_id: 7}); c1", "[ { _id: 0 }, { _id: 1 } ]\nType \"it\" for more"},
		step{"it", "[ { _id: 7, a: 'v7' } ]"}, // the last cursor created, not the last shown
		step{"it", "no cursor"},
		step{"print(db.orders.find({_id: {$lt: 2}}, {a: 0}))", "[ { _id: 0 }, { _id: 1 } ]"},
		step{"[...db.orders.find({_id: {$lt: 2}})].length", "2"},
		step{"Array.from(db.orders.find({_id: {$lt: 2}})).length", "2"},
		step{"const [first] = db.orders.find(); first", "{ _id: 0, a: 'v0' }"},
		step{"db.orders.find().forEach(d => { if (d._id == 1) throw new Error('stop') })", "Error: stop"},
		step{"db.orders.find().objsLeftInBatch()", "0"},
		step{"it\nuse config\nit", "no cursor"},
		step{"db.getSiblingDB('app').orders.find().project({a: 0}).limit(1)", "[ { _id: 0 } ]"},
	)
}

func TestPrompt(t *testing.T) {
	c := shelltest.Connect(t)
	if got := c.Prompt(); got != "[direct: mongos] app> " {
		t.Errorf("prompt %q", got)
	}
	for input, want := range map[string]string{
		"prompt = 'p> '":                     "p> ",
		"prompt = () => db.getName() + '# '": "app# ",
		"prompt = () => 5":                   "[direct: mongos] app> ",
		"prompt = () => { throw 1 }":         "[direct: mongos] app> ",
	} {
		c.Show(input)
		if got := c.Prompt(); got != want {
			t.Errorf("%s: %q", input, got)
		}
	}
	c = shelltest.Connect(t, func(c *bindings.Config) { c.SetName, c.Deployment = "rs0", "direct: primary" })
	c.SetAnswers(map[string]bson.D{"buildInfo": ok(field("version", "8.0.4"), field("modules", bson.A{"enterprise"}))})
	if got := c.Prompt(); got != "Enterprise rs0 [direct: primary] app> " {
		t.Errorf("prompt %q", got)
	}
	nodb, err := bindings.New(bindings.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := nodb.Prompt(); got != "> " {
		t.Errorf("without a connection: %q", got)
	}
}

func TestHelp(t *testing.T) {
	c := shelltest.Connect(t)
	for _, input := range []string{"help", "help()", "db.help", "db.help()", "sh.help()", "db.orders.help()", "db.orders.find().help()", "rs.help", "sh.moveChunk.help", "sh.moveChunk.help()", "print.help()", "help sh", "help sh.moveChunk;", "help db.orders"} {
		got, failed := c.Show(input)
		if failed || !strings.HasPrefix(got, "\n  ") {
			t.Errorf("%s shows %s", input, got)
		}
	}
	if got, _ := c.Show("sh.moveChunk.help"); !strings.HasPrefix(got, "\n  sh.moveChunk(ns, query, to, options):\n\n  Moves") {
		t.Error(got)
	}
	text, _ := c.Show("db.help")
	for _, line := range strings.Split(text, "\n")[3:] {
		if len(line) > script.HelpColumn && line[script.HelpColumn-1] != ' ' {
			t.Errorf("text does not start at column %d: %q", script.HelpColumn, line)
		}
	}
}
