package bindings_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"shardsh/bindings/shelltest"
)

// pair is one observed input and output of rules/04-outputs-and-traps, Appendix A.
type pair struct {
	group, kind, input, want string
}

func readPairs(t *testing.T) (pairs []pair) {
	t.Helper()
	text, err := os.ReadFile("values/testdata/pairs.txt")
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	for block := range strings.SplitSeq(string(text), "\n\n") {
		block = strings.Trim(block, "\n")
		if name, ok := strings.CutPrefix(block, "### "); ok {
			group = name
			continue
		}
		kind, rest, found := strings.Cut(block, "\n")
		if !found {
			continue
		}
		input, want, _ := strings.Cut(rest, "\n----")
		pairs = append(pairs, pair{group, kind, input, strings.TrimPrefix(want, "\n")})
	}
	return pairs
}

// pairsLeftOut are pairs that are not to match, and why.
var pairsLeftOut = map[string]string{
	"JSON.parse('{')":       "the engine words its own errors",
	"sh.startBalancer('x')": "times may be texts, and one that is none is named",
}

// TestObservedPairs runs every pair of rules/04-outputs-and-traps, Appendix A in order:
// state carries over.
func TestObservedPairs(t *testing.T) {
	pairs := readPairs(t)
	if len(pairs) < 500 {
		t.Fatalf("only %d pairs", len(pairs))
	}
	overrides := map[string]pair{}
	for _, p := range pairs {
		if p.group == "overrides" {
			overrides[p.input] = p
		}
	}
	c := shelltest.Connect(t)
	for _, p := range pairs {
		if p.group == "overrides" || pairsLeftOut[p.input] != "" {
			continue
		}
		if o, ok := overrides[p.input]; ok {
			p.kind, p.want = o.kind, o.want
		}
		got, failed := c.Show(p.input)
		if unnumbered(got) != unnumbered(p.want) || failed != (p.kind == "error") {
			t.Errorf("%s: %s\n got  %s\n want %s", p.group, p.input, got, p.want)
		}
	}
}

var numbered = regexp.MustCompile(`(Missing required argument|Argument) (at position \d+|[\w()]+)`)

// unnumbered returns a message without which argument it is about: mongosh counts
// them, the shell names them.
func unnumbered(text string) string { return numbered.ReplaceAllString(text, "$1 #") }
