package pace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// How long to wait before a cluster is asked again that did not answer, and for
// how long in all.
const (
	askAgain   = 5 * time.Second
	maxSilence = 10 * time.Minute
)

// How often members are looked at that were busy, and how long they have not to be
// before anything goes on.
const (
	lookAgain = 10 * time.Second
	calm      = 30 * time.Second
)

// clusterObstacle finds what the cluster knows of. What the members are not asked for is
// looked at once more after them: that takes a while.
func (g *Gate) clusterObstacle(ctx context.Context, m *Move) (*obstacle, error) {
	o, err := g.holdOrWindow(ctx)
	if o != nil || err != nil || g.rules.PauseWhen == nil && g.rules.DiskLimit == 0 {
		return o, err
	}
	if g.rules.PauseWhen != nil {
		if o, err := g.members(ctx, *m); o != nil || err != nil {
			return o, err
		}
	}
	if o, err := g.space(ctx, m); o != nil || err != nil {
		return o, err
	}
	return g.holdOrWindow(ctx)
}

func (g *Gate) holdOrWindow(ctx context.Context) (*obstacle, error) {
	if o, err := g.held(ctx); o != nil || err != nil {
		return o, err
	}
	return g.windowObstacle(ctx)
}

// windowObstacle looks at the windows.
func (g *Gate) windowObstacle(ctx context.Context) (*obstacle, error) {
	if !g.Windowed() {
		return nil, nil
	}
	now, err := g.time(ctx)
	if err != nil {
		return noAnswer("can't read the cluster's time", err)
	}
	if g.rules.Window != nil {
		if o := g.rules.Window.shut(now); o != nil {
			return o, nil
		}
	}
	for _, hours := range g.rules.Hours {
		if o := allShut(hours, now); o != nil {
			return o, nil
		}
	}
	return nil, nil
}

// allShut says that none of some windows is open, and which one opens first.
func allShut(windows []*Window, now time.Time) (first *obstacle) {
	for _, w := range windows {
		o := w.shut(now)
		if o == nil {
			return nil
		}
		if first == nil || o.left < first.left {
			first = o
		}
	}
	return first
}

// members looks at those of the shards that a move is of.
func (g *Gate) members(ctx context.Context, m Move) (*obstacle, error) {
	shards := slices.DeleteFunc([]catalog.ShardID{m.From, m.To}, func(id catalog.ShardID) bool { return id == "" })
	readings, err := g.read(ctx, slices.Compact(shards))
	if err != nil {
		return noAnswer("can't read what --pause-when needs from the members", err)
	}
	v := g.rules.PauseWhen.Judge(readings)
	g.note(v.Untold)
	return g.obstacleOf(m, v), nil
}

// obstacleOf is what follows from a verdict: once members were busy, they must not be
// for a while.
func (g *Gate) obstacleOf(m Move, v Verdict) *obstacle {
	g.mu.Lock()
	defer g.mu.Unlock()
	of, now := pair{m.From, m.To}, g.clock.Now()
	since, was := g.busy[of]
	switch {
	case v.Holds:
		g.busy[of] = time.Time{}
		return &obstacle{reason: Busy, text: "paused: " + strings.Join(v.Why, ", "), left: lookAgain}
	case !was:
		return nil
	case since.IsZero():
		g.busy[of], since = now, now
	}
	if left := calm - now.Sub(since); left > 0 {
		return &obstacle{reason: Busy, text: "the members were busy until a moment ago", left: min(left, lookAgain)}
	}
	delete(g.busy, of)
	return nil
}

// note tells, once, of what nobody tells.
func (g *Gate) note(untold []Quantity) {
	g.telling.Lock()
	defer g.telling.Unlock()
	for _, q := range untold {
		if !g.untold[q] {
			g.untold[q] = true
			g.tell(Event{Reason: Untold, Text: fmt.Sprintf("no member reports %s: --pause-when ignores it", q)})
		}
	}
}

// noAnswer waits for the cluster, unless it has refused.
func noAnswer(what string, err error) (*obstacle, error) {
	err = fmt.Errorf("%s: %w", what, err)
	if !policy.FailureOf(err).IsTransient() {
		return nil, &AskError{Err: err}
	}
	return &obstacle{reason: NoAnswer, text: "waiting: " + err.Error(), left: askAgain, err: err}, nil
}
