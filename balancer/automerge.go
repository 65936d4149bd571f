package balancer

import (
	"context"
	"errors"
	"sync"
	"time"

	"shardsh/balancer/policy"
)

// autoMerger is the policy, shared between the loop, which switches it, and
// the streams, which work for it.
type autoMerger struct {
	mu     sync.Mutex
	policy policy.AutoMerger
}

func (m *autoMerger) do(f func(*policy.AutoMerger) []policy.MergerEvent) []policy.MergerEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(&m.policy)
}

// mayAutoMerge: the auto-merger's own switch, mode and window.
func (l *Loop) mayAutoMerge() bool {
	s := l.Settings()
	return s.ShouldAutoMerge(l.now.In(l.cfg.Location))
}

func (l *Loop) enableAutoMerger() {
	l.logMerger(&l.thread, l.merger.do(func(m *policy.AutoMerger) []policy.MergerEvent { return m.Enable(l.now) }))
}

func (l *Loop) disableAutoMerger() {
	l.logMerger(&l.thread, l.merger.do((*policy.AutoMerger).Disable))
}

// SettingsChanged tells the loop that a command has written settings, or those
// of a collection, which it has read since. Where they forbid auto-merging, that
// ends now and not with the next round (spec 02 §1.4).
func (l *Loop) SettingsChanged(ctx context.Context, c Cluster, now time.Time) {
	settings := l.Settings()
	if settings.ShouldAutoMerge(now.In(l.cfg.Location)) {
		return
	}
	for _, e := range l.merger.do((*policy.AutoMerger).Disable) {
		if err := c.LogChange(ctx, string(e)); err != nil {
			l.cfg.Logger.Warn("change log entry not written", "what", e, "error", err)
		}
	}
}

// checkAutoMergeRound begins a round that is due; either thread may find it.
func (l *Loop) checkAutoMergeRound(t *thread) {
	l.logMerger(t, l.merger.do(func(m *policy.AutoMerger) []policy.MergerEvent {
		return m.CheckRound(t.now, l.cfg.Parameters().AutoMergerInterval)
	}))
}

// logMerger writes the auto-merger's events into the change log. A failure is
// a warning.
func (l *Loop) logMerger(t *thread, events []policy.MergerEvent) {
	for _, e := range events {
		if e == policy.MergerStarts {
			l.streams.wake()
		}
		err := run(t, "changelog", func(ctx context.Context, c Cluster) error { return c.LogChange(ctx, string(e)) })
		if err != nil && !errors.Is(err, errTerminated) {
			l.cfg.Logger.Warn("change log entry not written", "what", e, "error", err)
		}
	}
}
