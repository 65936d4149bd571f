package action

import (
	"context"
	"time"
)

// Control is what the caller of an action decides while it runs. The end of the
// context of Run has nothing more begin; what is under way comes to its end.
type Control struct {
	// Confirm is asked before anything is sent, after the plan was reported. An
	// error ends the action. Nil asks nobody, and so does a dry run.
	Confirm func(ctx context.Context, question string) error
	// Insist is closed when the moves under way are not to be waited for: the servers
	// are asked to stop them. Nil never is.
	Insist <-chan struct{}
	// Hard ends what is under way. Nil never ends.
	Hard context.Context
	// Tick has steps that go on reported with each of its values; nil has none.
	Tick <-chan time.Time
}

func (c Control) confirm(ctx context.Context, question string) error {
	if c.Confirm == nil {
		return nil
	}
	return c.Confirm(ctx, question)
}
