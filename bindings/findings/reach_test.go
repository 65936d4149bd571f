package findings_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// withinARound are the codes that a choice has only between several collections,
// several balancers, or in time: no picture of a cluster shows them. A draining
// shard without chunks keeps none; of a collection that can't be read the answer is
// balanceUnknown, and of shards of which one does not tell its size no other does.
// Draining shards are busy with other collections only, and the thresholds that make
// donors near their ideal are of releases that no reader knows. No balancer of a cluster has
// a disk limit: only a plan or run that has one lacks room (TestNoPlanGoesOverTheDiskLimit), and
// only a run skips ranges (TestRangesLeftAlone).
var withinARound = []policy.Code{
	policy.RoundLocked, policy.Throttled, policy.SelectionTimedOut, policy.CollectionGone, policy.OneMigrationPerRound,
	policy.ShardBusy, policy.DonorNearIdeal, policy.NothingToDrain, policy.NotReadable, policy.NoSizeEntry,
	policy.NoRoom, policy.RangeSkipped,
}

// odd are clusters in which nothing is to be cured, and chunks stay for rarer
// reasons.
func odd() []cure {
	return []cure{
		{name: "no recipient below the ideal", topology: `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}],
		 "settings": {"balancer": {"mode": "off"}}, "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [
		 {"shard": "a", "max": {"k": 0}, "bytes": "10GiB", "docs": 10240}, {"shard": "c", "max": {"k": 2}, "bytes": "7GiB", "docs": 7168},
		 {"shard": "d", "bytes": "6GiB", "docs": 6144}]}]}`},
		{name: "the server forbids chunk operations", version: catalog.Release90, setup: []string{
			`db.getSiblingDB("config").collections.updateOne({_id: "x.y"}, {$set: {allowChunkOperations: false}})`}},
	}
}

// Whatever keeps a chunk from moving is told when somebody asks about it, in some
// cluster of these tests.
func TestEveryCodeIsReached(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	var mu sync.Mutex
	reached := map[policy.Code]bool{}
	t.Run("clusters", func(t *testing.T) {
		for _, one := range slices.Concat(cures(), odd()) {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				topology := one.topology
				if topology == "" {
					topology = lopsided
				}
				c := newCluster(t, one.version, topology)
				c.do(one.setup...)
				a := c.why("")
				codes := c.decisions()
				mu.Lock()
				defer mu.Unlock()
				for _, f := range slices.Concat(a.Causes, a.Symptoms, a.Notes) {
					reached[policy.Code(f.Code)] = true
				}
				for _, code := range codes {
					reached[code] = true
				}
			})
		}
	})
	for _, info := range policy.Codes() {
		if !info.Chosen && !reached[info.Code] && !slices.Contains(withinARound, info.Code) {
			t.Errorf("nothing tells of %s: %s", info.Code, info.Meaning)
		}
	}
}

// decisions returns the codes that are told of the chunks of x.y.
func (c *cluster) decisions() (codes []policy.Code) {
	c.Helper()
	text, err := c.eval(`(() => { try { return JSON.stringify(sh.chunks("x.y").toArray().slice(0, 8).flatMap(
		k => sh.why("x.y", k.min).decisions.map(d => d.code))) } catch (e) { return "[]" } })()`)
	if err == nil {
		err = json.Unmarshal([]byte(text), &codes)
	}
	if err != nil {
		c.Fatalf("%v: %s", err, text)
	}
	return codes
}
