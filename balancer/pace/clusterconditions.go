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

// retryInterval is the wait before a cluster that did not answer is asked again. maxSilence is the
// maximum total time of these waits.
const (
	retryInterval = 5 * time.Second
	maxSilence    = 10 * time.Minute
)

// busyPollInterval is the interval at which busy members are read again. minCalm is the time for which
// they must not be busy before moves continue.
const (
	busyPollInterval = 10 * time.Second
	minCalm          = 30 * time.Second
)

// readClusterObstacle reads the obstacles that the cluster reports. Reading the members takes a while;
// the other obstacles are read again after it.
func (g *Gate) readClusterObstacle(ctx context.Context, m *Move) (*obstacle, error) {
	o, err := g.readHoldOrWindow(ctx)
	if o != nil || err != nil || g.rules.PauseWhen == nil && g.rules.DiskLimit == 0 {
		return o, err
	}
	if g.rules.PauseWhen != nil {
		if o, err := g.readMemberObstacle(ctx, *m); o != nil || err != nil {
			return o, err
		}
	}
	if o, err := g.readSpaceObstacle(ctx, m); o != nil || err != nil {
		return o, err
	}
	return g.readHoldOrWindow(ctx)
}

func (g *Gate) readHoldOrWindow(ctx context.Context) (*obstacle, error) {
	if o, err := g.readHoldObstacle(ctx); o != nil || err != nil {
		return o, err
	}
	return g.readWindowObstacle(ctx)
}

// readWindowObstacle checks the windows.
func (g *Gate) readWindowObstacle(ctx context.Context) (*obstacle, error) {
	if !g.HasWindow() {
		return nil, nil
	}
	now, err := g.readTime(ctx)
	if err != nil {
		return noAnswerObstacle("can't read the cluster's time", err)
	}
	if g.rules.Window != nil {
		if o := g.rules.Window.shutObstacle(now); o != nil {
			return o, nil
		}
	}
	for _, hours := range g.rules.WindowGroups {
		if o := shutObstacle(hours, now); o != nil {
			return o, nil
		}
	}
	return nil, nil
}

// shutObstacle returns the obstacle if none of some windows is open. It names the window that opens first.
func shutObstacle(windows []*Window, now time.Time) (first *obstacle) {
	for _, w := range windows {
		o := w.shutObstacle(now)
		if o == nil {
			return nil
		}
		if first == nil || o.left < first.left {
			first = o
		}
	}
	return first
}

// readMemberObstacle reads the members of the shards of a move.
func (g *Gate) readMemberObstacle(ctx context.Context, m Move) (*obstacle, error) {
	shards := slices.DeleteFunc([]catalog.ShardID{m.From, m.To}, func(id catalog.ShardID) bool { return id == "" })
	readings, err := g.readMembers(ctx, slices.Compact(shards))
	if err != nil {
		return noAnswerObstacle("can't read what --pause-when needs from the members", err)
	}
	v := g.rules.PauseWhen.Evaluate(readings)
	g.reportUnreported(v.Unreported)
	return g.verdictObstacle(m, v), nil
}

// verdictObstacle returns the obstacle for a verdict. Members that were busy must not be busy for
// minCalm before moves continue.
func (g *Gate) verdictObstacle(m Move, v Verdict) *obstacle {
	g.mu.Lock()
	defer g.mu.Unlock()
	of, now := pair{m.From, m.To}, g.clock.Now()
	since, was := g.calmSince[of]
	switch {
	case v.Holds:
		g.calmSince[of] = time.Time{}
		return &obstacle{reason: WaitCondition, text: "paused: " + strings.Join(v.Reasons, ", "), left: busyPollInterval}
	case !was:
		return nil
	case since.IsZero():
		g.calmSince[of], since = now, now
	}
	if left := minCalm - now.Sub(since); left > 0 {
		return &obstacle{
			reason: WaitCondition,
			text:   "the members were busy until a moment ago",
			left:   min(left, busyPollInterval),
		}
	}
	delete(g.calmSince, of)
	return nil
}

// reportUnreported reports each quantity that no member reports, once.
func (g *Gate) reportUnreported(unreported []Quantity) {
	g.eventMu.Lock()
	defer g.eventMu.Unlock()
	for _, q := range unreported {
		if !g.missingReported[q] {
			g.missingReported[q] = true
			g.onEvent(Event{Reason: ConditionUnmeasured, Text: fmt.Sprintf("no member reports %s: --pause-when ignores it", q)})
		}
	}
}

// noAnswerObstacle returns an obstacle that waits for the cluster, or the error if the cluster has
// refused the request.
func noAnswerObstacle(what string, err error) (*obstacle, error) {
	err = fmt.Errorf("%s: %w", what, err)
	if !policy.FailureClassOf(err).IsTransient() {
		return nil, &OperatorNeededError{Err: err}
	}
	return &obstacle{reason: WaitNoAnswer, text: "waiting: " + err.Error(), left: retryInterval, err: err}, nil
}
