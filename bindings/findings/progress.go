package findings

import (
	"fmt"

	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/sim"
)

// ReadingText returns the progress of reading a cluster in one line.
func ReadingText(p live.Progress) string {
	return fmt.Sprintf("reading: %s of %s, %s so far", humanize.Number(p.Collections),
		humanize.Count(int64(p.TotalCollections), "collection"),
		humanize.Count(p.Chunks, "chunk"))
}

// SimulatingText returns the progress of a simulation in one line.
func SimulatingText(p sim.Progress) string {
	return fmt.Sprintf("simulating: round %s, %s moves so far, at %s", humanize.Number(int(p.Rounds)),
		humanize.Number(p.Moves), p.At.Format("2006-01-02 15:04"))
}
