package catalog

import (
	"cmp"
	"strings"
	"time"
)

// MigrationEnded and MigrationCommitted are the names (what) of the change log entries that record the
// end of a migration: the donor's last entry, and the entry of the commit, which comes before it.
const (
	MigrationEnded     = "moveChunk.from"
	MigrationCommitted = "moveChunk.commit"
)

// EndedMigration is a migration that has succeeded or failed, as recorded by the donor's last entry in
// the change log (rules/03-helpers-examples-traps §6.1, rows 12 and 13).
type EndedMigration struct {
	LogEntry
	From, To ShardID
	// Error is the reason of the failure, "aborted" if the donor gave none; empty for a migration that
	// succeeded.
	Error string
	// Bytes and Documents are the cloned amounts. They are zero unless Counted, because only the entry
	// of the commit contains them.
	Bytes, Documents int64
	Counted          bool
}

// Migration returns the migration whose end the entry records, and whether the entry records one.
func (e LogEntry) Migration() (m EndedMigration, ended bool) {
	if e.What != MigrationEnded {
		return m, false
	}
	m = EndedMigration{LogEntry: e, From: ShardID(e.DetailText("from")), To: ShardID(e.DetailText("to"))}
	if e.Detail("errmsg").Type != 0 || e.DetailText("note") != "success" {
		m.Error = cmp.Or(e.DetailText("errmsg"), "aborted")
	}
	return m, true
}

// DetailText returns a string field of the entry's details; empty if the field is not a string.
func (e LogEntry) DetailText(name string) string {
	text, _ := e.Detail(name).StringValueOK()
	return text
}

// Durations adds up the steps that the donor has timed, and counts them. cloning is the fourth step, in
// which the recipient clones the documents and catches up.
func (m EndedMigration) Durations() (all, cloning time.Duration, steps int) {
	details, _ := m.Raw.Lookup("details").DocumentOK()
	elements, err := details.Elements()
	if err != nil {
		return 0, 0, 0
	}
	for _, element := range elements { // "step 4 of 6": 1234
		name := element.Key()
		ms, number := element.Value().AsInt64OK()
		if !number || !strings.HasPrefix(name, "step ") {
			continue
		}
		spent := time.Duration(max(0, ms)) * time.Millisecond
		all += spent
		steps++
		if strings.HasPrefix(name, "step 4 ") {
			cloning = spent
		}
	}
	return all, cloning, steps
}

// MigrationFinder reads the entries of a change log, the oldest first, and finds the migrations that have
// ended. The zero value has read no entry.
type MigrationFinder struct{ commits map[migrationKey]LogEntry }

// migrationKey contains the fields that are equal in all entries of a migration.
type migrationKey struct{ ns, from, to, min string }

// ReadEntry reads an entry. If a migration has ended with it, ReadEntry returns the migration, including
// the amounts from its commit.
func (l *MigrationFinder) ReadEntry(e LogEntry) (m EndedMigration, ended bool) {
	if e.What != MigrationEnded && e.What != MigrationCommitted {
		return m, false
	}
	key := migrationKey{e.Namespace, e.DetailText("from"), e.DetailText("to"), string(e.Detail("min").Value)}
	if e.What == MigrationCommitted {
		if l.commits == nil {
			l.commits = map[migrationKey]LogEntry{}
		}
		l.commits[key] = e
		return m, false
	}
	m, _ = e.Migration()
	if commit, known := l.commits[key]; known && m.Error == "" {
		m.Bytes, m.Counted = commit.Detail("counts", "clonedBytes").AsInt64OK()
		m.Documents, _ = commit.Detail("counts", "cloned").AsInt64OK()
	}
	delete(l.commits, key)
	return m, true
}
