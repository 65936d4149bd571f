//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// normal is what must differ between two sessions, or between the two shells
// everywhere; the text both sides become stands beside it.
var normal = []struct {
	pattern *regexp.Regexp
	text    string
}{
	// mongosh hides "Uncaught" behind a carriage return.
	{regexp.MustCompile(`\r`), ""},
	{regexp.MustCompile(`Uncaught:?[ \n]`), "Uncaught "},
	// It shows the lines around the one with a syntax error, too.
	{regexp.MustCompile(`(?m)^  +\d+ \|.*\n?`), ""},
	// What the runtime of mongosh warns of.
	{regexp.MustCompile(`(?m)^\((node:\d+\)|Use .node) .*\n?`), ""},
	// It counts arguments where we name them.
	{regexp.MustCompile(`(Missing required argument|Argument) (at position \d+|[\w()]+) (\(|must be of type)`), "$1 # $3"},
	// What each run makes again.
	{regexp.MustCompile(`ObjectId\('6[0-9a-f]{23}'\)`), "ObjectId('...')"},
	{regexp.MustCompile(`UUID\('[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{18,21}'\)`), "UUID('...')"},
	{regexp.MustCompile(`127\.0\.0\.1:\d{4,5}`), "HOST"},
	{regexp.MustCompile(`\bmillis: \d+`), "millis: N"}, // of a move, in real time
}

// gossip is the end of a reply in mongosh that is readable in shardsh and not
// printed.
var gossip = regexp.MustCompile(`(?s),\s+'\$clusterTime': \{\s+clusterTime: .*?\},\s+operationTime: ` +
	`Timestamp\(\{[^}]*\}\)`)

// alike reports whether the shells printed the same.
func alike(theirs, ours string) bool {
	if !gossip.MatchString(theirs) {
		return theirs == ours
	}
	// A reply may fit on one line without the gossip.
	return oneLine(gossip.ReplaceAllString(theirs, "")) == oneLine(ours)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func normalized(text string) string {
	for _, n := range normal {
		text = n.pattern.ReplaceAllString(text, n.text)
	}
	// An undefined result is an empty line in mongosh.
	return strings.TrimRight(text, "\n")
}

// readDifferences returns the inputs that are to differ, by the row of
// docs/differences.md that says why.
func readDifferences(t *testing.T) map[string]string {
	t.Helper()
	docs, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for _, d := range readTyped(t, "testdata/mongosh/differences.txt") {
		if !strings.Contains(string(docs), "| "+d.group+" |") {
			t.Errorf("docs/differences.md has no row %q", d.group)
		}
		if other, twice := classes[d.input]; twice {
			t.Errorf("listed twice, for %q and %q: %s", other, d.group, d.input)
		}
		classes[d.input] = d.group
	}
	return classes
}

// readOpen returns the inputs that differ and should not.
func readOpen(t *testing.T) map[string]bool {
	t.Helper()
	open := map[string]bool{}
	for _, in := range readTyped(t, "testdata/mongosh/open.txt") {
		open[in.input] = true
	}
	return open
}

// compare holds what the shells printed side by side.
func compare(t *testing.T, inputs []typed, theirs, ours []string, differ map[string]string, open map[string]bool) {
	t.Helper()
	for i, in := range inputs {
		if open[in.input] {
			continue
		}
		want, got := normalized(theirs[i]), normalized(ours[i])
		class, differs := differ[in.input]
		switch {
		case !alike(want, got) && !differs:
			t.Errorf("%s: %s\n--- mongosh\n%s\n--- shardsh\n%s\n---", in.group, in.input, want, got)
		case alike(want, got) && differs:
			t.Errorf("%s: %s\nis listed as different (%s), and both print\n%s", in.group, in.input, class, want)
		}
	}
}

// Each input prints what it printed in mongosh, but for the differences on
// purpose.
func TestAsMongosh(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	t.Parallel()
	differ, open := readDifferences(t), readOpen(t)
	topology, err := os.ReadFile("testdata/mongosh/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, session := range []struct {
		name string
		args func(*testing.T) []string
	}{
		{"nodb", func(*testing.T) []string { return []string{"--nodb"} }},
		{"cluster", func(t *testing.T) []string {
			// A router whose time stood still would look dead in a shell that starts slowly.
			return []string{"mongodb://" + serve(t, string(topology), inRealTime).address + "/app?directConnection=true"}
		}},
	} {
		inputs := readTyped(t, "testdata/mongosh/"+session.name+".txt")
		for _, in := range inputs {
			seen[in.input] = true
		}
		t.Run(session.name, func(t *testing.T) {
			t.Parallel()
			theirs := recordedAnswers(t, session.name, inputs, session.args)
			ours := answersOfShardsh(t, inputs, session.args(t)...)
			compare(t, inputs, theirs, ours, differ, open)
		})
	}
	for input, class := range differ {
		if !seen[input] {
			t.Errorf("listed as different (%s) and in no session: %s", class, input)
		}
	}
}
