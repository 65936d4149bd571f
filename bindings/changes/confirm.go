package changes

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/server"
)

// Confirmation asks before each change. It is safe for concurrent use; only one goroutine asks at a
// time.
type Confirmation struct {
	// Ask shows a question and returns the answer, a line.
	Ask func(ctx context.Context, question string) (string, error)
	// WithTerminal runs run in the terminal mode for reading a line; nil just calls run.
	WithTerminal func(run func() error) error
	// Context returns the context of the program that makes the change.
	Context func() context.Context
	// ResetAfterQuit makes a Confirmation ask again after the answer quit, for a shell that continues
	// with the next input.
	ResetAfterQuit bool

	mu                  sync.Mutex
	allowAll, refuseAll bool
}

// answers shows the valid answers; the first letter is sufficient.
const answers = "[y]es, [n]o, [a]ll, [q]uit? "

// Confirm returns an error unless a command may be sent.
func (c *Confirmation) Confirm(database string, command bson.Raw) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.allowAll {
		return nil
	}
	line := Describe(database, command)
	question := "to " + line + "\n" + answers
	for !c.refuseAll {
		answer, err := c.ask(question)
		if err != nil {
			return fmt.Errorf("--confirm: no answer: %w", err)
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return mongoerr.New(mongoerr.IllegalOperation, "--confirm: the answer was no; not sent to %s", line)
		case "a", "all":
			c.allowAll = true
			return nil
		case "q", "quit":
			c.refuseAll = !c.ResetAfterQuit
			return server.ErrStopped
		}
		question = answers
	}
	return server.ErrStopped
}

func (c *Confirmation) ask(question string) (answer string, err error) {
	ask := func() (err error) {
		answer, err = c.Ask(c.Context(), question)
		return err
	}
	if c.WithTerminal == nil {
		err = ask()
	} else {
		err = c.WithTerminal(ask)
	}
	return answer, err
}
