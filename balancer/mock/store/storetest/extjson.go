// Package storetest provides the tests of the store packages with helpers: documents in Extended JSON,
// error codes, and generators. The program does not use it.
package storetest

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// Raw parses a document in Extended JSON.
func Raw(t testing.TB, text string) bson.Raw {
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

// CodeOf returns the code of an error: 0 for nil, -1 for an error without a code.
func CodeOf(err error) int32 {
	if err == nil {
		return 0
	}
	code, ok := mongoerr.CodeOf(err)
	if !ok {
		return -1
	}
	return int32(code)
}

// List parses an array of documents in Extended JSON.
func List(t testing.TB, text string) []bson.Raw {
	t.Helper()
	var out []bson.Raw
	for _, v := range document.Items(document.Lookup(Raw(t, `{"v":`+text+`}`), "v")) {
		out = append(out, v.Value)
	}
	return out
}
