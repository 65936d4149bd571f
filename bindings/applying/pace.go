package applying

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// Pace returns what lets the moves of a run begin on the cluster behind a client,
// by that cluster's clock.
func Pace(
	client *mongo.Client, r pace.Rules, clock pace.Clock, tell func(pace.Event), more ...pace.Option,
) *pace.Gate {
	now := func(ctx context.Context) (time.Time, error) { return live.Now(ctx, live.NewCommandRunner(client)) }
	return pace.NewGate(r, clock, append([]pace.Option{pace.Time(now), pace.Tell(tell)}, more...)...)
}

// closing is how long the connections to members may take to close.
const closing = 5 * time.Second

// Members has a pace look at the members of the cluster behind a client, which was
// opened with settings, where its rules ask for it. All of them are asked once,
// before anything moves: the error is a *live.MembersError when one can't be.
func Members(
	ctx context.Context, client *mongo.Client, settings *options.ClientOptions, r pace.Rules,
) (look pace.Option, leave func(), err error) {
	if r.PauseWhen == nil {
		return func(*pace.Gate) {}, func() {}, nil
	}
	m := live.NewMembers(live.NewCommandRunner(client), settings, r.PauseWhen.Quantities())
	leave = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		_ = m.Close(ctx) // it was only read
	}
	if err := m.Check(ctx); err != nil {
		leave()
		return nil, nil, err
	}
	return pace.Members(m.Read), leave, nil
}

// Waits is for pace.Tell: why nothing begins, and that it does again.
func (t Teller) Waits(e pace.Event) {
	t.Progress.End()
	t.Note(strings.ToUpper(e.Text[:1]) + e.Text[1:] + ".")
}
