package plan

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

//go:embed script.js
var scriptFunctions string

// WriteScript writes the plan as a script for mongosh or shardsh, with one call for each step and its
// reason as a comment. The script checks the cluster before the first step, and the chunks before each
// step.
func (p *Plan) WriteScript(w io.Writer) error {
	patterns := map[string]catalog.KeyPattern{}
	for _, c := range p.Basis.Collections {
		pattern, err := c.Pattern()
		if err != nil {
			return fmt.Errorf("plan: collection %s: %w", c.Namespace, err)
		}
		patterns[c.Namespace] = pattern
	}
	b := bufio.NewWriter(w)
	p.writeScriptHead(b)
	for _, c := range p.Basis.Collections {
		if p.changesCollection(c.Namespace) {
			fmt.Fprintf(b, "known(%s, %q);\n", humanize.TextLiteral(c.Namespace), strings.ReplaceAll(c.UUID, "-", ""))
		}
	}
	round := 0
	for _, s := range p.Steps {
		if s.Round != round {
			round = s.Round
			fmt.Fprintf(b, "\n// Round %d\n", round)
		}
		fmt.Fprintf(b, "// %s\n%s;\n", commentText(s.Why), s.scriptCall(patterns[s.Namespace]))
	}
	return b.Flush()
}

func (p *Plan) writeScriptHead(b *bufio.Writer) {
	t := p.Totals
	release, _ := catalog.ReleaseOf(p.Basis.Release)
	fmt.Fprintf(b, "// %s: %s", p.ID, p.Goal.Kind)
	if p.Goal.Shard != "" {
		fmt.Fprintf(b, " %s", commentText(string(p.Goal.Shard)))
	}
	fmt.Fprintf(b, ", made for the cluster %s as of %s.\n", p.Basis.ClusterID.Hex(),
		p.Basis.Time.UTC().Format("2006-01-02 15:04:05Z"))
	fmt.Fprintf(b, "// %d moves with %d bytes, %d splits, %d merges. Run it with mongosh or shardsh on a mongos.\n\n",
		t.Moves, t.Bytes, t.Splits, t.Merges)
	fmt.Fprintf(b, "const steps = %d;\nconst byRange = %t; // moveRange, which came with 6.0\n\n%s", len(p.Steps),
		release.BalancesBySize(), scriptFunctions)
	fmt.Fprintf(b, "\nif (config.getCollection(\"version\").findOne().clusterId.toString() !== %q) "+
		"stop(\"this is another cluster\");\n",
		p.Basis.ClusterID.Hex())
}

// changesCollection reports whether any step changes a collection.
func (p *Plan) changesCollection(ns string) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Namespace == ns })
}

// scriptCall returns the call of the step's function in the script.
func (s Step) scriptCall(p catalog.KeyPattern) string {
	bounds := boundLiteral(p, s.Min) + ", " + boundLiteral(p, s.Max)
	ns, from, to := humanize.TextLiteral(s.Namespace), humanize.TextLiteral(string(s.From)),
		humanize.TextLiteral(string(s.To))
	if s.KnownRange != nil {
		if s.Kind == Move {
			from += ", " + to
		}
		return fmt.Sprintf("%sPart(%d, %s, %s, %s, %s, %s)", s.Kind, s.Number, ns, from, boundLiteral(p, s.Min),
			boundLiteral(p, s.KnownRange.Min), boundLiteral(p, s.KnownRange.Max))
	}
	switch s.Kind {
	case Move:
		return fmt.Sprintf("move(%d, %s, %s, %s, %s)", s.Number, ns, from, to, bounds)
	case Split:
		points := make([]string, len(s.Points))
		for i, k := range s.Points {
			points[i] = boundLiteral(p, k)
		}
		return fmt.Sprintf("split(%d, %s, %s, %s, [%s])", s.Number, ns, from, bounds, strings.Join(points, ", "))
	}
	return fmt.Sprintf("merge(%d, %s, %s, %s)", s.Number, ns, from, bounds)
}

func boundLiteral(p catalog.KeyPattern, k catalog.Key) string { return humanize.Literal(p.Bound(k)) }

// commentText returns a text that can't end the line of the comment, whatever it contains.
func commentText(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
