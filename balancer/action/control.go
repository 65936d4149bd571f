package action

import (
	"context"
	"time"
)

// Control lets the caller of an action intervene while it runs. Cancelling the
// context of Run prevents new steps; running ones complete.
type Control struct {
	// Confirm is asked before anything is sent, after the plan was reported. An
	// error ends the action. Nil asks nobody, and so does a dry run.
	Confirm func(ctx context.Context, question string) error
	// Insist is closed when the moves under way are not to be waited for: the servers
	// are asked to stop them. Nil never is.
	Insist <-chan struct{}
	// Hard ends what is under way. Nil never ends.
	Hard context.Context
	// Tick causes running steps to be reported at each of its values; nil disables that.
	Tick <-chan time.Time
}

func (c Control) confirm(ctx context.Context, question string) error {
	if c.Confirm == nil {
		return nil
	}
	return c.Confirm(ctx, question)
}
