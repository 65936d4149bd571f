package action

import (
	"context"
	"time"
)

// Control lets the caller of an action intervene while the action runs. Cancelling the context of Run
// prevents new steps; running steps complete.
type Control struct {
	// Confirm is called after the plan was reported and before any change is sent. An error ends the
	// action. Nil skips the confirmation, and so does a dry run.
	Confirm func(ctx context.Context, question string) error
	// StopMoves is closed when the action is not to wait for running moves: the servers are asked to stop
	// these moves. Nil never closes.
	StopMoves <-chan struct{}
	// AbortContext cancels running operations. Nil never ends.
	AbortContext context.Context
	// ReportTick triggers a report of the running steps with each value; nil disables these reports.
	ReportTick <-chan time.Time
}

func (c Control) confirm(ctx context.Context, question string) error {
	if c.Confirm == nil {
		return nil
	}
	return c.Confirm(ctx, question)
}
