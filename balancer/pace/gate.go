package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
)

// Clock tells the time, and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or for the end of ctx, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// Gate decides when moves may begin. Several goroutines may use it at once.
type Gate struct {
	rules       Rules
	clock       Clock
	readTime    func(context.Context) (time.Time, error)
	readMembers func(context.Context, []catalog.ShardID) ([]Reading, error)
	onEvent     func(Event)
	readHold    func(context.Context, HoldInput) (string, error) // nil if the run can't be held
	readRoom    func(context.Context, Move) (VolumeRoom, error)
	// random returns numbers from 0 up to 1, so that the delays of several runs differ.
	random func() float64

	eventMu sync.Mutex // is held before mu

	mu                  sync.Mutex
	began               time.Time   // start of the run, or of the first run of the same work
	claimed             MovedAmount // by moves that have begun
	admittedSteps       int         // steps that may begin, those that have begun included
	checkingSteps       int         // steps that are checking whether they may begin
	balancerWasOn       bool        // before the run
	balancerStopped     bool        // the balancer was on, and a user has stopped it
	runningMoves        int
	possibleExcessBytes int64 // bytes that running moves may move beyond the expected ones
	done                MovedAmount
	pauseEnds           time.Time // end of the pause after the last move
	failures            failures
	overloads           overloads
	waits               map[Reason]*wait
	calmSince           map[pair]time.Time // for pairs that were busy: since when they are not busy
	missingReported     map[Quantity]bool  // quantities that were reported as missing
	arriving            arrivals

	// when the first step began; shutBeforeFirstStep is how long a window was shut before
	firstStepAt                    time.Time
	shutBeforeFirstStep            time.Duration
	byteTrajectory, stepTrajectory trajectory
	remaining                      *Remaining // remaining work; nil if it is not known
}

// MovedAmount is the amount that a run has moved.
type MovedAmount struct {
	Moves int
	Bytes int64
}

// Option sets a dependency of a Gate.
type Option func(*Gate)

// WithTime sets the function that reads the cluster's time, which windows use. Without
// it they use the Gate's Clock.
func WithTime(now func(context.Context) (time.Time, error)) Option {
	return func(g *Gate) { g.readTime = now }
}

// WithMembers sets the function that reads the state of the members of some shards. Without it, a rule
// with PauseWhen admits no move.
func WithMembers(read func(context.Context, []catalog.ShardID) ([]Reading, error)) Option {
	return func(g *Gate) { g.readMembers = read }
}

// WithEvents sets the function that receives events. It is never called concurrently.
func WithEvents(tell func(Event)) Option { return func(g *Gate) { g.onEvent = tell } }

// NewGate returns a Gate for one run, which begins now.
func NewGate(r Rules, c Clock, options ...Option) *Gate {
	g := &Gate{
		rules:           r,
		clock:           c,
		began:           c.Now().Add(-r.SpentBefore),
		claimed:         r.MovedBefore,
		pauseEnds:       c.Now().Add(r.FirstPause),
		onEvent:         func(Event) {},
		failures:        newFailures(r.MaxFailures),
		waits:           map[Reason]*wait{},
		calmSince:       map[pair]time.Time{},
		missingReported: map[Quantity]bool{},
		arriving:        arrivals{},
	}
	g.random = rand.Float64
	g.readRoom = func(context.Context, Move) (VolumeRoom, error) { return VolumeRoom{}, errNoMembers }
	g.readMembers = func(context.Context, []catalog.ShardID) ([]Reading, error) { return nil, errNoMembers }
	g.readTime = func(context.Context) (time.Time, error) { return c.Now(), nil }
	for _, option := range options {
		option(g)
	}
	return g
}

// EndTime returns the time after which no move begins; zero means no limit.
func (g *Gate) EndTime() time.Time {
	if g.rules.MaxTime == 0 {
		return time.Time{}
	}
	return g.clock.Now().Add(g.rules.MaxTime - g.Spent())
}

// Spent returns how much of the time limit is used up, including earlier runs.
func (g *Gate) Spent() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spentLocked()
}

func (g *Gate) spentLocked() time.Duration {
	now := g.clock.Now()
	spent := now.Sub(g.began)
	for _, r := range []Reason{WaitWindow, WaitPaused} {
		if w := g.waits[r]; w != nil && g.rules.CountOnlyOpenTime {
			spent -= w.waitedTime(now)
		}
	}
	return spent
}

// HasWindow reports whether moves begin only in windows.
func (g *Gate) HasWindow() bool { return g.rules.Window != nil || len(g.rules.WindowGroups) > 0 }

// Rehearsal returns a Gate with the limits of moves and bytes that admits moves immediately, for a run
// that moves nothing.
func (g *Gate) Rehearsal() *Gate {
	r := g.rules
	return NewGate(Rules{
		MaxMoves: r.MaxMoves, MaxBytes: r.MaxBytes, MovesNote: r.MovesNote, BytesNote: r.BytesNote,
	}, g.clock) // without a disk limit: a rehearsal moves nothing
}

// errNoMembers is the error for a Gate without WithMembers, which is a programming error.
var errNoMembers = mongoerr.New(mongoerr.InternalError, "the members are not asked")

// ErrNotBegun is passed to Leave for a move that was admitted but has not begun.
var ErrNotBegun = errors.New("the move has not begun")

// Enter waits until a move may begin, and counts it as begun. The error is a *RunOverError or an
// *OperatorNeededError if no move may begin any more, and the cause of the end of ctx if ctx ends first.
func (g *Gate) Enter(ctx context.Context, m Move) error {
	claimed := false
	err := g.wait(ctx, func() (*obstacle, bool, error) {
		g.countChecking(1)
		defer g.countChecking(-1)
		o, err := g.localObstacle(m)
		if o == nil && err == nil {
			o, err = g.readClusterObstacle(ctx, &m)
		}
		if o != nil || err != nil || ctx.Err() != nil {
			return o, false, err
		}
		claimed = g.claim(m) // false: another move has entered first
		return nil, claimed, nil
	})
	if claimed { // also if ctx has ended since
		return nil
	}
	return err
}

// wait calls try until it is done, and waits for the obstacle each time.
func (g *Gate) wait(ctx context.Context, try func() (o *obstacle, done bool, err error)) (err error) {
	var at Reason
	var text string
	var since time.Time
	defer func() { g.finishWait(at, err == nil) }()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		o, done, err := try()
		switch {
		case ctx.Err() != nil:
			continue
		case done || err != nil:
			return err
		case o == nil:
			continue
		}
		if o.reason != at {
			g.finishWait(at, true)
			at, since = o.reason, g.clock.Now()
			g.startWait(o)
		} else if o.reason == WaitPaused && o.text != text {
			g.changeWait(o)
		}
		text = o.text
		waits := g.clock.Now().Sub(since)
		if o.err != nil && waits >= maxSilence {
			return &OperatorNeededError{Err: o.err}
		}
		if o.reason == WaitDisk && waits >= maxDiskWait {
			return &RunOverError{Why: o.text}
		}
		if err := g.sleep(ctx, o); err != nil {
			return err
		}
	}
}

// countChecking counts the steps that are checking whether they may begin.
func (g *Gate) countChecking(delta int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.checkingSteps += delta
}

// obstacle is a reason why a move may not begin now.
type obstacle struct {
	reason Reason
	text   string
	// left is the duration of the obstacle, or the wait before the next check.
	left time.Duration
	// leftIsMinimum says that the obstacle lasts for at least left.
	leftIsMinimum bool
	// err is the error of the cluster.
	err error
}

// localObstacle returns an obstacle known to this process, without asking the cluster.
func (g *Gate) localObstacle(m Move) (*obstacle, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.localObstacleLocked(m)
}

func (g *Gate) localObstacleLocked(m Move) (*obstacle, error) {
	if err := g.runOverError(m); err != nil {
		return nil, err
	}
	if o := g.betweenMovesObstacle(); o != nil {
		return o, nil
	}
	if o := g.overloadObstacle(); o != nil {
		return o, nil
	}
	if r := g.rules; r.MaxBytes > 0 && g.runningMoves > 0 && !m.MovesNothing &&
		g.claimed.Bytes+g.possibleExcessBytes+m.Bytes > r.MaxBytes {
		return &obstacle{
			reason: WaitNearLimit, left: limitPollInterval,
			text: fmt.Sprintf("the moves under way may reach the limit of %s", humanize.Bytes(r.MaxBytes)),
		}, nil
	}
	return g.failures.obstacle(m, g.clock.Now()), nil
}

// limitPollInterval is the interval at which the Gate checks whether running moves have ended.
const limitPollInterval = time.Second

// claim admits a move, unless the state has changed since the checks.
func (g *Gate) claim(m Move) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o, err := g.localObstacleLocked(m); o != nil || err != nil {
		return false
	}
	if g.firstStepAt.IsZero() {
		g.firstStepAt = g.clock.Now()
		if w := g.waits[WaitWindow]; w != nil {
			g.shutBeforeFirstStep = w.waitedTime(g.firstStepAt)
		}
	}
	g.claimed.add(m, 1)
	g.admittedSteps++
	g.countRunning(m, 1)
	g.startPause()
	return true
}

// countRunning counts the running moves.
func (g *Gate) countRunning(m Move, delta int) {
	if !m.MovesNothing {
		g.runningMoves += delta
		g.arriving.countMove(m, delta, g.clock.Now())
		g.possibleExcessBytes += int64(delta) * max(0, m.MaxBytes-m.Bytes)
	}
}

func (g *Gate) startPause() {
	if g.rules.PauseBetween > 0 {
		g.pauseEnds = g.clock.Now().Add(g.rules.PauseBetween)
	}
}

// runOverError returns the reason why a move may not begin any more.
func (g *Gate) runOverError(m Move) error {
	r := g.rules
	next := g.claimed
	next.add(m, 1)
	switch {
	case g.failures.operatorErr != nil:
		return g.failures.operatorErr
	case r.MaxMoves > 0 && next.Moves > r.MaxMoves && !m.MovesNothing:
		return r.MovesNote.reachedError(humanize.Count(r.MaxMoves, "move"))
	case r.MaxBytes > 0 && next.Bytes > r.MaxBytes && !m.MovesNothing:
		return r.BytesNote.reachedError(humanize.Bytes(r.MaxBytes))
	case r.MaxTime > 0 && g.spentLocked() >= r.MaxTime:
		return g.timeLimitError()
	}
	return nil
}

func (g *Gate) timeLimitError() error {
	return g.rules.TimeNote.reachedError(humanize.Duration(g.rules.MaxTime))
}

func (d *MovedAmount) add(m Move, times int) {
	if !m.MovesNothing {
		d.Moves, d.Bytes = d.Moves+times, d.Bytes+int64(times)*m.Bytes
	}
}

// maxSleep is the maximum time between two checks of an obstacle, since clocks may be set.
const maxSleep = time.Minute

// sleep waits for an obstacle, or returns an error if the obstacle lasts longer than the run may.
func (g *Gate) sleep(ctx context.Context, o *obstacle) error {
	left := min(o.left, maxSleep)
	free := g.rules.CountOnlyOpenTime && (o.reason == WaitWindow || o.reason == WaitPaused)
	if g.rules.MaxTime > 0 && !free {
		ends := g.rules.MaxTime - g.Spent()
		switch {
		case ends <= 0:
			return g.timeLimitError()
		case o.leftIsMinimum && o.left >= ends && o.text != "":
			return &RunOverError{FromPolicy: g.rules.TimeNote.FromPolicy,
				Why: fmt.Sprintf("no more moves before the limit of %s: %s",
					humanize.Duration(g.rules.MaxTime), o.text)}
		}
		left = min(left, ends)
	}
	if err := g.clock.Sleep(ctx, left); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Leave records the end of an admitted move. A move that has certainly moved nothing does not count
// against the limits.
func (g *Gate) Leave(m Move, err error) {
	if err == nil {
		g.clearOverloads()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admittedSteps--
	g.countRunning(m, -1)
	g.countEnded(m, err)
}

func (g *Gate) countEnded(m Move, err error) {
	switch {
	case errors.Is(err, ErrNotBegun):
		g.claimed.add(m, -1)
		return
	case err == nil:
		g.done.add(m, 1)
		g.addMarks(m)
		g.failures.reset(m)
	default:
		if hasMovedNothing(err) {
			g.claimed.add(m, -1)
		}
		g.failures.addFailure(m, err, g.clock.Now())
	}
	g.startPause()
}

// LeaveMoved records the end of an admitted move and the amount that it has moved. That amount counts
// against the limits, instead of the expected amount.
func (g *Gate) LeaveMoved(m Move, bytes int64) {
	g.clearOverloads()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admittedSteps--
	g.countRunning(m, -1)
	g.claimed.Bytes += bytes - m.Bytes
	m.Bytes = bytes
	g.countEnded(m, nil)
}

// Moved returns the amount that was moved so far.
func (g *Gate) Moved() MovedAmount {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}
