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

// progress observes a computation. It stops the computation when a context ends. On a terminal, it
// shows the progress every second, after the first second.
type progress struct {
	ctxErr    func() error
	to        io.Writer
	enabled   bool
	lastShown time.Time
	visible   bool
}

func newProgress(ctx context.Context, to io.Writer, quiet bool) *progress {
	return &progress{ctxErr: func() error { return context.Cause(ctx) }, to: to, enabled: !quiet && isTerminal(to),
		lastShown: time.Now()}
}

// onSimulation handles the progress of a simulation; its error stops the simulation.
func (p *progress) onSimulation(s sim.Progress) error {
	if err := p.ctxErr(); err != nil {
		return err
	}
	p.showSimulation(s)
	return nil
}

// showSimulation shows the progress of a simulation.
func (p *progress) showSimulation(s sim.Progress) {
	p.show(func() string { return findings.SimulatingText(s) })
}

// showReading shows the progress of reading a cluster.
func (p *progress) showReading(r live.Progress) {
	p.show(func() string { return findings.ReadingText(r) })
}

// stepReporter returns a function that shows the current step.
func (p *progress) stepReporter(about string) func(string) {
	return func(step string) {
		p.show(func() string { return plaintext.EscapeLine(about + ": " + step) })
	}
}

func (p *progress) show(text func() string) {
	if now := time.Now(); p.enabled && now.Sub(p.lastShown) >= time.Second {
		p.lastShown, p.visible = now, true
		fmt.Fprint(p.to, script.ClearLine+text())
	}
}

// clearLine clears the progress line.
func (p *progress) clearLine() {
	if p.visible {
		fmt.Fprint(p.to, script.ClearLine)
		p.visible = false
	}
}
