package mongoerr

import (
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Labels with which a server says that it has too much to do, and that it has done nothing:
// whatever it was, it may be sent again after a while.
const (
	LabelOverloaded = "SystemOverloadedError"
	LabelRetryable  = "RetryableError"
)

// The delays before commands are sent again that an overloaded server has refused, as drivers
// have them: twice as long each time, and by chance less.
const (
	overloadBase = 100 * time.Millisecond
	overloadMost = 10 * time.Second
)

// Overloaded reports whether a server had too much to do. Batches of writes have the code
// without the labels.
func Overloaded(err error) bool {
	if code, ok := CodeOf(err); ok && (code.In(LabelOverloaded) || code == SearchOverloaded) {
		return true
	}
	var labelled interface{ HasErrorLabel(label string) bool }
	return errors.As(err, &labelled) && labelled.HasErrorLabel(LabelOverloaded) && labelled.HasErrorLabel(LabelRetryable)
}

// OverloadDelay returns how long to wait before the attempt after some that an overloaded
// server has refused; chance is from 0 up to 1. The server may name the first delay.
func OverloadDelay(err error, refused int, chance float64) time.Duration {
	base := overloadBase
	var e *ServerError
	if errors.As(err, &e) {
		for _, f := range e.Extra {
			if ms, ok := number(f.Value); f.Key == "baseBackoffMS" && ok && ms > 0 {
				base = min(overloadMost, time.Duration(ms*float64(time.Millisecond)))
			}
		}
	}
	most := overloadMost
	if refused < 32 {
		most = min(overloadMost, base<<max(0, refused-1))
	}
	return time.Duration(chance * float64(most))
}

func number(v any) (float64, bool) {
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
