package live_test

import (
	"context"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
)

// sentCursorCommand keeps the command that it was sent, and answers with nothing.
type sentCursorCommand struct {
	live.CommandRunner
	command bson.D
}

func (s *sentCursorCommand) RunCursorCommand(_ context.Context, _ string, command bson.D) ([]bson.Raw, error) {
	s.command = command
	return nil, nil
}

// What waits for a log's end with all it does next gives a slow server more time than what can do without.
func TestLogEndsAreWaitedForAsLongAsTheyMatter(t *testing.T) {
	for name, c := range map[string]struct {
		read  func(context.Context, live.CommandRunner, string) (live.LogPosition, error)
		limit int64
	}{
		"the end": {live.ReadEndOfLog, 15_000}, "the end, or nothing": {live.ReadEndOfLogQuickly, 2_000},
	} {
		var sent sentCursorCommand
		if _, err := c.read(t.Context(), &sent, live.ActionLog); err != nil {
			t.Fatal(err)
		}
		var got int64
		for _, e := range sent.command {
			if e.Key == "maxTimeMS" {
				got = reflect.ValueOf(e.Value).Int()
			}
		}
		if got != c.limit {
			t.Errorf("%s: maxTimeMS %d, want %d", name, got, c.limit)
		}
	}
}
