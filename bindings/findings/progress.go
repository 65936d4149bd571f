package findings

import (
	"fmt"

	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/sim"
)

// ReadingText says in one line how far the read of a cluster is.
func ReadingText(p live.Progress) string {
	return fmt.Sprintf("reading: %s of %s, %s so far", thousands(p.Collections), humanize.Count(int64(p.Of), "collection"),
		humanize.Count(p.Chunks, "chunk"))
}

// SimulatingText says in one line how far a simulation is.
func SimulatingText(p sim.Progress) string {
	return fmt.Sprintf("simulating: round %s, %s moves so far, at %s", thousands(int(p.Rounds)), thousands(p.Moves),
		p.At.Format("2006-01-02 15:04"))
}
