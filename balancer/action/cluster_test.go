package action

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestRecorderOfParallelSteps: a dry run keeps each command that its steps would have sent, however many run at once.
func TestRecorderOfParallelSteps(t *testing.T) {
	const steps, commands = 8, 20_000
	r := &recorder{report: &serialReporter{}}
	var running sync.WaitGroup
	for range steps {
		running.Go(func() {
			for range commands {
				if _, err := r.RunCommand(context.Background(), "admin", bson.D{{Key: "moveRange", Value: "db.c"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if n := len(r.unsentCommands); n != steps*commands {
		t.Errorf("%d commands of %d", n, steps*commands)
	}
}
