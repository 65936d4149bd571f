package complete_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/complete"
)

// tables are those of a small program.
func tables() complete.Tables {
	options := func(add func(f *pflag.FlagSet)) []cmdline.Group {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		add(f)
		return []cmdline.Group{{Title: "Options", Flags: f}}
	}
	return complete.Tables{
		Shell: cmdline.Command{Groups: options(func(f *pflag.FlagSet) {
			f.String("json", "", "`canonical|relaxed` print it as JSON")
			f.Lookup("json").NoOptDefVal = "canonical"
			f.StringP("file", "f", "", "`FILE` run this script")
			f.String("tlsCAFile", "", "`FILE` whom to trust")
			f.String("dbpath", "", "`DIR` keep it here")
			f.String("mock", "", "`N|FILE` the mock")
			f.Bool("quiet", false, "no notices")
			f.Bool("secret", false, "nothing")
			f.Lookup("secret").Hidden = true
			f.String("release", "", "`VERSION` of what is mocked; a long story about it")
		})},
		Commands: []cmdline.Command{
			{Name: "check", About: "is it well", Groups: options(func(f *pflag.FlagSet) {
				f.String("goal", "", "`balance|drain=SHARD|skewed[=SPREAD]` what for")
				f.String("ns", "", "`DB.COLLECTION` of these")
			})},
			{Name: "completion", About: "this"},
		},
		Operands: map[string]complete.Completions{
			"":           {Files: complete.KindFiles, Suffixes: []string{".js"}},
			"completion": complete.NewCompletions("bash", "fish"),
		},
		Values: map[string]complete.Completions{
			"release": complete.NewCompletions("7.0", "8.0"),
			"file":    {Files: complete.KindFiles, Suffixes: []string{".js"}},
		},
	}
}

func TestNext(t *testing.T) {
	for line, want := range map[string]string{ // the words, then the kind of names and their suffixes
		"shardsh ":                   "check completion | files .js",
		"shardsh ch":                 "check | files .js",
		"shardsh x.js ch":            "| files .js",
		"shardsh help c":             "check completion | none",
		"shardsh help check ":        "| files .js",
		"shardsh completion ":        "bash fish | none",
		"shardsh completion f":       "fish | none",
		"shardsh check ":             "| none",
		"shardsh check --":           "--goal --ns | none",
		"shardsh check --goal ":      "balance drain= skewed | none",
		"shardsh check --goal=d":     "--goal=drain= | none",
		"shardsh check --ns ":        "| none",
		"shardsh --q":                "--quiet | none",
		"shardsh --quiet ":           "| files .js",
		"shardsh --quiet=":           "--quiet=true --quiet=false | none",
		"shardsh --no-quiet c":       "| files .js",
		"shardsh --tls-c":            "--tlsCAFile | none",
		"shardsh --tls-ca-file ":     "| files",
		"shardsh --tlsCAFile=/etc/":  "| files",
		"shardsh --json ":            "| files .js",
		"shardsh --json=re":          "--json=relaxed | none",
		"shardsh -f ":                "| files .js",
		"shardsh --dbpath ":          "| directories",
		"shardsh --mock=":            "| files",
		"shardsh --release 8":        "8.0 | none",
		"shardsh --secret":           "| none",
		"shardsh --nothing=":         "| none",
		"shardsh a.js -- --q":        "| files",
		"shardsh --dbpath 'a b' --q": "--quiet | none",
		"shardsh":                    "check completion | files .js",
	} {
		a := tables().Complete(complete.Split(line))
		got := ""
		for _, w := range a.Words {
			got += w.Text + " "
		}
		got += strings.Join(append([]string{"|", string(a.Files)}, a.Suffixes...), " ")
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestDescriptions(t *testing.T) {
	a := tables().Complete([]string{"--re"})
	if want := []complete.Word{{Text: "--release", About: "of what is mocked"}}; !slices.Equal(a.Words, want) {
		t.Errorf("%q", a.Words)
	}
	var text strings.Builder
	if err := tables().Complete([]string{"ch"}).Write(&text); err != nil || text.String() != "files .js\ncheck\tis it well\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"shardsh":              {},
		"shardsh ":             {""},
		"shardsh a  b":         {"a", "b"},
		"shardsh a ":           {"a", ""},
		`shardsh 'a b' "c d`:   {"a b", "c d"},
		`shardsh a\ b 'c\d'`:   {"a b", `c\d`},
		`shardsh "a\"b" '' x=`: {`a"b`, "", "x="},
	} {
		if got := complete.Split(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
