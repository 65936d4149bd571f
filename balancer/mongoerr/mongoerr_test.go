package mongoerr_test

import (
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

func TestCodeNames(t *testing.T) {
	tests := []struct {
		code mongoerr.Code
		want string
	}{
		{mongoerr.NamespaceNotFound, "NamespaceNotFound"},
		{mongoerr.StaleConfig, "StaleConfig"},
		{656450, "Location656450"},
	}
	for _, tt := range tests {
		if got := tt.code.Name(); got != tt.want {
			t.Errorf("Code(%d).Name() = %q, want %q", tt.code, got, tt.want)
		}
	}
}

func TestWrapKeepsTheInnermostCode(t *testing.T) {
	err := mongoerr.Wrap(mongoerr.New(mongoerr.ShardNotFound, "no shard"), "moving")
	if got := err.Error(); got != "moving :: caused by :: no shard" {
		t.Errorf("message %q", got)
	}
	if !mongoerr.Is(fmt.Errorf("outer: %w", err), mongoerr.ShardNotFound) {
		t.Error("the code was lost")
	}
	if mongoerr.Wrap(nil, "x") != nil {
		t.Error("wrapping nil made an error")
	}
}

func TestReply(t *testing.T) {
	reply := mongoerr.Reply(mongoerr.New(mongoerr.BadValue, "bad"))
	if reply[0].Value != 0.0 || reply[2].Value != int32(2) || reply[3].Value != "BadValue" {
		t.Errorf("reply %v", reply)
	}
	if reply := mongoerr.Reply(mongoerr.NewNoCode("old")); len(reply) != 2 {
		t.Errorf("a failure without code answered %v", reply)
	}
	if reply := mongoerr.Reply(errors.New("x")); reply[3].Value != "InternalError" {
		t.Errorf("reply %v", reply)
	}
}

func TestMessagesShowDocumentsAsTheServerDoes(t *testing.T) {
	doc, err := bson.Marshal(bson.D{
		{Key: "a", Value: 1}, {Key: "s", Value: "x\"y"}, {Key: "d", Value: 2.0}, {Key: "f", Value: 0.5}, {Key: "g", Value: 1234567.0},
		{Key: "n", Value: nil}, {Key: "min", Value: bson.MinKey{}}, {Key: "sub", Value: bson.D{{Key: "b", Value: true}}},
		{Key: "list", Value: bson.A{1, "z"}}, {Key: "none", Value: bson.A{}}, {Key: "at", Value: bson.DateTime(5)},
		{Key: "ts", Value: bson.Timestamp{T: 1, I: 2}}, {Key: "bin", Value: []byte{0xab}}, {Key: "e", Value: bson.D{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `no chunk for { a: 1, s: "x\"y", d: 2.0, f: 0.5, g: 1234567.0, n: null, min: MinKey, sub: { b: true }, list: [ 1, "z" ` +
		`], none: [], ` +
		`at: new Date(5), ts: Timestamp(1, 2), bin: BinData(0, AB), e: {} }`
	if got := mongoerr.New(mongoerr.BadValue, "no chunk for %s", bson.Raw(doc)).Message; got != want {
		t.Errorf("message\n%s, want\n%s", got, want)
	}
	if got := mongoerr.Text(bson.Raw{1, 2}); got != "{}" {
		t.Errorf("malformed shows as %q", got)
	}
}
