package commands_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/commands"
)

// --read-only lets pass what changes nothing, and refuses what nobody knows.
func TestReadsOnly(t *testing.T) {
	table := commands.ByName()
	out := bson.A{bson.D{{Key: "$out", Value: "copy"}}}
	for _, tt := range []struct {
		command bson.D
		reads   bool
	}{
		{bson.D{{Key: "find", Value: "c"}}, true},
		{bson.D{{Key: "ismaster", Value: 1}}, true},
		{bson.D{{Key: "top", Value: 1}}, true},
		{bson.D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{}}}, true},
		{bson.D{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: out}}, false},
		{bson.D{{Key: "validate", Value: "c"}}, true},
		{bson.D{{Key: "validate", Value: "c"}, {Key: "repair", Value: true}}, false},
		{bson.D{{Key: "killOp", Value: 1}}, false},
		{bson.D{{Key: "insert", Value: "c"}}, false},
		{bson.D{{Key: "mapReduce", Value: "c"}}, false},
		{bson.D{{Key: "noSuchCommand", Value: 1}}, false},
		{bson.D{}, false},
	} {
		raw, err := bson.Marshal(tt.command)
		if err != nil {
			t.Fatal(err)
		}
		if got := commands.ReadsOnly(table, raw); got != tt.reads {
			t.Errorf("%v reads only: %v", tt.command, got)
		}
	}
}
