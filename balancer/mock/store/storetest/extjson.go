package store

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// raw reads a document in extended JSON.
func raw(t testing.TB, text string) bson.Raw {
	t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// codeOf returns the code of an error, 0 for none, -1 for one without a code.
func codeOf(err error) int32 {
	if err == nil {
		return 0
	}
	code, ok := mongoerr.CodeOf(err)
	if !ok {
		return -1
	}
	return int32(code)
}

func list(t testing.TB, text string) []bson.Raw {
	t.Helper()
	var out []bson.Raw
	for _, v := range items(lookup(raw(t, `{"v":`+text+`}`), "v")) {
		out = append(out, v.Value)
	}
	return out
}
