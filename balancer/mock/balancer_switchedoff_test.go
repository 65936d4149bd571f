package mock_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// A defragmentation ends whenever the balancer is off for a second in between:
// also when its migrations are chosen and not yet sent, which takes the throttle
// of a second (rules/01-rounds-and-settings §1.6 no. 1).
func TestDefragmentationSurvivesTheSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for off := rand.N(750 * time.Millisecond); off < 30*time.Second; off += 750 * time.Millisecond { // other moments each time
		t.Run(fmt.Sprint("off after ", off), func(t *testing.T) {
			m := newCluster(t, `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [
				{"shard": "a", "max": {"x": 1}}, {"shard": "b", "max": {"x": 2}}, {"shard": "c", "max": {"x": 3}},
				{"shard": "a", "max": {"x": 4}}, {"shard": "b", "max": {"x": 5}}, {"shard": "c"}]}]}`, mock.Config{})
			for x := range 6 {
				m.ok(t, "db", d("insert", "c", "documents", bson.A{d("x", x)}))
			}
			m.ok(t, "admin", d("configureCollectionBalancing", "db.c", "defragmentCollection", true))
			m.sleep(off)
			m.ok(t, "admin", d("balancerStop", 1))
			m.sleep(time.Second)
			m.ok(t, "admin", d("balancerStart", 1))
			m.sleep(time.Hour)
			if status := m.ok(t, "admin", d("balancerCollectionStatus", "db.c")); !status.Lookup("balancerCompliant").Boolean() {
				t.Errorf("after an hour: %s", status)
			}
		})
	}
}
