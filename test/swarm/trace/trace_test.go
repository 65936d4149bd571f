package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var checkers = map[string]Checker{
	"C1": Chunks, "C2": Chunks, "C3": Chunks, "C4": Chunks, "C5": Chunks, "C6": Zones, "C7": Chunks, "C8": Identities, "C9": Orphaned, "abort": Aborted, "M4": Migrations, "M9": Writes,
	"S3": Rounds(1_000_000), "C10": Removed, "writes": Writes,
	"S1": Rounds(1_000_000), "S2": Rounds(1_000_000), "S4": Rounds(1_000_000), "S7": Rounds(1_000_000), "S8": Rounds(1_000_000),
	"fence": Fence, "M1": Migrations, "M2": Migrations, "M5": Migrations, "M6": Migrations, "S10": Unchanged,
	"lease": OneRunner, "one runner": OneRunner, "limit": OneRunner, "switched off": SwitchedOff, "undo": Undone,
	"indexes": Indexes, "rest": Rested, "liveness": Rested,
}

// Each rule has a file with traces written by hand: what is right, and what is wrong in one
// place. A trace begins with a line "# good" or "# bad", which says what happens.
func TestRules(t *testing.T) {
	for rule, check := range checkers {
		t.Run(rule, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", strings.ReplaceAll(rule, " ", "-")+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]int{}
			for _, part := range strings.Split(string(data), "# ")[1:] {
				title, lines, _ := strings.Cut(part, "\n")
				events, err := Parse([]byte(lines))
				if err != nil {
					t.Fatalf("%s: %v", title, err)
				}
				found := check(events)
				kind, _, _ := strings.Cut(title, ":")
				kinds[kind]++
				switch {
				case kind == "good" && len(found) > 0:
					t.Errorf("%s: %v", title, found)
				case kind == "bad" && (len(found) != 1 || found[0].Rule != rule):
					t.Errorf("%s: want one violation of %s, got %v", title, rule, found)
				}
			}
			if kinds["good"] == 0 || kinds["bad"] == 0 {
				t.Errorf("traces %v: want good and bad ones", kinds)
			}
		})
	}
}

// What is written can be read.
func TestLines(t *testing.T) {
	min, max := MinKey, Bound(7)
	events := Trace{{Seq: 1, Ev: Catalog, NS: "db.c", Min: &min, Max: &max, After: &Chunk{Min: min, Max: max, Shard: "a"}}}
	back, err := Parse(events.Lines())
	if err != nil || string(back.Lines()) != string(events.Lines()) {
		t.Errorf("%s, %v", back.Lines(), err)
	}
}
