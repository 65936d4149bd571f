package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/sim"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

// progress looks on while something is computed: it ends that with a context, and
// on a terminal it shows after a second, and every second, how far it is.
type progress struct {
	ended  func() error
	to     io.Writer
	on     bool
	latest time.Time
	shown  bool
}

func newProgress(ctx context.Context, to io.Writer, quiet bool) *progress {
	ended := func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}
	return &progress{ended: ended, to: to, on: !quiet && isTerminal(to), latest: time.Now()}
}

// watch is for what computes.
func (p *progress) watch(s sim.Progress) error {
	if err := p.ended(); err != nil {
		return err
	}
	p.simulating(s)
	return nil
}

// simulating shows how far a simulation is.
func (p *progress) simulating(s sim.Progress) {
	p.show(func() string { return findings.SimulatingText(s) })
}

// reading shows how far the read of a cluster is.
func (p *progress) reading(r live.Progress) {
	p.show(func() string { return findings.ReadingText(r) })
}

// steps returns what shows the step under way of something.
func (p *progress) steps(about string) func(string) {
	return func(step string) {
		p.show(func() string { return plaintext.VisibleLine(about + ": " + step) })
	}
}

func (p *progress) show(text func() string) {
	if now := time.Now(); p.on && now.Sub(p.latest) >= time.Second {
		p.latest, p.shown = now, true
		fmt.Fprint(p.to, script.ClearLine+text())
	}
}

// end leaves the terminal's line empty.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.to, script.ClearLine)
		p.shown = false
	}
}
