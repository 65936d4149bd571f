package action

import (
	"errors"
	"testing"

	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// What came of asking a donor to stop a move is said as its command answered.
func TestStopText(t *testing.T) {
	interrupted := mongoerr.New(mongoerr.Interrupted, "operation was interrupted")
	for want, s := range map[string]live.MoveStop{
		"Shard a was asked to stop the move of x.y from a to b. Waiting for its answer; Ctrl-C again leaves it to the cluster.": {},
		"Shard a has stopped the move of x.y from a to b: nothing was moved.":                                                   {Answered: true, Err: interrupted},
		"Too late: the move of x.y from a to b was committed.":                                                                  {Answered: true},
		"It is not known whether shard a has stopped the move of x.y from a to b: gone.":                                        {Answered: true, Err: errors.New("gone")},
	} {
		s.Namespace, s.From, s.To = "x.y", "a", "b"
		if got := stoppedMoveText(s); got != want {
			t.Errorf("%q, and not %q", got, want)
		}
	}
}
