package catalog

import (
	"cmp"
	"strings"
	"time"
)

// The names (what) of the change log entries that record a migration's end: the
// donor's last one, and that of its commit, which comes before.
const (
	MigrationEnded     = "moveChunk.from"
	MigrationCommitted = "moveChunk.commit"
)

// EndedMigration is a migration that has ended, well or not, as its donor's last
// entry in the change log records it (rules/03-helpers-examples-traps §6.1, rows 12 and 13).
type EndedMigration struct {
	LogEntry
	From, To ShardID
	// Error is why it failed, "aborted" where the donor gave no reason; empty for
	// one that succeeded.
	Error string
	// Bytes and Documents were cloned; zero unless Counted, as only the entry of the
	// commit has them.
	Bytes, Documents int64
	Counted          bool
}

// Migration returns the migration whose end the entry records, and whether it
// does.
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

// DetailText returns a field of the entry's details that is a text, else nothing.
func (e LogEntry) DetailText(name string) string {
	text, _ := e.Detail(name).StringValueOK()
	return text
}

// Durations adds up the steps that the donor timed, and counts them. Cloning is the
// fourth, in which the recipient copies and catches up.
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

// MigrationLog reads the entries of a change log one after another, the oldest
// first, for the migrations that have ended. The zero value has read none.
type MigrationLog struct{ commits map[migrationKey]LogEntry }

// migrationKey is what the entries of one migration have in common.
type migrationKey struct{ ns, from, to, min string }

// Next reads an entry. It returns the migration that ended with it, with what its
// commit has told, and whether one did.
func (l *MigrationLog) Next(e LogEntry) (m EndedMigration, ended bool) {
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
