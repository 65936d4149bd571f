package changes_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/changes"
)

func raw(t *testing.T, doc any) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLine(t *testing.T) {
	var many bson.A
	for range 400 {
		many = append(many, bson.D{{Key: "pad", Value: strings.Repeat("x", 8192)}})
	}
	for _, test := range []struct {
		command bson.D
		want    string
	}{
		{bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: many}, {Key: "lsid", Value: 1}},
			"app: insert orders: 400 documents, 3.13 MiB"},
		{bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: 1}}}}},
			`app: insert orders: 1 document, 12 B: {"a":1}`},
		{bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{
			bson.D{{Key: "_id", Value: int32(1)}, {Key: "apiVersion", Value: "1"}}}}, {Key: "apiVersion", Value: "1"}},
			`app: insert orders: 1 document, 32 B: {"_id":1,"apiVersion":"1"}`},
		{bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: 7}}, `app: {"insert":"orders","documents":7}`},
		{bson.D{{Key: "moveRange", Value: "a.b"}, {Key: "toShard", Value: "s1"}, {Key: "$db", Value: "admin"}},
			`app: {"moveRange":"a.b","toShard":"s1"}`},
		{bson.D{{Key: "createUser", Value: "joe"}, {Key: "pwd", Value: "hunter2"}}, `app: {"createUser":"joe","pwd":"xxx"}`},
		{bson.D{{Key: "create", Value: "mongodb://joe:hunter2@h"}}, `app: {"create":"mongodb://<credentials>@h"}`},
		{bson.D{{Key: "drop", Value: "c\x1b[31m\nd"}}, `app: {"drop":"c\u001b[31m\nd"}`},
		{bson.D{{Key: "bulkWrite", Value: 1}, {Key: "ops", Value: bson.A{bson.D{}, bson.D{}}}}, "app: bulkWrite: 2 writes, 21 B"},
	} {
		if got := changes.Describe("app", raw(t, test.command)); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
	long := changes.Describe("app", raw(t, bson.D{{Key: "x", Value: strings.Repeat("é", 5000)}}))
	if !strings.HasSuffix(long, "é… (9.77 KiB)") || len([]rune(long)) > 200 {
		t.Errorf("of a long command: %s", long)
	}
}
