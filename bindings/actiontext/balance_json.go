package actiontext

import (
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
)

// BalanceEvent is the JSON form of an event.
type BalanceEvent struct {
	Event      runner.EventKind `json:"event"`
	At         time.Time        `json:"at"`
	Number     int              `json:"number,omitzero"`
	Namespace  string           `json:"ns,omitzero"`
	Min        *catalog.Key     `json:"min,omitempty"`
	Max        *catalog.Key     `json:"max,omitempty"`
	From       catalog.ShardID  `json:"from,omitzero"`
	To         catalog.ShardID  `json:"to,omitzero"`
	Reason     policy.Reason    `json:"reason,omitzero"`
	Bytes      int64            `json:"bytes,omitzero"`
	MS         int64            `json:"millis,omitzero"`
	Points     int              `json:"points,omitzero"`
	Why        string           `json:"why,omitzero"`
	Error      string           `json:"error,omitzero"`
	Then       string           `json:"then,omitzero"`
	Moves      int              `json:"moves"` // so far
	MovedBytes int64            `json:"movedBytes"`
}

// BalanceEventOf returns the document of an event.
func BalanceEventOf(e runner.Event) BalanceEvent {
	m := BalanceEvent{
		Event: e.Kind, At: e.At.UTC(), Number: e.Move.Number, Namespace: e.Namespace, From: e.Move.From, To: e.Move.To,
		Reason: e.Move.Reason, Bytes: e.Move.Bytes, MS: e.Move.Took.Milliseconds(), Points: e.PointCount, Why: e.Why,
		Moves: e.Done.Moves, MovedBytes: e.Done.Bytes,
	}
	lower := e.Min
	if e.Move.Number > 0 {
		m.Namespace, lower = e.Move.Namespace, e.Move.Min
	}
	if !lower.IsZero() {
		m.Min = &lower
	}
	if upper := e.Move.Max; !upper.IsZero() {
		m.Max = &upper
	}
	if e.Kind == runner.Waiting {
		m.MS = e.Wait.Milliseconds()
	}
	if e.Err != nil {
		m.Error = e.Err.Error()
	}
	if e.Kind == runner.Failed {
		m.Then = e.Failure.String()
	}
	return m
}
