package policy

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/codes.md again")

const codesPage = "../../docs/codes.md"

// TestCodesPage holds docs/codes.md to the table: go test -run CodesPage -update
// writes it.
func TestCodesPage(t *testing.T) {
	want := pageOfCodes()
	if *update {
		if err := os.WriteFile(codesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(codesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/codes.md is not what the table says: rewrite it with -update")
	}
}

func pageOfCodes() string {
	var page strings.Builder
	page.WriteString("# Codes of decisions\n\n" +
		"Why a chunk moves, and why it does not: each decision of the balancer carries one of these codes. Codes are stable:\n" +
		"scripts may compare with them. Where nothing stands under what to do, no action is needed. Written from\n" +
		"`balancer/policy/codetable.go`.\n")
	section := func(title string, want func(CodeInfo) bool) {
		fmt.Fprintf(&page, "\n## %s\n\n| code | meaning | what to do |\n|---|---|---|\n", title)
		for _, info := range Codes() {
			if want(info) {
				fmt.Fprintf(&page, "| `%s` | %s | %s |\n", info.Code, info.Meaning, strings.TrimPrefix(info.Remedy, "No action needed."))
			}
		}
	}
	section("What is chosen", func(i CodeInfo) bool { return i.Chosen })
	for _, s := range []Subject{SubjectCluster, SubjectCollection, SubjectShard, SubjectZone, SubjectChunk} {
		section("What is not chosen: about the "+string(s), func(i CodeInfo) bool { return !i.Chosen && i.Subject == s })
	}
	return page.String()
}

// declaredCodes are the constants of type Code, by their names in codes.go.
func declaredCodes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			kind, _ := value.Type.(*ast.Ident)
			call, _ := value.Values[0].(*ast.CallExpr)
			if kind != nil && kind.Name == "Code" || call != nil {
				names = append(names, value.Names[0].Name)
			}
		}
	}
	return names
}

// Every code has one row of the table, and every row all its texts.
func TestTableOfCodes(t *testing.T) {
	seen := map[Code]bool{}
	for _, info := range Codes() {
		if seen[info.Code] {
			t.Errorf("%s is in the table twice", info.Code)
		}
		seen[info.Code] = true
		for what, text := range map[string]string{"meaning": info.Meaning, "remedy": info.Remedy} {
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("the %s of %s is %q", what, info.Code, text)
			}
		}
		if info.sentence == nil || (Decision{Code: info.Code}).Text() == string(info.Code) {
			t.Errorf("%s has no sentence", info.Code)
		}
		if info.Code.Info().Meaning != info.Meaning {
			t.Errorf("%s finds another row", info.Code)
		}
	}
	if declared := declaredCodes(t); len(declared) != len(seen) {
		t.Errorf("%d codes are declared, %d are in the table: %v", len(declared), len(seen), declared)
	}
}

// Codes are stable: this list may grow, but nothing in it may change.
func TestCodesAreStable(t *testing.T) {
	var got []string
	for _, info := range Codes() {
		got = append(got, string(info.Code))
	}
	for _, code := range strings.Fields(`
		drain zoneViolation chunksImbalance defragmentation unshardedCollection randomMove
		balancerOff windowShut roundLocked throttled
		balancingOff migrationsForbidden resharding defragmentingFirst unalignedZones notCached collectionGone
		notReadable tooFewShards oneMigration
		shardBusy shardFull noSizeEntry nothingToDrain
		noRecipient zoneWithoutShards noData noDonor donorIsRecipient donorAtIdeal donorNearIdeal recipientAtIdeal
		belowThreshold onlyJumboChunks largestOutsideZone noChunkInZone
		jumboFlag otherChunkFirst`) {
		if !slices.Contains(got, code) {
			t.Errorf("code %s is gone", code)
		}
	}
}
