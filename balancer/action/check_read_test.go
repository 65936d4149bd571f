package action

import (
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
)

// A resharding that no shard takes part in yet is only in config.reshardingOperations.
func TestCheckReadsReshardings(t *testing.T) {
	w := newWorld(t, scattered(rand.New(rand.NewPCG(3, 9)), stopped), catalog.Release80, 1)
	config("reshardingOperations", bson.D{{Key: "ns", Value: "db.c0"}, {Key: "state", Value: "initializing"}}, "r")(w)
	p := check.Default()
	if err := p.SetAllow([]string{string(check.Resharding)}); err != nil {
		t.Fatal(err)
	}
	c := Check{Policy: p}
	s, err := c.snapshot(t.Context(), Source{Client: w.client}, c.needs())
	if err != nil {
		t.Fatal(err)
	}
	if list := s.Parts().Reshardings; len(list) != 1 || list[0].Namespace != "db.c0" {
		t.Errorf("reshardings %+v", list)
	}
}
