package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// showAnswer prints the headline, then what is wrong, why, and what is worth
// knowing.
func showAnswer(to io.Writer, a diagnosis.Answer) {
	fmt.Fprintln(to, sentence(a.Headline()))
	showFindings(to, "Wrong", a.Symptoms)
	showFindings(to, "Because", a.Causes)
	showFindings(to, "Worth knowing", a.Notes)
}

func showChunkAnswer(to io.Writer, a diagnosis.ChunkAnswer, p catalog.KeyPattern) {
	fmt.Fprintln(to, sentence(a.Headline()))
	fmt.Fprintf(to, "\nChunk\n  %s to %s on %s\n", p.Bound(a.Chunk.Min), p.Bound(a.Chunk.Max), a.Chunk.Shard)
	if len(a.Decisions) > 0 {
		fmt.Fprintln(to, "\nDecided about it")
	}
	for _, d := range a.Decisions {
		fmt.Fprintf(to, "  %s (%s)\n", d.Text(), d.Code)
	}
	fmt.Fprintln(to, "\nAs recipients")
	width := 0
	for _, v := range a.Verdicts {
		width = max(width, len(v.Shard))
	}
	for _, v := range a.Verdicts {
		mark := "no "
		if v.Can {
			mark = "yes"
		}
		fmt.Fprintf(to, "  %-*s  %s  %s\n", width, v.Shard, mark, v.Reason)
	}
	if !a.Healthy() {
		fmt.Fprintf(to, "\nThe collection: %s\n", a.Answer.Headline())
		showFindings(to, "Because", a.Causes)
	}
}

func showFindings(to io.Writer, title string, list []diagnosis.Finding) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(to, "\n"+title)
	for _, f := range list {
		fmt.Fprintf(to, "  %-8s  %s (%s)\n", f.Severity, f.Sentence, f.Code)
		if !f.Since.IsZero() {
			fmt.Fprintf(to, "%12ssince %s\n", "", f.Since.UTC().Format(time.RFC3339))
		}
		fmt.Fprintf(to, "%12s%s: %s\n", "", f.Actor, remedy(f))
	}
}

// remedy is what to do: the very commands where there are some.
func remedy(f diagnosis.Finding) string {
	if len(f.Commands) > 0 {
		return strings.Join(f.Commands, ", ")
	}
	return diagnosis.Define(f.Code).Remedy
}

// sentence ends a text, which may begin with a name.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

func (env environment) printWhyHelp(groups []flagGroup) {
	fmt.Fprintf(env.stdout, `Says what is wrong with a cluster, and everything that keeps it so: what has to
end first comes first, each with who has to act and the command to enter. With
--ns and --key it says why one chunk is where it is, and what each shard would
get as verdict as its recipient. Nothing on the cluster changes.

Usage:
  shardsh why [options] [address]

%s
Examples:
  shardsh why mongodb://host:27017
  shardsh why mongodb://host:27017 --ns shop.orders --key '{"customer": 7}'
  shardsh why --from cluster.snap --json
`, groupUsage(groups))
}
