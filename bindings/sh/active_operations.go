package sh

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"github.com/dop251/goja"

	"shardsh/balancer/catalog"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
)

// reshardingText describes the progress of an operation on a whole collection.
func reshardingText(r catalog.ActiveResharding, now time.Time) string {
	parts := []string{r.Kind + " of " + r.Namespace}
	if r.State != "" {
		parts[0] += ": " + r.State
	}
	if r.TotalBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s of about %s copied",
			humanize.Bytes(r.CopiedBytes), humanize.Bytes(r.TotalBytes)))
	}
	if r.Remaining > 0 {
		parts = append(parts, humanize.Duration(r.Remaining)+" to go")
	}
	if !r.Since.IsZero() {
		parts = append(parts, "for "+humanize.Duration(now.Sub(r.Since)))
	}
	return strings.Join(parts, ", ")
}

// movingText describes a running migration.
func movingText(m catalog.ActiveMigration, now time.Time) string {
	text := m.Namespace
	if m.From != "" {
		text += fmt.Sprintf(" from %s to %s", m.From, m.To)
	}
	switch {
	case len(m.Min) > 0 && len(m.Max) == 0: // the donor decides how much it moves
		text += fmt.Sprintf(" (from %s on)", boundText(m.Min))
	case len(m.Min) > 0:
		text += fmt.Sprintf(" (%s to %s)", boundText(m.Min), boundText(m.Max))
	}
	if !m.Since.IsZero() {
		text += ", for " + humanize.Duration(now.Sub(m.Since))
	}
	return text
}

// writeActiveOperations writes the running operations.
func writeActiveOperations(t *display.Tables, p catalog.SnapshotParts) {
	for _, r := range p.Reshardings {
		t.WriteLine("in progress", reshardingText(r, p.Time))
	}
	for _, m := range p.Migrations {
		t.WriteLine("moving now", movingText(m, p.Time))
	}
}

// reshardingsObject returns the running operations on whole collections.
func (h *Host) reshardingsObject(list []catalog.ActiveResharding) *goja.Object {
	items := make([]any, len(list))
	for i, r := range list {
		o := h.JS.NewObject("ns", r.Namespace, "command", r.Kind, "phase", r.State, "since", h.timeOrNull(r.Since))
		if r.TotalBytes > 0 {
			script.Must(o.Set("copiedBytes", r.CopiedBytes))
			script.Must(o.Set("totalBytes", r.TotalBytes))
		}
		if r.Remaining > 0 {
			script.Must(o.Set("remainingMS", r.Remaining.Milliseconds()))
		}
		items[i] = o
	}
	return h.JS.Runtime.NewArray(items...)
}

// migrationsObject returns the running migrations.
func (h *Host) migrationsObject(list []catalog.ActiveMigration) *goja.Object {
	items := make([]any, len(list))
	for i, m := range list {
		o := h.JS.NewObject("ns", m.Namespace)
		if m.From != "" {
			script.Must(o.Set("from", string(m.From)))
			script.Must(o.Set("to", string(m.To)))
		}
		script.Must(o.Set("since", h.timeOrNull(m.Since)))
		items[i] = o
	}
	return h.JS.Runtime.NewArray(items...)
}
