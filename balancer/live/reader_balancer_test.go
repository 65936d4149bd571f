package live_test

import (
	"errors"
	"testing"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Before 3.4 the catalog tells of the balancer what balancerStatus tells later, to
// the reader, to a Look and to who is about to carry a plan out (rules/01-selection §9.5).
func TestBalancerBefore34(t *testing.T) {
	c := served(t, catalog.Release24, `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [
	  {"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}}, {"shard": "b"}]}]}`, asItIs)
	commands := live.NewCommandRunner(c.client)
	set := func(collection string, change bson.D) {
		c.ok(t, "config", e("update", collection), e("updates", bson.A{
			bson.D{e("q", bson.D{e("_id", "balancer")}), e("u", bson.D{e("$set", change)}), e("upsert", true)}}))
	}
	for _, tt := range []struct {
		stopped bool
		lock    int32
		want    catalog.BalancerState
	}{
		{false, 0, catalog.BalancerState{Mode: catalog.ModeFull}},
		{false, 2, catalog.BalancerState{Mode: catalog.ModeFull, InRound: true}},
		{false, 1, catalog.BalancerState{Mode: catalog.ModeFull, InRound: true}}, // being taken
		{true, 2, catalog.BalancerState{Mode: catalog.ModeOff, InRound: true}},
		{true, 0, catalog.BalancerState{Mode: catalog.ModeOff}},
	} {
		set("settings", bson.D{e("stopped", tt.stopped)})
		set("locks", bson.D{e("state", tt.lock)})
		whole := c.read(t, live.ReaderOptions{Parts: live.DefaultPartsAndStatus}, nil)
		if got := whole.Parts().Balancer; got != tt.want || len(whole.Parts().Source.Gaps) > 0 {
			t.Errorf("the reader has %+v, want %+v; gaps %v", got, tt.want, whole.Parts().Source.Gaps)
		}
		look, err := live.NewCommandReader(commands, live.ReaderOptions{Parts: live.Identity | live.Balancer}).Read(t.Context())
		if err != nil || look.Parts().Balancer != tt.want {
			t.Errorf("a look has %+v, %v", look.Parts().Balancer, err)
		}
		var works *apply.BalancerConflictError
		if is := errors.As(apply.CheckBalancerIdle(whole, []string{"x.y"}, time.Hour), &works); is == tt.stopped {
			t.Errorf("stopped is %v, and it works: %v", tt.stopped, is)
		}
	}
}
