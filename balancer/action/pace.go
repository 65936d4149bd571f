package action

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// closeTimeout is the maximum time to close the connections to members.
const closeTimeout = 5 * time.Second

// newGate returns the gate that admits the steps of a run, by the cluster's clock, and a function that
// closes the gate's connections. If the rules need the state of the members of the cluster, all members
// are asked once before anything moves; the error is a *live.MembersError if one does not answer. A dry
// run does not wait for anything.
func (p Pace) newGate(
	ctx context.Context,
	c Cluster,
	rules pace.Rules,
	dryRun bool,
	r *serialReporter,
	lease *atomic.Pointer[live.LeasedCluster],
) (*pace.Gate, func(), error) {
	if dryRun {
		rules.PauseWhen, rules.DiskLimit = nil, 0
	}
	wait := func(e pace.Event) { r.Report(Wait{e}) }
	given := []pace.Option{pace.WithTime(c.now), pace.WithEvents(wait)}
	if !dryRun {
		given = append(given, pace.WithHold(c.newHoldReader(lease, r)))
	}
	if rules.DiskLimit > 0 {
		given = append(given,
			pace.WithRoomReader(live.NewVolumeReader(live.NewCommandRunner(c.Client), rules.DiskLimit).ReadRoom))
	}
	leave := func() {}
	if rules.PauseWhen != nil {
		if c.ClientOptions == nil {
			return nil, nil, refuse("{pauseWhen} is not possible here: the shards' members can't be reached")
		}
		m := live.NewMemberReader(live.NewCommandRunner(c.Client), c.ClientOptions, rules.PauseWhen.Quantities())
		leave = func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			_ = m.Close(ctx) // nothing was written
		}
		if err := m.Check(ctx); err != nil {
			leave()
			return nil, nil, err
		}
		given = append(given, pace.WithMembers(m.Read))
	}
	gate := pace.NewGate(rules, c.Clock, given...)
	if p.MetricsAddress == "" {
		return gate, leave, nil
	}
	at, stop, err := serveMetrics(ctx, p.MetricsAddress, runMetrics{gate.Stats, holderFunc(lease)})
	if err != nil {
		leave()
		return nil, nil, err
	}
	r.note(fmt.Sprintf("Metrics are at http://%s/metrics.", at))
	return gate, func() {
		stop()
		leave()
	}, nil
}
