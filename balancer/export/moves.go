package export

import (
	"maps"
	"time"

	"shardsh/balancer/catalog"
)

// Moves counts migrations that end, by the shard that gave the chunk. The zero value has
// counted none.
type Moves struct {
	of    map[catalog.ShardID]ended
	until time.Time            // what is older was counted
	seen  map[string]time.Time // by id: of what is not older, these were
}

// ended are migrations off a shard.
type ended struct{ moves, failures, bytes int64 }

// late is how much older than the newest entry of a change log one can be that comes after it:
// shards write it, each by its own clock.
const late = 10 * time.Minute

// Add counts those that a change log has in addition to what was added before. Those of the
// first one are old.
func (m *Moves) Add(changes []catalog.LogEntry) {
	first := m.of == nil
	if first {
		m.of, m.seen = map[catalog.ShardID]ended{}, map[string]time.Time{}
	}
	var log catalog.MigrationLog
	until := m.until
	for _, e := range changes {
		end, is := log.Next(e)
		id := string(e.Raw.Lookup("_id").Value)
		if _, known := m.seen[id]; !is || known || e.Time.Before(m.until) {
			continue
		}
		m.seen[id] = e.Time
		if from := e.Time.Add(-late); from.After(until) {
			until = from
		}
		if !first {
			m.count(end)
		}
	}
	m.until = until
	maps.DeleteFunc(m.seen, func(_ string, at time.Time) bool { return at.Before(until) })
}

func (m *Moves) count(end catalog.EndedMigration) {
	of := m.of[end.From]
	if end.Error != "" {
		of.failures++
	} else {
		of.moves++
		of.bytes += end.Bytes
	}
	m.of[end.From] = of
}
