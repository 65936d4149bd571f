package complete_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

func TestComplete(t *testing.T) {
	c := shelltest.Connect(t, func(c *bindings.Config) { c.Scripts = fstest.MapFS{"status.js": {}, "drain.js": {}} })
	dir := t.TempDir()
	for _, name := range []string{"fix.js", "fill.js", ".fixed"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "figures"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{
		"var order = {customer: {name: 'Ada', nested: [{deep: 1}]}}, cur = db.orders.find(), count = 0",
		"var trap = {get price() { count++; return {eur: 1} }, plain: 1}",
		"var proxy = new Proxy({a: 1}, {get() { count++ }, ownKeys() { count++; return [] }, getOwnPropertyDescriptor() { count++ }})",
	} {
		if text, failed := c.Show(input); failed {
			t.Fatal(text)
		}
	}
	find := []string{"find", "findAndModify", "findOne", "findOneAndDelete", "findOneAndReplace", "findOneAndUpdate"}
	for _, tc := range []struct {
		line string
		want []string // behind all that is typed but its last word
	}{
		{"db.or", []string{"orders"}},
		{"db.orders.findOneAndU", []string{"findOneAndUpdate"}},
		{"db.orders.fi", find},
		{"print(db.orders.fi", find},
		{"if (x) { db . orders . fi", find},
		{"db.orders\n  .fi", find},
		{"db['orders'].fi", find},
		{"db.getCollection('orders').fi", find},
		{"db.getSiblingDB('shop').getCollection('a b').fi", find},
		{"db.getSiblingDB('config').or", []string{"orders"}},
		{"db.getMongo().getDB('app').orders.fi", find},
		{"db['or", []string{"orders"}},
		{"db.system.v", []string{"validate", "views"}},
		{"use A", []string{"admin", "app"}},
		{"show c", []string{"chunks", "collections"}},
		{"show d", []string{"databases"}},
		{"sh.moveC", []string{"moveChunk", "moveCollection"}},
		{"sh._ge", []string{"_getBalancerStatus", "_getConfigDB"}},
		{"x = ObjectI", []string{"ObjectId"}},
		{"Objec", []string{"Object", "ObjectId"}},
		{"orde", []string{"order"}},
		{"order.cu", []string{"customer"}},
		{"order.customer.na", []string{"name"}},
		{"order.customer.nested[0].de", []string{"deep"}},
		{"order.customer.name.toUp", []string{"toUpperCase"}},
		{"'abc'.toUp", []string{"toUpperCase"}},
		{"[1, 2].redu", []string{"reduce", "reduceRight"}},
		{"trap.pl", []string{"plain"}},
		{"trap.price.", nil},
		{"proxy.", nil},
		{"proxy.a.", nil},
		{"cur.hasN", []string{"hasNext"}},
		{"it.so", nil},
		{"db.orders.find({}).so", []string{"sort"}},
		{"db.orders.find({a: ')'}).sort({a: 1}).lim", []string{"limit"}},
		{"db.orders.find().toArray().forE", []string{"forEach"}},
		{"db.orders.explain().disti", []string{"distinct"}},
		{"db.orders.aggregate([{$ma", []string{"$match"}},
		{"db.orders.aggregate([{\"$ma", []string{"$match"}},
		{"db.orders.aggregate([{$match: {a: 1}}, {$sortB", []string{"$sortByCount"}},
		{"db.orders.aggregate([{$match: {a: {$gt", []string{"$gt", "$gte"}},
		{"db.orders.aggregate([{$group: {_id: null, n: {$su", []string{"$substr", "$substrBytes", "$substrCP", "$subtract", "$sum"}},
		{"db.orders.find({$o", []string{"$or"}},
		{"db.orders.find({a: {$exi", []string{"$exists"}},
		{"db.orders.updateOne({_id: 1}, {$setO", []string{"$setOnInsert"}},
		{"db.orders.updateOne({_id: 1}, {$push: {a: {$ea", []string{"$each"}},
		{"db.orders.countDocuments({a: {$el", []string{"$elemMatch"}},
		{"sh.balancerCollectionStatus(\"app.", []string{"app.orders", "app.users"}},
		{"sh.moveChunk('app.orders', {k: 1}, 's", []string{"sh0", "sh1"}},
		{"sh.moveChunk('app.orders', {k: 'a, b', l: [1, 2]}, 's", []string{"sh0", "sh1"}},
		{"sh.moveRange('app.orders', 's", []string{"sh0", "sh1"}},
		{"sh.shardCollection('shop.v", []string{"shop.vw"}},
		{"sh.addShardToZone('", []string{"sh0", "sh1"}},
		{"sh.addShardToZone('sh0', '", []string{"EU"}},
		{"sh.enableSharding('sho", nil},
		{"db.adminCommand({moveChunk: 'app.orders', find: {k: 1}, to: 's", []string{"sh0", "sh1"}},
		{"sh.drain('sh0', {", []string{"advisories", "despite", "diskLimit", "dryRun", "for", "forceJumbo", "interval", "journal", "keepWaiting", "maxBytes", "maxMoves", "movePrimaries", "parallel",
			"pauseBalancing", "pauseBetween", "pauseWhen", "preflight", "progress", "remove", "resume", "timeout", "timeZone", "verify", "wait", "window"}},
		{"sh.drain('sh0', { wait: true, ti", []string{"timeout", "timeZone"}},
		{"sh.drain('sh0', { timeout: 5, \"p", []string{"parallel", "pauseBalancing", "pauseBetween", "pauseWhen", "preflight", "progress"}},
		{"sh.defragment('app.orders', { ma", []string{"maxBytes", "maxMoves"}},
		{"sh.chunks('app.orders', {", []string{"jumbo", "limit", "shard", "zone"}},
		{"sh.chunks('app.orders', {shard: 's", []string{"sh0", "sh1"}},
		{"sh.chunks('app.orders', {zone: '", []string{"EU"}},
		{"sh.chunkSize('app.", []string{"app.orders", "app.users"}},
		{"sh.status({", []string{"full", "verbose"}},
		{"sh.shardCollection('app.x', {k: 1}, {pres", []string{"presplitHashedZones"}},
		{"sh.reshardCollection('app.x', {k: 1}, {pro", []string{"progress"}},
		{"sh.moveRange('app.orders', 'sh1', {k: 1}, {k: 5}, {", []string{"forceJumbo", "secondaryThrottle", "waitForDelete"}},
		{"sh.splitAt('app.orders', {", []string{"k"}},
		{"sh.splitAt('app.orders', { k: 1, ", nil},
		{"sh.moveRange('app.orders', 'sh1', {", []string{"k"}},
		{"sh.mergeChunks(db.getSiblingDB('app').orders, {k: 0}, {", []string{"k"}},
		{"sh.updateZoneKeyRange('app.orders', {", []string{"k"}},
		{"sh.splitAt('app.none', {", nil},
		{"db.adminCommand({bal", []string{"balancerCollectionStatus", "balancerStart", "balancerStatus", "balancerStop"}},
		{"db.adminCommand({\"bal", []string{"balancerCollectionStatus", "balancerStart", "balancerStatus", "balancerStop"}},
		{"db.adminCommand('balancerSta", []string{"balancerStart", "balancerStatus"}},
		{"db.adminCommand({balancerSta", []string{"balancerStart", "balancerStatus"}},
		{"db.getMongo().adminCommand({moveR", []string{"moveRange"}},
		{"db.runCommand({collS", []string{"collStats"}},
		{"db.runCommand({balancerSta", nil},
		{"db.getSiblingDB('admin').runCommand({balancerSta", []string{"balancerStart", "balancerStatus"}},
		{"db.adminCommand({moveRange: 'app.orders', to", []string{"toShard"}},
		{"db.adminCommand({moveChunk: 'app.orders', find: {", []string{"k"}},
		{"db.adminCommand({configureCollectionBalancing: 'app.orders', enableA", []string{"enableAutoMerger"}},
		{"db.orders.dropIndex('k", []string{"k_1"}},
		{"db.getCollection('orders').hideIndex('k", []string{"k_1"}},
		{"db.getSiblingDB('co", []string{"config"}},
		{"db.getCollection('sy", []string{"system.views"}},
		{"config.set('redact", []string{"redactHistory"}},
		{"config.set('editor', '", nil},
		{"load('shardsh:d", []string{"shardsh:drain.js"}},
		{"load('" + dir + "/fi", []string{dir + "/figures/", dir + "/fill.js", dir + "/fix.js"}},
		{"nosuch.fo", nil},
		{"nosuch('x", nil},
		{"print(\"it's", nil},
		{"// don't db.or", nil},
		{"", nil},
		{"1 + ", nil},
		{"1.", nil},
		{")]}", nil},
		{"f(((((((", nil},
	} {
		head, got := c.Complete(tc.line)
		if !slices.Equal(got, tc.want) {
			t.Errorf("Complete(%q) offers %q, want %q", tc.line, got, tc.want)
		}
		if !strings.HasPrefix(tc.line, head) {
			t.Errorf("Complete(%q) has the head %q", tc.line, head)
		}
		for _, w := range got {
			if typed := tc.line[len(head):]; !strings.EqualFold(w[:min(len(w), len(typed))], typed) {
				t.Errorf("Complete(%q) offers %q for %q", tc.line, w, typed)
			}
		}
	}
	shelltest.Run(t, c, step{"count", "0"}) // no getter was called, no proxy asked
	for _, line := range []string{"sh.", "db.orders.", "cur."} {
		_, all := c.Complete(line)
		if len(all) < 40 || slices.ContainsFunc(all, func(w string) bool { return strings.HasPrefix(w, "_") }) {
			t.Errorf("%s offers %v", line, all)
		}
	}
}

// Fields are offered only when the user wants documents to be read for that.
func TestCompleteFields(t *testing.T) {
	c := shelltest.Connect(t)
	sampled := func() bool {
		return slices.ContainsFunc(c.TakeCommands(), func(sent string) bool { return strings.Contains(sent, "$sample") })
	}
	c.ScriptedServer.Data["app.orders"] = []bson.Raw{
		shelltest.MustMarshal(bson.D{field("_id", 1), field("customer", bson.D{field("name", "Ada"), field("no", 1)})}),
		shelltest.MustMarshal(bson.D{field("_id", 2), field("count", 1)}),
	}
	if _, got := c.Complete("db.orders.find({cu"); got != nil || sampled() {
		t.Errorf("unasked: %q", got)
	}
	c.Show("config.set('disableSchemaSampling', false)")
	for line, want := range map[string][]string{
		"db.orders.find({c":                          {"count", "customer"},
		"db.orders.find({count: 1, 'customer.":       {"customer.name", "customer.no"},
		"db.orders.aggregate([{$match: {cou":         {"count"},
		"db.orders.find().sort({a: 1}); print({coun": nil,
		"db.orders.find({$o":                         {"$or"},
	} {
		if _, got := c.Complete(line); !slices.Equal(got, want) {
			t.Errorf("Complete(%q) offers %q, want %q", line, got, want)
		}
	}
	if !sampled() {
		t.Error("no document was read")
	}
}

func TestCompleteWithoutAConnection(t *testing.T) {
	nodb, err := bindings.New(bindings.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"sh.", "db.", "use ", "show chunks a", "sh.moveChunk('"} {
		if _, got := nodb.Complete(line); len(got) > 0 {
			t.Errorf("%q offers %v", line, got)
		}
	}
	if _, got := nodb.Complete("Objec"); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
