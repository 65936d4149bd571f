package reads_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// Servers before 6.0.3 know no stage for the sizes of shards.
func TestSizesOfShardsByRelease(t *testing.T) {
	stage := bson.D{{Key: "$shardedDataDistribution", Value: bson.D{}}}
	for release, code := range map[catalog.Release]int{
		catalog.Release44: 40324, catalog.Release50: 40324, catalog.Release60: 0, catalog.Release83: 0,
	} {
		x := routertest.New(t, mock.Config{Release: release})
		ask := bson.D{
			{Key: "aggregate", Value: 1}, {Key: "pipeline", Value: bson.A{stage}}, {Key: "cursor", Value: bson.D{}},
		}
		if code == 0 {
			x.OK("admin", ask)
		} else if got := x.Code("admin", ask); got != code {
			t.Errorf("%s: code %d, want %d", release, got, code)
		}
	}
}
