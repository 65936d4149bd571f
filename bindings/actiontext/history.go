package actiontext

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/audit"
	"shardsh/balancer/humanize"
	"shardsh/bindings/plaintext"
)

// History returns the audit log as text: a line for each run and each command.
func History(r action.AuditLogResult) string {
	var b strings.Builder
	if len(r.Records) == 0 {
		b.WriteString("The audit has no entries.\n")
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	escape := plaintext.EscapeLine // tabs, too, because they end columns
	for _, record := range r.Records {
		who := record.User
		if record.MongoUser != "" {
			who += " (" + record.MongoUser + ")"
		}
		fmt.Fprintf(table, "%s\t%s\ton %s\t%s\t%s\t%s\n", record.At.UTC().Format(time.DateTime+"Z"), escape(who),
			escape(record.Host), escape(record.Verb), escape(recordSubject(record)), escape(outcomeText(record)))
	}
	_ = table.Flush() // writes to a Builder do not fail
	if r.TornLines > 0 {
		fmt.Fprintf(&b, "%s can't be read: a run was killed while it wrote.\n", humanize.Count(r.TornLines, "line"))
	}
	return b.String()
}

// recordSubject returns a run with its plan and its collections, or a command.
func recordSubject(r audit.Record) string {
	if !r.IsRun() {
		return commandText(r.Command)
	}
	about := "all collections"
	if len(r.Namespaces) > 0 {
		about = strings.Join(r.Namespaces, " ")
	}
	if r.Plan != "" {
		about = r.Plan + ", " + about
	}
	if r.ApprovedHash != "" {
		about += ", approved"
	}
	return "run: " + about
}

// maxCommandText is the maximum length of a displayed command.
const maxCommandText = 80

func commandText(c audit.Command) string {
	text := string(c)
	decoder := json.NewDecoder(strings.NewReader(text))
	_, _ = decoder.Token()
	name, _ := decoder.Token()
	var of any
	if decoder.Decode(&of) == nil {
		rest := strings.TrimPrefix(strings.TrimSpace(text[decoder.InputOffset():]), ",")
		if rest = "{" + rest; rest == "{}" {
			rest = ""
		}
		text = strings.TrimSpace(fmt.Sprintf("%v %v %s", name, of, rest))
	}
	if runes := []rune(text); len(runes) > maxCommandText {
		text = string(runes[:maxCommandText]) + "…"
	}
	return text
}

func outcomeText(r audit.Record) string {
	text := string(r.Outcome)
	if r.Until.IsZero() {
		return "unknown: the audit has no entry for its end"
	}
	text += ", " + humanize.Duration(time.Duration(r.Millis)*time.Millisecond)
	if r.Error != "" {
		text += ": " + r.Error
	}
	return text
}
