package findings

import (
	"fmt"

	"shardsh/balancer/sim"
)

// SimulatingText says in one line how far a simulation is.
func SimulatingText(p sim.Progress) string {
	return fmt.Sprintf("simulating: round %s, %s moves so far, at %s", grouped(int(p.Rounds)), grouped(p.Moves),
		p.At.Format("2006-01-02 15:04"))
}
