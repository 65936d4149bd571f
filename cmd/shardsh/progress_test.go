package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/live"
	"shardsh/balancer/sim"
)

// Ctrl-C and --timeout end what is computed, also after the file was read.
func TestInterruptedComputing(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 20, 2000, func(i int) (int, int64) { return i % 3, 128 << 20 })
	settings := s.Settings()
	settings.Window = &catalog.Window{Start: 0, Stop: 23 * 60}
	file := filepath.Join(t.TempDir(), "cluster.snap")
	if err := snapfile.Save(file, s.WithSettings(settings)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"plan"}, {"forecast"}, {"simulate", "--change", "addShard 2"}, {"report", "-o", "-"}, {"check", "--rules", "all"},
	} {
		for _, tt := range []struct {
			name string
			more []string
			ctx  func() (context.Context, context.CancelFunc)
			code int
		}{
			{"Ctrl-C", nil, interrupted, exitSIGINT},
			{"timeout", []string{"--timeout", "1ms"}, uninterrupted, exitFailure},
			{"in peace", nil, uninterrupted, exitOK},
		} {
			if tt.name == "timeout" && args[0] == "check" {
				continue // the timeout is of one cluster's answer, and is told as a finding
			}
			var out, errs bytes.Buffer
			env := environment{
				args:    append(append(args, "--from", file), tt.more...),
				streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &errs},
				getenv:  func(string) (string, bool) { return "", false },
			}
			ctx, cancel := tt.ctx()
			code := env.run(ctx)
			cancel()
			if tt.name == "in peace" && args[0] == "check" {
				tt.code = exitFindings
			}
			if code != tt.code || (out.Len() > 0) != (tt.name == "in peace") {
				t.Errorf("%s, %s: exit %d and %d bytes of answer, not exit %d: %s", args[0], tt.name, code, out.Len(), tt.code, &errs)
			}
		}
	}
}

// interrupted is a context that a signal has ended.
func interrupted() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(signalError{os.Interrupt})
	return ctx, func() { cancel(nil) }
}

func uninterrupted() (context.Context, context.CancelFunc) {
	return context.WithCancel(context.Background())
}

// Nothing is told in the first second, then each second one line, which leaves no
// trace.
func TestComputingTells(t *testing.T) {
	var errs bytes.Buffer
	c := newProgress(t.Context(), &errs, false)
	c.enabled = true // as on a terminal
	p := sim.Progress{Rounds: 412, Moves: 9000, At: snaptest.SnapshotTime()}
	for _, said := range []time.Duration{time.Hour, -time.Second, time.Hour} {
		c.lastShown = time.Now().Add(said)
		if err := c.onSimulation(p); err != nil {
			t.Fatal(err)
		}
	}
	c.clearLine()
	c.clearLine()
	c.lastShown = time.Now().Add(-time.Second)
	c.showReading(live.Progress{Collections: 1500, TotalCollections: 50_000, Chunks: 1_234_567})
	c.clearLine()
	const line = "\r\x1b[Ksimulating: round 412, 9,000 moves so far, at 2026-03-02 12:00\r\x1b[K" +
		"\r\x1b[Kreading: 1,500 of 50,000 collections, 1,234,567 chunks so far\r\x1b[K"
	if errs.String() != line {
		t.Errorf("it told %q, not %q", &errs, line)
	}
	if quiet := newProgress(t.Context(), os.Stderr, true); quiet.enabled {
		t.Error("--quiet tells")
	}
}
