package balancer

import (
	"context"
	"time"

	"shardsh/balancer/policy"
)

// mayAutoMerge reports whether the auto-merger's own switch, the balancer mode and the balancer window
// allow auto-merging now.
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

// HandleSettingsChange tells the loop that a command has written config.settings or the settings of a
// collection, and that the command has read them again. If the new settings forbid auto-merging,
// auto-merging stops immediately and not at the next round (rules/02-defragmentation-and-merging §1.4).
func (l *Loop) HandleSettingsChange(ctx context.Context, j EventLog, now time.Time) {
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

// startDueAutoMergeRound starts a round of the auto-merger if one is due. Both threads call it.
func (l *Loop) startDueAutoMergeRound(t *thread) {
	interval := l.cfg.Parameters().AutoMergerInterval
	var events []policy.MergerEvent
	l.locked(func() { events = l.merger.BeginDueRound(t.now, interval) })
	l.logMerger(t, events)
}
