package trace

import (
	"fmt"
	"strings"
)

// CheckSizeBalancing checks S6: a move that evens out sizes reduces the difference between two shards
// and does not reverse it. The donor owns at least three chunk sizes more than the recipient, and the
// move is at most a third larger than a chunk.
func CheckSizeBalancing(t Trace) (found []Violation) {
	began, changed := map[migration]Event{}, map[string]bool{}
	in := false
	for _, e := range t {
		m := migrationOf(e)
		m.min = MinKey // the bound may have been unknown
		switch e.Kind {
		case RoundBegin, RoundEnd:
			in = e.Kind == RoundBegin
			clear(changed)
		case Fault:
			in = in && !strings.Contains(e.Text, "mockFill") // the sizes differ from those of the choice
		case MigrationCommitted:
			changed[e.NS] = true
		case MigrationStart:
			delete(began, m)
			if e.By != "balancer" || e.Reason != "chunksImbalance" || len(e.Sizes) != 2 {
				continue
			}
			began[m] = e
			if gap := e.Sizes[0] - e.Sizes[1]; in && !changed[e.NS] && gap < 3*e.ChunkSize-slackOf(e) {
				found = append(found, Violation{"S6", fmt.Sprintf("%s moves from %s with %d bytes to %s with %d (chunk size %d)",
					e.NS, e.From, e.Sizes[0], e.To, e.Sizes[1], e.ChunkSize), []int{e.Seq}})
			}
		case MigrationDone:
			start, even := began[m]
			delete(began, m)
			if even && e.Copied > start.ChunkSize/3*4+slackOf(start) {
				found = append(found, Violation{"S6", fmt.Sprintf("%d bytes of %s move from %s to %s at once (chunk size %d)",
					e.Copied, e.NS, e.From, e.To, start.ChunkSize), []int{start.Seq, e.Seq}})
			}
		}
	}
	return found
}

// slackOf returns the tolerance for writes since the choice and for the rounding of sizes.
func slackOf(e Event) int64 { return e.ChunkSize / 8 }
