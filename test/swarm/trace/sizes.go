package trace

import (
	"fmt"
	"strings"
)

// CheckSizes is S6: what the balancer moves to even out sizes makes the gap between two shards smaller, and does
// not turn it round. The donor owns at least three chunk sizes more than the recipient, and what moves is a
// third more than a chunk at most.
func CheckSizes(t Trace) (found []Violation) {
	began, changed := map[migration]Event{}, map[string]bool{}
	in := false
	for _, e := range t {
		m := migrationOf(e)
		m.min = MinKey // which may not have been known
		switch e.Ev {
		case RoundBegin, RoundEnd:
			in = e.Ev == RoundBegin
			clear(changed)
		case Fault:
			in = in && !strings.Contains(e.Text, "mockFill") // sizes are others than those of the choice
		case MigrationCommitted:
			changed[e.NS] = true
		case MigrationStart:
			delete(began, m)
			if e.By != "balancer" || e.Reason != "chunksImbalance" || len(e.Sizes) != 2 {
				continue
			}
			began[m] = e
			if gap := e.Sizes[0] - e.Sizes[1]; in && !changed[e.NS] && gap < 3*e.ChunkSize-slackOf(e) {
				found = append(found, Violation{"S6", fmt.Sprintf("%s moves from %s with %d bytes to %s with %d, of chunks of %d",
					e.NS, e.From, e.Sizes[0], e.To, e.Sizes[1], e.ChunkSize), []int{e.Seq}})
			}
		case MigrationDone:
			start, even := began[m]
			delete(began, m)
			if even && e.Copied > start.ChunkSize/3*4+slackOf(start) {
				found = append(found, Violation{"S6", fmt.Sprintf("%d bytes of %s move from %s to %s at once, of chunks of %d",
					e.Copied, e.NS, e.From, e.To, start.ChunkSize), []int{start.Seq, e.Seq}})
			}
		}
	}
	return found
}

// slackOf is what writers may have changed since the choice, and what sizes are rounded by.
func slackOf(e Event) int64 { return e.ChunkSize / 8 }
