package expr

import (
	"testing"
	"time"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mongoerr"
)

// What the server computes before it runs a command fails there, with no document
// seen. The rules are those of Expression::optimize: constants are computed in the
// operators that have nothing else, in runs of operands where those may be taken
// together, and not at all inside $getField and its kin, whose optimize does nothing
// (a recorded $unsetField over a pattern that is none bears it out).
func TestConstantsFailEarly(t *testing.T) {
	const zero = `{"$divide": [1, 0]}`
	for _, tt := range []struct {
		expr string
		code int
	}{
		{`{"$add": [{"$max": ["x"]}, 1]}`, 14},
		{`{"$add": [{"$cond": [true, "x", 1]}, 1]}`, 14},
		{`{"$add": [{"$not": [1]}, 1]}`, 14},
		{`{"$add": [{"$and": [1, 1]}, 1]}`, 14},
		{`{"$add": [{"$ifNull": [null, "x"]}, 1]}`, 14},
		{`{"$add": [{"$switch": {"branches": [{"case": 1, "then": "x"}]}}, 1]}`, 14},
		{`{"$firstN": {"input": 1, "n": 1}}`, 5788200},

		{`{"$concat": ["$m", 5, 6]}`, 16702}, {`{"$concat": ["$m", 5, "$m", 6]}`, 0},
		{`{"$concat": ["$m", {"$concat": [5, "$m"]}, 6]}`, 0}, {`{"$concat": ["$m", {"$concat": ["$m", 5]}, 6]}`, 16702},
		{`{"$setUnion": [5, "$m", [1]]}`, 17043}, {`{"$setUnion": [5, "$m"]}`, 0},
		{`{"$add": [1, "x", "$m"]}`, 14}, {`{"$add": ["$m", 1, "x"]}`, 0},

		{`{"$getField": {"field": "a", "input": ` + zero + `}}`, 0},
		{`{"$setField": {"field": "a", "input": "$m", "value": ` + zero + `}}`, 0},
		{`{"$unsetField": {"field": "a", "input": {"$regexMatch": {"input": "$m", "regex": "("}}}}`, 0},

		{`{"$switch": {"branches": [{"case": false, "then": 1}]}}`, 40069},
		{`{"$switch": {"branches": [{"case": "$m", "then": 1}]}}`, 0},
		{`{"$switch": {"branches": [{"case": false, "then": ` + zero + `}], "default": 1}}`, 0},
		{`{"$switch": {"branches": [{"case": true, "then": 1}, {"case": ` + zero + `, "then": 1}]}}`, 0},
		{`{"$switch": {"branches": [{"case": "$m", "then": ` + zero + `}], "default": 1}}`, 2},
		{`{"$switch": {"branches": [{"case": true, "then": 1}], "default": ` + zero + `}}`, 2},
	} {
		_, err := compileAlone(document.Lookup(storetest.Raw(t, `{"e":`+tt.expr+`}`), "e"), nil, time.Time{})
		if code, _ := mongoerr.CodeOf(err); int(code) != tt.code {
			t.Errorf("%s: %v, want the code %d", tt.expr, err, tt.code)
		}
	}
}
