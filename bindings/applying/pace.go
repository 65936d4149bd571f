package applying

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// Pace returns what lets the moves of a run begin on the cluster behind a client,
// by that cluster's clock.
func Pace(client *mongo.Client, r pace.Rules, clock pace.Clock, tell func(pace.Event)) *pace.Gate {
	now := func(ctx context.Context) (time.Time, error) { return live.Now(ctx, live.AskerOf(client)) }
	return pace.NewGate(r, clock, pace.Time(now), pace.Tell(tell))
}

// Waits is for pace.Tell: why nothing begins, and that it does again.
func (t Teller) Waits(e pace.Event) {
	t.Progress.End()
	t.Note(strings.ToUpper(e.Text[:1]) + e.Text[1:] + ".")
}
