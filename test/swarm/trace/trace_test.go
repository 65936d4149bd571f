package trace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var checkers = map[string]Checker{
	"C1": CheckChunks, "C2": CheckChunks, "C3": CheckChunks, "C4": CheckChunks, "C5": CheckChunks, "C6": CheckZones, "C7": CheckChunks, "C8": CheckUUIDs, "C9": CheckOrphanedChunks, "abort": CheckAborts, "M4": CheckMigrations, "M9": CheckWrites,
	"S3": CheckRounds(1_000_000), "C10": CheckRemovedShards, "writes": CheckWrites,
	"S1": CheckRounds(1_000_000), "S2": CheckRounds(1_000_000), "S4": CheckRounds(1_000_000), "S7": CheckRounds(1_000_000), "S8": CheckRounds(1_000_000),
	"S5": CheckRounds(1_000_000), "S6": CheckSizeBalancing, "S9": CheckRounds(1_000_000), "M8": CheckDeletions, "range deletions": CheckDeletions,
	"fence": CheckBalancerStop, "M1": CheckMigrations, "M2": CheckMigrations, "M5": CheckMigrations, "M6": CheckMigrations, "S10": CheckFailedCommands,
	"lease": CheckOneRunner, "one runner": CheckOneRunner, "limit": CheckOneRunner, "switched off": CheckSwitchedOff, "undo": CheckUndone,
	"indexes": CheckIndexes, "rest": CheckAtRest, "liveness": CheckAtRest,
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

// A lost write is reported with the event that shows it, not with what happened to other keys since.
func TestLostWriteNamesItsEvent(t *testing.T) {
	found := CheckWrites(Trace{
		{Seq: 1, Kind: OpBegin, Op: 1, Cmd: "inc", NS: "db.c", Key: 1},
		{Seq: 2, Kind: OpEnd, Op: 1, Cmd: "inc", NS: "db.c", Key: 1},
		{Seq: 3, Kind: OpBegin, Op: 2, Cmd: "read", NS: "db.c", Key: 1},
		{Seq: 4, Kind: OpEnd, Op: 2, Cmd: "read", NS: "db.c", Key: 1},
		{Seq: 5, Kind: OpBegin, Op: 3, Cmd: "inc", NS: "db.c", Key: 2},
		{Seq: 6, Kind: OpEnd, Op: 3, Cmd: "inc", NS: "db.c", Key: 2},
	})
	if len(found) != 1 || !slices.Equal(found[0].Events, []int{4}) {
		t.Errorf("%+v, want event 4", found)
	}
}

// What is written can be read.
func TestLines(t *testing.T) {
	min, max := MinKey, Bound(7)
	events := Trace{{Seq: 1, Kind: Catalog, NS: "db.c", Min: &min, Max: &max, After: &Chunk{Min: min, Max: max, Shard: "a"}}}
	back, err := Parse(events.Lines())
	if err != nil || string(back.Lines()) != string(events.Lines()) {
		t.Errorf("%s, %v", back.Lines(), err)
	}
}
