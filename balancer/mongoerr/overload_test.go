package mongoerr

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

type labelled []string

func (l labelled) Error() string { return "labelled" }
func (l labelled) HasErrorLabel(label string) bool {
	for _, has := range l {
		if has == label {
			return true
		}
	}
	return false
}

func TestOverloaded(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{New(462, "slow down"), true}, {New(489, "slow down"), true}, {labelled{LabelOverloaded, LabelRetryable}, true},
		{labelled{LabelOverloaded}, false}, {labelled{LabelRetryable}, false},
		{New(TemporarilyUnavailable, "x"), false}, {errors.New("x"), false}, {nil, false},
	} {
		if got := IsOverloaded(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

// Jitter x min(10 s, base x 2^attempt), base 100 ms or what the server says.
func TestOverloadDelay(t *testing.T) {
	plain, named := New(462, "x"), New(462, "x")
	named.Extra = bson.D{{Key: "baseBackoffMS", Value: int32(700)}}
	slow := New(462, "x")
	slow.Extra = bson.D{{Key: "baseBackoffMS", Value: int32(9000)}}
	for _, c := range []struct {
		err     error
		refused int
		chance  float64
		want    time.Duration
	}{
		{plain, 1, 1, 100 * time.Millisecond}, {plain, 2, 1, 200 * time.Millisecond}, {plain, 4, 0.5, 400 * time.Millisecond},
		{plain, 8, 1, 10 * time.Second}, {plain, 1000, 1, 10 * time.Second}, {plain, 3, 0, 0},
		{named, 1, 1, 700 * time.Millisecond}, {named, 3, 1, 2800 * time.Millisecond}, {named, 5, 1, 10 * time.Second},
		{slow, 1, 1, 9 * time.Second}, {slow, 31, 1, 10 * time.Second},
	} {
		if got := OverloadDelay(c.err, c.refused, c.chance); got != c.want {
			t.Errorf("%d refused, chance %v: %s, want %s", c.refused, c.chance, got, c.want)
		}
	}
}
