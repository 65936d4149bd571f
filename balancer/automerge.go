package balancer

import (
	"context"
	"time"

	"shardsh/balancer/policy"
)

// mayAutoMerge: the auto-merger's own switch, mode and window.
func (l *Loop) mayAutoMerge() bool {
	s := l.effectiveSettings()
	return s.ShouldAutoMerge(l.now.In(l.cfg.Location))
}

func (l *Loop) enableAutoMerger() {
	var events []policy.MergerEvent
	l.locked(func() {
		if began := l.cfg.LastAutoMergeRound; !began.IsZero() {
			events = l.merger.EnableAfterRound(began)
		} else {
			events = l.merger.Enable(l.now)
		}
	})
	l.logMerger(&l.thread, events)
}

func (l *Loop) disableAutoMerger() { l.logMerger(&l.thread, l.stopMerging()) }

func (l *Loop) stopMerging() []policy.MergerEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.merger.Disable()
}

// SettingsChanged tells the loop that a command has written settings, or those
// of a collection, which it has read since. Where they forbid auto-merging, that
// ends now and not with the next round (rules/02-defragmentation-and-merging §1.4).
func (l *Loop) SettingsChanged(ctx context.Context, j EventLog, now time.Time) {
	settings := l.effectiveSettings()
	if settings.ShouldAutoMerge(now.In(l.cfg.Location)) {
		return
	}
	for _, e := range l.stopMerging() {
		if err := j.LogChange(ctx, string(e)); err != nil {
			l.cfg.Logger.Warn("change log entry not written", "what", e, "error", err)
		}
	}
}

// startDueAutoMergeRound begins a round that is due; either thread may find it.
func (l *Loop) startDueAutoMergeRound(t *thread) {
	interval := l.cfg.Parameters().AutoMergerInterval
	var events []policy.MergerEvent
	l.locked(func() { events = l.merger.CheckRound(t.now, interval) })
	l.logMerger(t, events)
}
