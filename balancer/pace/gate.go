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

// Gate lets moves begin. Several goroutines may use it at once.
type Gate struct {
	rules Rules
	clock Clock
	time  func(context.Context) (time.Time, error)
	read  func(context.Context, []catalog.ShardID) ([]Reading, error)
	tell  func(Event)
	holds func(context.Context, Moment) (string, error) // nil: nobody can hold the run
	room  func(context.Context, Move) (Room, error)
	// chance is from 0 up to 1, for delays that not all runs have alike.
	chance func() float64

	telling sync.Mutex // is held before mu

	mu        sync.Mutex
	began     time.Time // the run, or the first one of the same work
	claimed   Done      // by moves that have begun
	inside    int       // steps that were let in
	looking   int       // steps that may be let in at this moment
	wasOn     bool      // the balancer
	stopped   bool      // it was on, and somebody has stopped it
	underWay  int       // moves
	beyond    int64     // bytes that those may move besides what is expected
	done      Done
	free      time.Time // when the pause after the last move is over
	failures  failures
	overloads overloads
	waits     map[Reason]*wait
	busy      map[pair]time.Time // that were, since when they are not
	untold    map[Quantity]bool  // and it was told of
	arriving  arriving

	first        time.Time // step that began; how long a window was shut before it
	shutBefore   time.Duration
	bytes, steps trajectory
	left         *Left // to do; nil where it is not known
}

// Done is what a run has moved.
type Done struct {
	Moves int
	Bytes int64
}

// Option is something that a Gate knows of the world.
type Option func(*Gate)

// Time tells a Gate where to read the cluster's time, by which windows go. Without
// it they go by the Gate's Clock.
func Time(now func(context.Context) (time.Time, error)) Option { return func(g *Gate) { g.time = now } }

// Members tells a Gate where to read how busy the members of some shards are.
// Without it a rule to pause when they are lets nothing begin.
func Members(read func(context.Context, []catalog.ShardID) ([]Reading, error)) Option {
	return func(g *Gate) { g.read = read }
}

// Chance tells a Gate where to get numbers from 0 up to 1, by which it shortens the delays while
// a server has too much to do.
func Chance(number func() float64) Option { return func(g *Gate) { g.chance = number } }

// Tell tells of waits. It is never called twice at once.
func Tell(tell func(Event)) Option { return func(g *Gate) { g.tell = tell } }

// NewGate returns a Gate for one run, which begins now.
func NewGate(r Rules, c Clock, options ...Option) *Gate {
	g := &Gate{
		rules: r, clock: c, began: c.Now().Add(-r.Spent), claimed: r.Before, free: c.Now().Add(r.Rest), tell: func(Event) {},
		failures: newFailures(r.MaxFailures), waits: map[Reason]*wait{},
		busy: map[pair]time.Time{}, untold: map[Quantity]bool{}, arriving: arriving{},
	}
	g.chance = rand.Float64
	g.room = func(context.Context, Move) (Room, error) { return Room{}, errNobodyAsks }
	g.read = func(context.Context, []catalog.ShardID) ([]Reading, error) { return nil, errNobodyAsks }
	g.time = func(context.Context) (time.Time, error) { return c.Now(), nil }
	for _, option := range options {
		option(g)
	}
	return g
}

// Ends returns when nothing begins any more; zero is never.
func (g *Gate) Ends() time.Time {
	if g.rules.For == 0 {
		return time.Time{}
	}
	return g.clock.Now().Add(g.rules.For - g.Spent())
}

// Spent is how much of the time is over in which anything begins, earlier runs included.
func (g *Gate) Spent() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spent()
}

func (g *Gate) spent() time.Duration {
	now := g.clock.Now()
	spent := now.Sub(g.began)
	for _, r := range []Reason{Shut, Held} {
		if w := g.waits[r]; w != nil && g.rules.Working {
			spent -= w.spent(now)
		}
	}
	return spent
}

// Windowed reports whether moves begin only in a window.
func (g *Gate) Windowed() bool { return g.rules.Window != nil || len(g.rules.Hours) > 0 }

// Rehearsal returns a Gate that has the limits of moves and bytes and lets them in at
// once, for a run that moves nothing.
func (g *Gate) Rehearsal() *Gate {
	r := g.rules
	return NewGate(Rules{
		MaxMoves: r.MaxMoves, MaxBytes: r.MaxBytes, MovesNote: r.MovesNote, BytesNote: r.BytesNote,
	}, g.clock) // nobody asks for room: what nothing moves fills no disk
}

// errNobodyAsks is a mistake of whoever made the Gate.
var errNobodyAsks = mongoerr.New(mongoerr.InternalError, "the members are not asked")

// ErrNotBegun is what Leave is given for a move that was let in and has not begun
// after all.
var ErrNotBegun = errors.New("the move has not begun")

// Enter waits until a move may begin, and counts it as begun. The error is an
// *OverError or an *AskError when none begins any more, and the cause of the end of
// ctx when that ends first.
func (g *Gate) Enter(ctx context.Context, m Move) error {
	return g.wait(ctx, func() (*obstacle, bool, error) {
		g.look(1)
		defer g.look(-1)
		o, err := g.near(m)
		if o == nil && err == nil {
			o, err = g.clusterObstacle(ctx, &m)
		}
		if o != nil || err != nil || ctx.Err() != nil {
			return o, false, err
		}
		return nil, g.claim(m), nil // false: somebody else was faster
	})
}

// wait tries until it is done, and waits for what is in the way.
func (g *Gate) wait(ctx context.Context, try func() (o *obstacle, done bool, err error)) (err error) {
	var at Reason
	var text string
	var since time.Time
	defer func() { g.waited(at, err == nil) }()
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
			g.waited(at, true)
			at, since = o.reason, g.clock.Now()
			g.waiting(o)
		} else if o.reason == Held && o.text != text {
			g.waitsFor(o)
		}
		text = o.text
		waits := g.clock.Now().Sub(since)
		if o.err != nil && waits >= maxSilence {
			return &AskError{Err: o.err}
		}
		if o.reason == NoSpace && waits >= maxDeleting {
			return &OverError{Why: o.text}
		}
		if err := g.sleep(ctx, o); err != nil {
			return err
		}
	}
}

// look counts who looks whether a move may begin.
func (g *Gate) look(times int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looking += times
}

// obstacle is what keeps a move from beginning at the moment.
type obstacle struct {
	reason Reason
	text   string
	// left is how long it does so, or how long to wait before looking again.
	left time.Duration
	// sure tells that it does so for at least as long as left says.
	sure bool
	// err is why the cluster did not answer.
	err error
}

// near finds what this process alone knows of.
func (g *Gate) near(m Move) (*obstacle, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nearLocked(m)
}

func (g *Gate) nearLocked(m Move) (*obstacle, error) {
	if err := g.over(m); err != nil {
		return nil, err
	}
	if o := g.pausing(); o != nil {
		return o, nil
	}
	if o := g.overloaded(); o != nil {
		return o, nil
	}
	if r := g.rules; r.MaxBytes > 0 && g.underWay > 0 && !m.Stays && g.claimed.Bytes+g.beyond+m.Bytes > r.MaxBytes {
		return &obstacle{
			reason: Near, left: nearPause,
			text: fmt.Sprintf("the moves under way may reach the limit of %s", humanize.Bytes(r.MaxBytes)),
		}, nil
	}
	return g.failures.obstacle(m, g.clock.Now()), nil
}

// nearPause is how long to wait before looking whether moves under way have ended.
const nearPause = time.Second

// claim lets a move in, unless something has come in between.
func (g *Gate) claim(m Move) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o, err := g.nearLocked(m); o != nil || err != nil {
		return false
	}
	if g.first.IsZero() {
		g.first = g.clock.Now()
		if w := g.waits[Shut]; w != nil {
			g.shutBefore = w.spent(g.first)
		}
	}
	g.claimed.add(m, 1)
	g.inside++
	g.begun(m, 1)
	g.pause()
	return true
}

// begun counts what is under way.
func (g *Gate) begun(m Move, times int) {
	if !m.Stays {
		g.underWay += times
		g.arriving.count(m, times, g.clock.Now())
		g.beyond += int64(times) * max(0, m.Most-m.Bytes)
	}
}

func (g *Gate) pause() {
	if g.rules.Pause > 0 {
		g.free = g.clock.Now().Add(g.rules.Pause)
	}
}

// over says why a move can't begin any more.
func (g *Gate) over(m Move) error {
	r := g.rules
	next := g.claimed
	next.add(m, 1)
	switch {
	case g.failures.ask != nil:
		return g.failures.ask
	case r.MaxMoves > 0 && next.Moves > r.MaxMoves && !m.Stays:
		return r.MovesNote.reached(humanize.Count(r.MaxMoves, "move"))
	case r.MaxBytes > 0 && next.Bytes > r.MaxBytes && !m.Stays:
		return r.BytesNote.reached(humanize.Bytes(r.MaxBytes))
	case r.For > 0 && g.spent() >= r.For:
		return g.tooLate()
	}
	return nil
}

func (g *Gate) tooLate() error {
	return g.rules.ForNote.reached(humanize.Duration(g.rules.For))
}

func (d *Done) add(m Move, times int) {
	if !m.Stays {
		d.Moves, d.Bytes = d.Moves+times, d.Bytes+int64(times)*m.Bytes
	}
}

// longestSleep is after how long a wait looks again at what it waits for: clocks may
// be set.
const longestSleep = time.Minute

// sleep waits for an obstacle, unless that outlasts the time that the run has.
func (g *Gate) sleep(ctx context.Context, o *obstacle) error {
	left := min(o.left, longestSleep)
	if free := g.rules.Working && (o.reason == Shut || o.reason == Held); g.rules.For > 0 && !free {
		ends := g.rules.For - g.Spent()
		switch {
		case ends <= 0:
			return g.tooLate()
		case o.sure && o.left >= ends && o.text != "":
			return &OverError{Fixed: g.rules.ForNote.Fixed, Why: fmt.Sprintf("no more moves before the limit of %s: %s",
				humanize.Duration(g.rules.For), o.text)}
		}
		left = min(left, ends)
	}
	if err := g.clock.Sleep(ctx, left); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Leave tells how a move that entered has ended. A move that failed for certain
// does not count against the limits.
func (g *Gate) Leave(m Move, err error) {
	if err == nil {
		g.relieved()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.begun(m, -1)
	g.ended(m, err)
}

func (g *Gate) ended(m Move, err error) {
	switch {
	case errors.Is(err, ErrNotBegun):
		g.claimed.add(m, -1)
		return
	case err == nil:
		g.done.add(m, 1)
		g.mark(m)
		g.failures.none(m)
	default:
		if isCertain(err) {
			g.claimed.add(m, -1)
		}
		g.failures.add(m, err, g.clock.Now())
	}
	g.pause()
}

// Moved tells that a move that entered has ended, and how much it has moved: no matter
// what was expected, so much counts against the limits.
func (g *Gate) Moved(m Move, bytes int64) {
	g.relieved()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.begun(m, -1)
	g.claimed.Bytes += bytes - m.Bytes
	m.Bytes = bytes
	g.ended(m, nil)
}

// Done returns what was moved so far.
func (g *Gate) Done() Done {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}
