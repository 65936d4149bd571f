package bindings_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestMethodsThatWereMeant: a method that does not exist is asked after on every
// object of the shell's.
func TestMethodsThatWereMeant(t *testing.T) {
	for input, want := range map[string]string{
		"sh.statsu()":                          "sh.statsu is not a function; did you mean sh.status()?",
		"db.getSiblingDb('x')":                 "test.getSiblingDb is a collection, not a function; did you mean getSiblingDB()?",
		"db.c.fnd()":                           "test.c.fnd is a collection, not a function; did you mean find()?",
		"db.c.find().sotr({})":                 "db.c.find(...).sotr is not a function; did you mean db.c.find(...).sort()?",
		"db.c.aggregate([]).toAray()":          "did you mean db.c.aggregate(...).toArray()?",
		"const cur = db.c.find(); cur.limt(1)": "cur.limt is not a function; did you mean cur.limit()?",
		"rs.staus()":                           "did you mean rs.status()?",
		"db.getMongo().getDBnames()":           "did you mean db.getMongo(...).getDBNames()?",
		"const s = db.getMongo().startSession(); s.getDatabse('x')": "did you mean s.getDatabase()?",
		"config.gett('x')":                                  "did you mean config.get()?",
		"mock.crsh('x')":                                    "did you mean mock.crash()?",
		"db.c.explain().fnd()":                              "did you mean db.c.explain(...).find()?",
		"try { sh.statsu() } catch (e) { e.message }":       "sh.statsu is not a function; did you mean sh.status()?",
		"function inside() { return sh.statsu() } inside()": "did you mean sh.status()?",
		"show shrads":                                       "did you mean shards?",
	} {
		if got, _ := shelltest.ConnectMock(t, mock.Config{}).Show(input); !strings.Contains(got, want) {
			t.Errorf("%s shows %s, want %s", input, got, want)
		}
	}
	for _, input := range []string{"sh.completelyUnlikeAnything()", "'x'.toUperCase()", "({a: 1}).b()", "Object.kyes({})"} {
		if got, failed := shelltest.ConnectMock(t, mock.Config{}).Show(input); !failed || strings.Contains(got, "did you mean") {
			t.Errorf("%s shows %s", input, got)
		}
	}
}

// TestAddressOfAConnection: what old scripts give to new Mongo() leads back to the
// same cluster, and nothing leads nowhere.
func TestAddressOfAConnection(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{"db.getMongo().host", "fixture:27017"},
		step{"try { new Mongo(undefined) } catch (e) { e.message }",
			"[COMMON-10001] Argument uri is undefined (Mongo); Mongo() without arguments goes to localhost:27017"},
		step{"try { new Mongo(db.getMongo().hosst) } catch (e) { e.name }", "MongoshInvalidInputError"},
	)
}

// TestPromptThatFails says so once for each function, and the usual prompt is
// there.
func TestPromptThatFails(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{})
	usual := c.Prompt()
	for _, tt := range []struct{ set, told string }{
		{"prompt = () => { throw new Error('no luck') }", "prompt() failed, and the usual prompt is shown: Error: no luck"},
		{"prompt = function () { return 5 }", "it returned no text"},
	} {
		c.Show(tt.set)
		for range 3 {
			if got := c.Prompt(); got != usual {
				t.Errorf("%s: the prompt is %q", tt.set, got)
			}
		}
		if n := strings.Count(c.Errs.String(), tt.told); n != 1 {
			t.Errorf("%s: told %d times: %s", tt.set, n, c.Errs)
		}
	}
	c.Show("prompt = () => 'mine> '")
	if got := c.Prompt(); got != "mine> " || c.Errs.Len() > 0 {
		t.Errorf("the prompt is %q, and %s", got, c.Errs)
	}
}
