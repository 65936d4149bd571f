package mongoerr

import (
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The labels of a command that an overloaded server has rejected before executing it. Any command may
// be retried after a delay.
const (
	LabelOverloaded = "SystemOverloadedError"
	LabelRetryable  = "RetryableError"
)

// The delays before a command that an overloaded server has rejected is retried. Drivers use the same
// delays: exponential backoff with full jitter.
const (
	baseOverloadDelay = 100 * time.Millisecond
	maxOverloadDelay  = 10 * time.Second
)

// IsOverloaded reports whether an overloaded server has rejected a command. Write batches have the code
// without the labels.
func IsOverloaded(err error) bool {
	if code, ok := CodeOf(err); ok && (code.InCategory(LabelOverloaded) || code == SearchOverloaded) {
		return true
	}
	var labelled interface{ HasErrorLabel(label string) bool }
	return errors.As(err, &labelled) && labelled.HasErrorLabel(LabelOverloaded) && labelled.HasErrorLabel(LabelRetryable)
}

// OverloadDelay returns how long to wait before the next attempt, after an overloaded server has
// rejected the given number of attempts; random is a random number in [0, 1). The server may specify the first
// delay.
func OverloadDelay(err error, attempts int, random float64) time.Duration {
	base := baseOverloadDelay
	var e *ServerError
	if errors.As(err, &e) {
		for _, f := range e.Extra {
			if ms, ok := toFloat64(f.Value); f.Key == "baseBackoffMS" && ok && ms > 0 {
				base = min(maxOverloadDelay, time.Duration(ms*float64(time.Millisecond)))
			}
		}
	}
	most := maxOverloadDelay
	if doublings := max(0, attempts-1); base <= maxOverloadDelay>>doublings {
		most = base << doublings
	}
	return time.Duration(random * float64(most))
}

func toFloat64(v any) (float64, bool) {
	switch v := v.(type) {
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bson.RawValue:
		return v.AsFloat64OK()
	}
	return 0, false
}
