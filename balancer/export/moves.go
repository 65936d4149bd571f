package export

import (
	"maps"
	"time"

	"shardsh/balancer/catalog"
)

// MoveCounter counts ended migrations by donor. The zero value is ready to use.
type MoveCounter struct {
	byDonor      map[catalog.ShardID]donorCounts
	countedUntil time.Time            // older entries were counted
	seen         map[string]time.Time // ids of the counted entries that are not older
}

// donorCounts counts the migrations of one donor.
type donorCounts struct{ moves, failures, bytes int64 }

// Add counts the migrations of a change log that were not counted before. The migrations of the first
// log are not counted.
func (m *MoveCounter) Add(changes []catalog.LogEntry) {
	first := m.byDonor == nil
	if first {
		m.byDonor, m.seen = map[catalog.ShardID]donorCounts{}, map[string]time.Time{}
	}
	var log catalog.MigrationFinder
	until := m.countedUntil
	for _, e := range changes {
		end, ok := log.ReadEntry(e)
		id := string(e.Raw.Lookup("_id").Value)
		if _, known := m.seen[id]; !ok || known || e.Time.Before(m.countedUntil) {
			continue
		}
		m.seen[id] = e.Time
		if from := e.Time.Add(-catalog.MaxLogLateness); from.After(until) {
			until = from
		}
		if !first {
			m.countMove(end)
		}
	}
	m.countedUntil = until
	maps.DeleteFunc(m.seen, func(_ string, at time.Time) bool { return at.Before(until) })
}

func (m *MoveCounter) countMove(end catalog.EndedMigration) {
	of := m.byDonor[end.From]
	if end.Error != "" {
		of.failures++
	} else {
		of.moves++
		of.bytes += end.Bytes
	}
	m.byDonor[end.From] = of
}
