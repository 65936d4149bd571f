package values

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Trap 8 of rules/04-outputs-and-traps §10: JavaScript puts integer-like names first, a document
// from a server keeps its order all the same until it is spread into a new one.
func TestFieldOrder(t *testing.T) {
	s := newShell(t)
	doc := bson.D{{Key: "b", Value: int32(1)}, {Key: "10", Value: int32(2)},
		{Key: "9", Value: bson.D{{Key: "z", Value: int32(1)}, {Key: "1", Value: int32(1)}}}, {Key: "a", Value: int32(3)}}
	if err := s.w.Runtime().Set("doc", s.w.DocToJS(marshal(t, doc))); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ change, want string }{
		{`doc`, `{"b":1,"10":2,"9":{"z":1,"1":1},"a":3}`},
		{`doc.b = 5; doc`, `{"b":5,"10":2,"9":{"z":1,"1":1},"a":3}`},
		{`doc.new = 6; doc[3] = 7; doc`, `{"b":5,"10":2,"9":{"z":1,"1":1},"a":3,"3":7,"new":6}`},
		{`delete doc[3]; delete doc.new; delete doc["10"]; doc`, `{"b":5,"9":{"z":1,"1":1},"a":3}`},
		{`({...doc})`, `{"9":{"z":1,"1":1},"b":5,"a":3}`},
		{`EJSON.parse('{"x":1,"0":2}')`, `{"x":1,"0":2}`},
		{`new Map([["x", 1], ["0", 2]])`, `{"x":1,"0":2}`},
		{`({x: 1, "0":2})`, `{"0":2,"x":1}`},
	} {
		v, err := s.w.Runtime().RunString(tc.change)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.w.DocFromJS(v)
		if err != nil {
			t.Fatal(err)
		}
		text, err := bson.MarshalExtJSON(raw, false, false)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != tc.want {
			t.Errorf("%s: %s, want %s", tc.change, text, tc.want)
		}
	}
	check(t, []expectation{
		{`EJSON.stringify(EJSON.parse('{"x":1,"0":{"y":1,"0":2}}'))`, `{"x":1,"0":{"y":1,"0":2}}`},
		{`EJSON.parse('{"x":1,"0":2}')`, `{ x: 1, '0': 2 }`},
		{`Object.keys(EJSON.parse('{"x":1,"0":2}'))`, `[ '0', 'x' ]`},
	})
}

func TestKeepsOrder(t *testing.T) {
	s := newShell(t)
	for source, want := range map[string]bool{
		`new Map()`:                                           true,
		`EJSON.parse('{"x":1,"0":2}')`:                        true,
		`({...EJSON.parse('{"x":1,"0":2}')})`:                 false,
		`Object.assign(EJSON.parse('{"x":1,"0":2}'), {y: 1})`: false,
		`({a: 1})`: false, `5`: false,
	} {
		v, err := s.w.Runtime().RunString(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.w.KeepsOrder(v); got != want {
			t.Errorf("%s: %v", source, got)
		}
	}
}
