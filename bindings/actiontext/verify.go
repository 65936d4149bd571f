package actiontext

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/verify"
	"shardsh/bindings/plaintext"
)

// maxDifferences is the maximum number of differing documents and ranges that are shown.
const maxDifferences = 20

// VerifyResult returns the result for each collection as lines of text.
func VerifyResult(r action.VerifyResult) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	shown, more := 0, 0
	for _, c := range r.Collections {
		say("%s: %s", c.Namespace, collectionVerdict(c))
		for _, note := range c.Notes {
			say("  Note: %s.", note)
		}
		for _, d := range c.Differences {
			if d.Verdict == verify.Explained {
				continue
			}
			if shown == maxDifferences {
				more++
				continue
			}
			shown++
			lines = append(lines, differenceLines(d)...)
		}
	}
	if more > 0 {
		say("And %s more.", humanize.Count(more, "range"))
	}
	if r.DifferencesFile != "" {
		say("All differences are in %s.", r.DifferencesFile)
	}
	return lines
}

// collectionVerdict describes the result of comparing a collection.
func collectionVerdict(c action.VerifyCollection) string {
	has := fmt.Sprintf("%s, %s", humanize.Count(c.Docs, "document"), humanize.Bytes(c.Bytes))
	at := c.BaselineTime.UTC().Format(time.DateTime + "Z")
	switch c.Verdict {
	case action.VerifyNotCompared:
		return fmt.Sprintf("%s, in %s.", has, humanize.Count(c.Ranges, "range"))
	case string(verify.Same):
		return fmt.Sprintf("the same as at %s: %s.", at, has)
	case string(verify.Explained):
		return fmt.Sprintf("the same as at %s but for %s written since: %s.", at,
			humanize.Count(c.Differing[verify.Explained], "document"), has)
	case string(verify.Written):
		return fmt.Sprintf("unknown: in %s of %d %s written since %s. The numbers of documents agree: none was lost or "+
			"doubled. Whether others there have changed can't be told; all other ranges are the same.",
			humanize.Count(c.Differing[verify.Written], "range"), c.Ranges,
			humanize.Count(c.Written, "document")+wasOrWere(c.Written), at)
	}
	return fmt.Sprintf("DIFFERENT from %s: it had %s, and has %d. No write explains %s of %d.", at,
		humanize.Count(c.DocsBefore, "document"), c.Docs, humanize.Count(c.Differing[verify.Different], "range"), c.Ranges)
}

func wasOrWere(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

// differenceLines names the documents of a range, or the range.
func differenceLines(d action.VerifyDifference) (lines []string) {
	within := "_id from " + boundText(d.From, "the lowest") + " to " + boundText(d.To, "the highest")
	for i, doc := range d.Documents {
		if i == maxDifferences {
			return append(lines, fmt.Sprintf("  … and %d more of them", len(d.Documents)-i+d.More))
		}
		text := string(doc.Kind) + ": "
		switch {
		case doc.ID != nil:
			text += "_id " + plaintext.EscapeLine(string(doc.ID))
		case doc.Before != nil:
			text += "a document with the hash " + doc.Before.String() + ", " + within
		}
		lines = append(lines, "  "+text)
	}
	if len(lines) > 0 {
		return lines
	}
	had := humanize.Count(d.DocsBefore, "document")
	return []string{fmt.Sprintf("  %s: %s: had %s, has %d", d.Verdict, within, had, d.Docs)}
}

func boundText(id []byte, none string) string {
	if len(id) == 0 {
		return none
	}
	return plaintext.EscapeLine(strings.TrimSpace(string(id)))
}
