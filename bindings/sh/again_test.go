package sh_test

import (
	"strings"
	"testing"
)

// catalogState is what the config database says, without what only tells when and
// in which order it came to be so.
const catalogState = `(() => {
	const config = db.getSiblingDB("config"), known = {};
	for (const c of config.collections.find()) known[c.uuid] = c._id;
	const plain = (name, keep) => config[name].find().sort({_id: 1}).toArray().map(keep);
	return EJSON.stringify({
		settings: plain("settings", d => d), shards: plain("shards", s => ({ _id: s._id, tags: s.tags, draining: s.draining })),
		databases: plain("databases", d => ({ _id: d._id, primary: d.primary })), tags: plain("tags", d => d),
		collections: plain("collections", ({ _id, key, unique, noBalance, permitMigrations, enableAutoMerge, maxChunkSizeBytes,
			defragmentCollection, unsplittable }) => ({ _id, key, unique, noBalance, permitMigrations, enableAutoMerge,
			maxChunkSizeBytes, defragmentCollection, unsplittable })),
		chunks: config.chunks.find().toArray().map(c => EJSON.stringify([known[c.uuid], c.min, c.max, c.shard, c.jumbo])).sort(),
	});
})()`

// TestHelpersRunAgain: what has been done already is done by running it again, or
// the server says that it is so; in either case the cluster is as it was after the
// first time.
func TestHelpersRunAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	t.Chdir(t.TempDir())
	refused := map[string]string{"splitAt": "is a boundary key of existing chunk"} // as in mongosh
	// These two are for one step more each time, as their docs say.
	steps := map[string]bool{"splitFind": true, "removeShard": true}
	changed := 0
	for _, name := range helperNames(t) {
		h, ok := helperOf(t, name)
		if !ok || h.Text == "" || steps[name] {
			continue
		}
		c := forExample(t, name)
		if runsAgain(t, c, h.Example, refused[name]) {
			changed++
		}
	}
	if changed < 30 {
		t.Errorf("only %d helpers changed anything", changed)
	}
	for _, more := range []struct{ before, call string }{
		{`sh.startBalancer()`, `sh.drain("shard2", {remove: true}).removed`},
		{`sh.splitAt("shop.orders", {customer: 5}); sh.startBalancer()`, `sh.defragment("shop.orders", {wait: true}).defragmented`},
		{`sh.splitAt("shop.orders", {customer: 5}); sh.splitAt("shop.orders", {customer: 9})`,
			`sh.mergeChunks("shop.orders", {customer: 5}, {customer: MaxKey}).ok`},
		{``, `sh.moveRange("shop.orders", "shard1", {customer: 50}, {customer: 60}).ok`},
		{``, `sh.reshardCollection("shop.orders", {order: 1}, {numInitialChunks: 2}).ok`},
		{``, `sh.chunkSize("shop.orders", 5).ok`},
		{``, `sh.chunkSize(5).acknowledged`},
		{`sh.chunkSize("shop.orders", 5)`, `sh.chunkSize("shop.orders", null).ok`},
		{``, `sh.configureCollectionBalancing("shop.orders", {chunkSize: 7, enableAutoMerger: false}).ok`},
		{`sh.balancerWindow("22:00", "06:00")`, `sh.clearBalancerWindow().acknowledged`},
		{``, `sh.movePrimary("shop", "shard1").ok`},
		{``, `sh.moveCollection("shop.prices", "shard1").ok`},
	} {
		c := forExample(t, "")
		_, _ = c.Show(more.before)
		if !runsAgain(t, c, more.call, "") {
			t.Errorf("%s changed nothing", more.call)
		}
	}
}

// runsAgain runs a call twice and reports whether it changed anything; refused is
// what it may say the second time.
func runsAgain(t *testing.T, c *connected, call, refused string) (changed bool) {
	t.Helper()
	before, _ := c.Show(catalogState)
	if _, failed := c.Show(call); failed {
		return false
	}
	once, _ := c.Show(catalogState)
	got, failed := c.Show(call)
	if failed != (refused != "") || !strings.Contains(got, refused) {
		t.Errorf("%s a second time: %s", call, got)
	}
	if twice, _ := c.Show(catalogState); twice != once {
		t.Errorf("%s leaves\n%s\nthen\n%s", call, once, twice)
	}
	return once != before
}
