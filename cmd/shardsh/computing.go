package main

import (
	"context"
	"fmt"
	"time"

	"shardsh/balancer/sim"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
)

// computing looks on while something is computed: it ends that with a context, and
// on a terminal it tells after a second, and every second, how far it is.
type computing struct {
	ended func() error
	env   environment
	tells bool
	said  time.Time
	shown bool
}

func (env environment) computing(ctx context.Context, quiet bool) *computing {
	ended := func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}
	return &computing{ended: ended, env: env, tells: !quiet && isTerminal(env.stderr), said: time.Now()}
}

// watch is for what computes.
func (c *computing) watch(p sim.Progress) error {
	if err := c.ended(); err != nil {
		return err
	}
	if now := time.Now(); c.tells && now.Sub(c.said) >= time.Second {
		c.said, c.shown = now, true
		fmt.Fprint(c.env.stderr, script.ClearLine+findings.SimulatingText(p))
	}
	return nil
}

// end leaves the terminal's line empty.
func (c *computing) end() {
	if c.shown {
		fmt.Fprint(c.env.stderr, script.ClearLine)
		c.shown = false
	}
}
