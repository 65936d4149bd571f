package actiontext

import (
	"fmt"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/placement"
	"shardsh/bindings/plaintext"
)

// maxFixCommands is the maximum number of command lines that are shown for a finding, maxAuditDocuments
// that of its documents, maxUnknown that of unanswered questions.
const (
	maxFixCommands    = 8
	maxAuditDocuments = 3
	maxUnknown        = 6
)

// AuditResult returns an audit's findings as lines of text.
func AuditResult(r action.AuditResult) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, f := range r.Findings {
		say("%s  %s: %s.", f.Kind, f.Namespace, f.Text)
		lines = append(lines, auditDocuments(f)...)
		if f.File != "" {
			say("  Saved in %s.", f.File)
		}
		for i, command := range f.RepairCommands {
			if i == maxFixCommands {
				say("  …")
				break
			}
			say("  %s", plaintext.EscapeLine(command))
		}
	}
	lines = append(lines, unknownLines("unsettled", r.Unsettled)...)
	lines = append(lines, unknownLines("unseen", r.Unchecked)...)
	for _, c := range r.Collections {
		say("%s: read %s%s.", c.Namespace, humanize.Count(c.Docs, "document"), orphansText(c))
		for _, note := range c.Notes {
			say("  Note: %s.", note)
		}
	}
	switch {
	case len(r.Findings) > 0:
		say("%s.", humanize.Count(len(r.Findings), "finding"))
	case r.Verdict == action.AuditClean:
		say("Nothing was found.")
	default:
		say("Nothing was found, but not everything could be checked.")
	}
	return lines
}

// unknownLines returns the first things that could not be determined.
func unknownLines(what string, list []string) (lines []string) {
	shown := min(len(list), maxUnknown)
	for _, text := range list[:shown] {
		lines = append(lines, fmt.Sprintf("%s  %s.", what, plaintext.EscapeLine(text)))
	}
	if more := len(list) - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("%s  %d more like these, which JSON lists.", what, more))
	}
	return lines
}

func orphansText(c action.AuditCollection) string {
	text := ""
	if c.PendingOrphans > 0 {
		text += fmt.Sprintf(", of them %s that wait to be deleted", humanize.Count(c.PendingOrphans, "orphan"))
	}
	if c.DeletedByOwner > 0 {
		text += fmt.Sprintf("; the documents of %s were deleted since their move", humanize.Count(c.DeletedByOwner, "orphan"))
	}
	return text
}

// auditDocuments returns lines with the first documents of a finding.
func auditDocuments(f placement.Finding) (lines []string) {
	if len(f.Documents) == 0 {
		return nil
	}
	var names []string
	for i, d := range f.Documents {
		if i == maxAuditDocuments {
			break
		}
		names = append(names, fmt.Sprintf("%s on %s", plaintext.EscapeLine(string(d.ID)), d.Shard))
	}
	text := "  _id " + strings.Join(names, ", ")
	if len(f.Documents) > maxAuditDocuments {
		text += ", …"
	}
	return []string{text}
}
