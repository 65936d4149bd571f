package sh

import (
	"context"

	"shardsh/balancer/sim"
	"shardsh/bindings/findings"
)

// simulating looks on while something is simulated: Ctrl-C ends it, and it tells how
// far it is. end leaves the terminal's line empty.
func (c *call) simulating() (watch sim.Watch, end func()) {
	ctx, progress := c.JS.Context(), c.s.Display.Progress(true)
	return func(p sim.Progress) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress.Due() {
			progress.Say(findings.SimulatingText(p), nil)
		}
		return nil
	}, progress.End
}
