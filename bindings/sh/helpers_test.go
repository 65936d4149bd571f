package sh

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list in docs/sh.md again")

const shPage = "../../docs/sh.md"

// returned is what helpers return that don't return the server's reply.
func returned() map[string]string {
	const (
		changed = "an UpdateResult"
		cursor  = "a cursor"
		finding = "`headline`, `healthy`, `symptoms`, `causes`, `notes`; printed as text, `text(true)` has all"
		none    = "nothing"
	)
	list := map[string]string{"undo": "a plan",
		"snapshot":             "`time`, `version`, `settings`, `shards`, `collections`, …",
		"diff":                 "`changes`, `data`, `collections`, `notCompared`; printed as text, `text(true)` has all",
		"balancerSummary":      "`mode`, `collections`, `problems`, …; printed as text",
		"status":               "`shards`, `balancer`, `databases`, …; printed as text",
		"map":                  "`shards`, `cells`, `zones`, …; printed as text",
		"forecast":             "`headline`, `lowMS`, `likelyMS`, `highMS`, …; printed as text",
		"plan":                 "`steps`, `totals`, `reached`, `left`, …; printed as text",
		"whatIf":               "`alternatives`; printed as text",
		"heat":                 "`collections` with `shards`, `chunks`, `hotKeys`, `findings`; printed as text",
		"adviseKey":            "`verdict`, `best`, `candidates`, …; printed as text",
		"adviseChunkSize":      "`verdict`, `mb`, `lowMB`, `highMB`, …; printed as text",
		"waitForBalance":       "`balanced`, `moves`, `waitedMS`",
		"waitForDrain":         "`drained`, `removed`, `waitedMS`",
		"isConfigShardEnabled": "`enabled`, `host`, `tags`",
		"balancerWindow":       "the window or null; an UpdateResult where it sets one", "getBalancerWindow": "the window or null",
		"chunkSize": "MB; what the server answers where it sets it", "zones": "an array of `zone`, `shards`, `ranges`, `problems`",
		"defragmentStatus": "`running`, `phase`, `remainingChunks`", "mergeAllChunks": "chunks before and after, by shard",
		"drainStatus":         "`state`, `remaining`, `dbsToMove`, `collectionsToMove`",
		"getActiveMigrations": "an array of `_id`, `when`", "getRecentMigrations": "an array of `_id`, `count`, `from`, `to`",
		"getRecentFailedRounds": "`count`, `lastErr`, `lastTime`", "waitForPingChange": "those that did not report",
	}
	for what, names := range map[string]string{
		changed: "clearBalancerWindow enableBalancing disableBalancing enableAutoSplit disableAutoSplit startAutoMerger " +
			"stopAutoMerger enableAutoMerger disableAutoMerger",
		cursor:  "getShardedDataDistribution checkMetadataConsistency",
		finding: "why",
		none:    "waitForBalancer waitForBalancerOff awaitBalancerRound awaitCollectionBalance",
		"`finished`, `stopped`, `moves`, … of the run":                  "apply presplit",
		"`reached`, `stopped`, `moves`, `left`, … of the run":           "balance",
		"the server's reply; of a wait, or of a run at a pace, its end": "drain defragment",
	} {
		for _, name := range strings.Fields(names) {
			list[name] = what
		}
	}
	return list
}

var parameter = regexp.MustCompile(`(\w+)(\?)?:([^\s{]+)(?:\{([^}]*)\})?`)

// shown is a helper's call, with its parameters and the names of its options; what may be
// left out stands in brackets.
func (h helper) shown() string {
	var list []string
	for _, p := range parameter.FindAllStringSubmatch(h.signature, -1) {
		name, options := p[1], p[4]
		switch command, isCommand := strings.CutPrefix(options, "@"); {
		case isCommand && name == "options":
			name = "{…" + strings.ReplaceAll(command, ",", ", ") + "}"
		case options != "" && !isCommand && name == "options":
			for _, shared := range sharedOptions {
				options = strings.Replace(options, shared.names, shared.as, 1)
			}
			name = "{ " + strings.ReplaceAll(strings.ReplaceAll(options, "@", "…"), ",", ", ") + " }"
		}
		if p[2] != "" {
			name = "[" + name + "]"
		}
		list = append(list, name)
	}
	return h.name + "(" + strings.Join(list, ", ") + ")"
}

// sharedOptions are options of several helpers, which docs/sh.md explains once.
var sharedOptions = []struct{ names, as string }{
	{runOptionNames, "*run*"},
	{paceOptionNames, "*pace*"},
	{preflightOptionNames, "*preflight*"},
	{waitOptionNames, "*wait*"},
	{"sampleDocs,sampleBytes,maxTime", "*sample*"},
}

// details is where a line of help begins to name options, which the call shows.
var details = regexp.MustCompile(`[;:,]?(?: (?:or|with|for|of))? *\[?\{.*|\. .*|(?:: for|, such as) c =>.*`)

// line is what a helper does, without its options.
func (h helper) line() string {
	return strings.ReplaceAll(strings.TrimRight(details.ReplaceAllString(h.help, ""), ".,;:"), "|", "\\|")
}

const (
	listBegins = "<!-- written by go test ./bindings/sh -run Reference -update -->\n"
	listEnds   = "<!-- written so far -->\n"
)

// reference lists all helpers as docs/sh.md does.
func reference() string {
	byName, returns := map[string]helper{}, returned()
	for _, m := range slices.Concat(helperTables()...) {
		byName[m.name] = m
	}
	var b strings.Builder
	for _, topic := range topics() {
		fmt.Fprintf(&b, "\n### %s\n\n| call | what it does → what it returns | example |\n| --- | --- | --- |\n", topic.title)
		for _, e := range topic.helpers {
			m := byName[e.helper]
			what := m.line()
			if is := returns[e.helper]; is != "" {
				what += " → " + is
			}
			fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", m.shown(), what, e.call)
		}
	}
	return b.String() + "\n"
}

// TestReference: docs/sh.md has every helper with its parameters, its options, a line of
// help, what it returns, and an example (which TestEveryExampleRuns of bindings runs);
// and no name that is not a helper's.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(shPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	before, rest, found := strings.Cut(page, listBegins)
	is, after, ended := strings.Cut(rest, listEnds)
	if !found || !ended {
		t.Fatal("docs/sh.md has no place for the list")
	}
	want := reference()
	if is != want {
		if *update {
			if err := os.WriteFile(shPage, []byte(before+listBegins+want+listEnds+after), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Error("the list in docs/sh.md is not what the helpers are: rewrite it with -update")
		}
	}
	known := map[string]bool{}
	for _, m := range slices.Concat(helperTables()...) {
		known[m.name] = true
		if m.help != "" && !strings.Contains(want, "| `"+m.name+"(") {
			t.Errorf("docs/sh.md lacks %s", m.name)
		}
		if m.help != "" && exampleOf(m.name) == "" {
			t.Errorf("%s has no example, and so no place in the list", m.name)
		}
	}
	for name := range returned() {
		if !known[name] {
			t.Errorf("no helper is called %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`\bsh\.(\w+)\(`).FindAllStringSubmatch(page, -1) {
		if !known[m[1]] && m[1] != "help" {
			t.Errorf("docs/sh.md has sh.%s, which is not a helper", m[1])
		}
	}
}
