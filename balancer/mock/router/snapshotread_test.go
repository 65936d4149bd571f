package router_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// A snapshot that is gone is refused: a later state would be a wrong answer.
func TestSnapshotReads(t *testing.T) {
	x := routertest.NewThreeShards(t)
	snapshot := func(command bson.D, at ...any) bson.D {
		return append(command, bson.E{Key: "readConcern", Value: append(d("level", "snapshot"), d(at...)...)})
	}
	reads := map[string]func() bson.D{
		"find":      func() bson.D { return d("find", "c") },
		"aggregate": func() bson.D { return d("aggregate", "c", "pipeline", bson.A{}, "cursor", d()) },
		"distinct":  func() bson.D { return d("distinct", "c", "key", "a") },
	}
	for name, read := range reads {
		at := []string{"cursor", "atClusterTime"}
		if name == "distinct" {
			at = at[1:]
		}
		seconds, i, isTime := x.OK("db", snapshot(read())).Lookup(at...).TimestampOK()
		if !isTime {
			t.Fatalf("%s does not say what it has read", name)
		}
		then := bson.Timestamp{T: seconds, I: i}
		x.OK("db", snapshot(read(), "atClusterTime", then))
		x.OK("db", d("insert", "c", "documents", bson.A{d("a", 1)}))
		for _, tt := range []struct {
			what string
			at   any
			code int
		}{
			{"a state of before a write", then, 239},
			{"a time to come", bson.Timestamp{T: seconds + 1000}, 72},
			{"no time", bson.Timestamp{}, 72},
			{"a number", 5, 14},
		} {
			if code := x.Code("db", snapshot(read(), "atClusterTime", tt.at)); code != tt.code {
				t.Errorf("%s of %s: code %d, want %d", name, tt.what, code, tt.code)
			}
		}
	}
}

// Neither $out nor $merge can be linearizable.
func TestOutputIsNotLinearizable(t *testing.T) {
	x := routertest.NewThreeShards(t)
	for _, stage := range []bson.D{d("$out", "d"), d("$merge", "d")} {
		command := d("aggregate", "c", "pipeline", bson.A{stage}, "cursor", d(), "readConcern", d("level", "linearizable"))
		if code := x.Code("db", command); code != 72 {
			t.Errorf("%v: code %d, want 72", stage, code)
		}
	}
	x.OK("db", d("aggregate", "c", "pipeline", bson.A{}, "cursor", d(), "readConcern", d("level", "linearizable")))
}
