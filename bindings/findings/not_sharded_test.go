package findings_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

// A collection that is not sharded is nothing wrong; a name that is none of a
// collection is, and the one that was meant is asked for. What is told to do works.
func TestWhyOfWhatIsNotSharded(t *testing.T) {
	c := newCluster(t, catalog.Release80, `{"shards": [{"id": "a"}, {"id": "b"}], "databases": [{"name": "shop", "primary": "a"}],
		"collections": [{"ns": "shop.orders", "key": {"x": 1}}]}`)
	c.do(`db.getSiblingDB("shop").logs.insertOne({ x: 1 })`)
	told := func() string {
		got, err := c.eval(`sh.why("shop.logs")`)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(got), " ")
	}
	if got := told(); !strings.Contains(got, "shop.logs is not sharded: all of it is on shard a, the primary shard of shop") ||
		!strings.Contains(got, `sh.moveCollection("shop.logs", "b")`) {
		t.Error(got)
	}
	c.do(`sh.moveCollection("shop.logs", "b")`)
	if got := told(); !strings.Contains(got, "shop.logs is not sharded: all of it is on shard b, and") {
		t.Error(got)
	}
	for _, input := range []string{`sh.why("shop.order")`, `sh.why("shop.logs", { x: 1 })`} {
		if _, err := c.eval(input); err == nil || !strings.Contains(err.Error(), "is not sharded") {
			t.Errorf("%s: %v", input, err)
		}
	}
}
