package balancer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// maxOutstanding limits the number of streaming actions in progress. The server's comparison allows one
// action more than this number (rules/02-defragmentation-and-merging §1.2).
const maxOutstanding = 50

// The pauses of the streams after an error (rules/02-defragmentation-and-merging §1.2).
const (
	firstBackoff = time.Millisecond
	longBackoff  = time.Second
)

// Streams is the balancer's secondary thread as a state machine: it issues the merges and measurements
// of defragmentations and of the auto-merger. Run it with Resume from one driver, which calls ActionDone when
// an action ends.
type Streams struct {
	thread
	loop *Loop

	lastThrottled time.Time
	backoff       time.Duration

	// The fields below are guarded by the mutex of the engine.
	mayHaveWork bool
	outstanding int
	onWake      func() // set by the driver; nil before that
}

func newStreams(l *Loop) *Streams {
	s := &Streams{thread: thread{mu: &l.mu, logger: l.cfg.Logger}, loop: l, mayHaveWork: true}
	s.begin(s.main)
	return s
}

// OnWake sets the function that resumes the streams from a WaitForWake. The function may be called from
// any goroutine, even when the streams do not wait.
func (s *Streams) OnWake(f func()) {
	s.mu.Lock()
	s.onWake = f
	s.mu.Unlock()
}

// wake tells the streams that there may be work.
func (s *Streams) wake() {
	s.mu.Lock()
	s.mayHaveWork = true
	s.mu.Unlock()
	s.callOnWake()
}

func (s *Streams) callOnWake() {
	s.mu.Lock()
	woken := s.onWake
	s.mu.Unlock()
	if woken != nil {
		woken()
	}
}

func (s *Streams) main() {
	failed := false
	for s.wait(failed); !s.isTerminating(); s.wait(failed) {
		action, ok, err := s.nextAction()
		if errors.Is(err, errTerminated) {
			return
		}
		failed = err != nil
		if !ok {
			continue
		}
		s.adjustOutstanding(+1)
		s.throttle(action)
		s.yield(StartAction{action})
	}
}

// wait waits until there may be work and the number of outstanding actions is below the limit. After a
// failure it waits for a pause.
func (s *Streams) wait(failed bool) {
	var until time.Time
	if failed {
		s.backoff = min(max(2*s.backoff, firstBackoff), longBackoff)
		until = s.now.Add(s.backoff)
	}
	for !s.isReady() && !s.isTerminating() && (until.IsZero() || s.now.Before(until)) {
		s.yield(WaitForWake{until})
	}
	s.mu.Lock()
	s.mayHaveWork = false
	s.mu.Unlock()
}

func (s *Streams) isReady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayHaveWork && s.outstanding <= maxOutstanding
}

// adjustOutstanding changes the number of actions in progress and lets the streams check for another
// action.
func (s *Streams) adjustOutstanding(by int) {
	s.mu.Lock()
	s.outstanding += by
	s.mayHaveWork = s.mayHaveWork || by > 0
	s.mu.Unlock()
}

// nextAction asks the active streams in a random order for one action. The returned error is the error
// of the last stream that failed, even if another stream returned an action.
func (s *Streams) nextAction() (policy.StreamAction, bool, error) {
	settings := s.loop.effectiveSettings()
	now := s.now.In(s.loop.cfg.Location)
	var streams []func() (policy.StreamAction, bool, error)
	if settings.ShouldAutoMerge(now) {
		streams = append(streams, s.mergerAction)
	}
	if settings.ShouldBalance(now) {
		streams = append(streams, s.defragmentationAction)
	}
	s.loop.rand.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
	var failure error
	for _, stream := range streams {
		var action policy.StreamAction
		ok := false
		err := mongoerr.CatchPanic(s.logger, "a stream of the balancer", func() (err error) {
			action, ok, err = stream()
			return err
		})
		switch {
		case errors.Is(err, errTerminated):
			return policy.StreamAction{}, false, err
		case err != nil:
			s.loop.cfg.Logger.Warn("a stream of the balancer failed", "id", 6441900, "error", err)
			failure = err
		case ok:
			return action, true, failure
		}
	}
	return policy.StreamAction{}, false, failure
}

func (s *Streams) mergerAction() (policy.StreamAction, bool, error) {
	l := s.loop
	l.startDueAutoMergeRound(&s.thread)
	wants := false
	l.locked(func() { wants = l.merger.LacksWork() })
	if wants {
		work, err := call(&s.thread, "mergeable", func(ctx context.Context, c Cluster) ([]policy.MergeWork, error) {
			return c.Mergeable(ctx)
		})
		if err != nil {
			return policy.StreamAction{}, false, err
		}
		l.locked(func() { l.merger.SetWork(work) })
	}
	var action policy.StreamAction
	var ok bool
	var events []policy.MergerEvent
	l.locked(func() { action, ok, events = l.merger.Next() })
	l.logMerger(&s.thread, events)
	return action, ok, nil
}

// defragmentationAction visits each collection once, beginning at a random collection, and advances
// collections to their next phase where a phase is complete.
func (s *Streams) defragmentationAction() (policy.StreamAction, bool, error) {
	all := s.loop.defragmentations.all()
	if len(all) == 0 {
		return policy.StreamAction{}, false, nil
	}
	first := s.loop.rand.IntN(len(all))
	for i := range all {
		d := all[(first+i)%len(all)]
		action, ok, err := s.actionOf(d)
		switch {
		case errors.Is(err, errTerminated):
			return policy.StreamAction{}, false, err
		case err != nil:
			s.loop.cfg.Logger.Error("defragmentation given up until the next round", "id", 6172700, "ns", d.ns, "error", err)
			s.loop.defragmentations.remove(d)
		case ok:
			return action, true, nil
		}
	}
	return policy.StreamAction{}, false, nil
}

func (s *Streams) actionOf(d *defragmentation) (policy.StreamAction, bool, error) {
	running := &s.loop.defragmentations
	for {
		var complete bool
		var next policy.PhaseName
		s.locked(func() { complete, next = d.phase.IsComplete(), d.phase.NextPhase() })
		if !complete {
			break
		}
		phase, err := s.loop.enterPhase(&s.thread, d.ns, d.uuid, next, true)
		if err != nil {
			return policy.StreamAction{}, false, err
		}
		if phase == nil {
			running.remove(d)
			return policy.StreamAction{}, false, nil
		}
		s.mu.Lock()
		d.phase = phase
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	action, ok := d.phase.NextAction()
	return action, ok, nil
}

// throttle enforces the minimum delay between throttled actions: it sleeps until the last action is old
// enough. All collections share the limit (rules/02-defragmentation-and-merging §1.3).
func (s *Streams) throttle(a policy.StreamAction) {
	var distance time.Duration
	switch p := s.loop.cfg.Parameters(); {
	case a.Kind == policy.MergeRange:
		distance = p.DefragmentationThrottling
	case a.Kind == policy.MergeAll && a.Throttled:
		distance = p.AutoMergerThrottling
	default:
		return
	}
	if !s.lastThrottled.IsZero() {
		s.sleep(distance - s.now.Sub(s.lastThrottled))
	}
	s.lastThrottled = s.now
}

// ActionDone processes the result of an action. It may be called from any goroutine, also with a lock
// of the cluster held.
func (s *Streams) ActionDone(
	ctx context.Context,
	store DefragmentationStore,
	a policy.StreamAction,
	r policy.StreamActionResult,
) {
	s.adjustOutstanding(-1)
	err := mongoerr.CatchPanic(s.logger, "the end of an action", func() error {
		s.recordResult(ctx, store, a, r)
		return nil
	})
	if err != nil {
		s.wake()
	}
}

func (s *Streams) recordResult(
	ctx context.Context, store DefragmentationStore, a policy.StreamAction, r policy.StreamActionResult,
) {
	if a.Kind == policy.MergeAll {
		s.mergeAllDone(ctx, a, r)
		return
	}
	var measured *policy.Measurement
	s.loop.defragmentations.withPhase(a.UUID, func(p policy.Phase) { measured = p.RecordActionResult(a, r) })
	if measured != nil {
		if err := store.SetEstimate(ctx, a.Namespace, a.UUID, *measured); err != nil {
			// Phase 2 detects the missing size, and the streams are not woken
			// (rules/02-defragmentation-and-merging §2.4).
			s.loop.cfg.Logger.Warn("the size of a chunk was not stored", "id", 6172703, "ns", a.Namespace, "error", err)
			s.callOnWake()
			return
		}
	}
	s.wake()
}

func (s *Streams) mergeAllDone(ctx context.Context, a policy.StreamAction, r policy.StreamActionResult) {
	if r.Err != nil {
		level := slog.LevelDebug
		if mongoerr.Is(r.Err, mongoerr.KeyPatternShorterThanBound) || mongoerr.Is(r.Err, mongoerr.BoundFieldMismatch) {
			level = slog.LevelWarn // the zones do not fit the shard key
		}
		s.loop.cfg.Logger.Log(ctx, level, "merging all chunks of a shard failed", "id", 7312600, "ns", a.Namespace,
			"shard", a.Shard, "error", r.Err)
	}
	wake := false
	s.locked(func() { wake = s.loop.merger.RecordMergeResult(a, r) })
	if wake {
		s.wake()
	} else {
		s.callOnWake()
	}
}
