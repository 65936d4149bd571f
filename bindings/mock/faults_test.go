package mock_test

import (
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestMockObject is a script that makes the cluster fail and looks what comes
// of it, through the driver.
func TestMockObject(t *testing.T) {
	t.Parallel() // most of it is waiting
	shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Seed: 7, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}),
		step{"mock", "MockCluster class connected to mongodb://mock:27017/ via db test"},
		step{"mock.status().time", "virtual"},
		step{"const t = mock.now(); mock.advance('2h') - t >= 7200000 && new Date() - t < 7201000", "true"},
		step{"mock.advance(1000) - mock.now() <= 0", "true"},
		step{"mock.addShard({name: 'cold', zones: ['archive']}).shardAdded", "cold"},
		step{"mock.addShard().shardAdded", "shard3"},
		step{"sh.shardCollection('shop.orders', {k: 1}).ok && mock.fill('shop.orders', {bytes: '4GB', distribution: 'even'}).ok", "1"},
		step{"sh.stopBalancer().ok && sh.splitAt('shop.orders', {k: 50}).ok && sh.moveChunk('shop.orders', {k: 60}, 'cold', {forceJumbo: true}).ok", "1"},
		step{"mock.crash('cold').ok", "1"},
		step{"mock.status().nodes.find(n => n.node == 'cold').up", "false"},
		step{"try { db.getSiblingDB('shop').orders.find({k: 60}).toArray() } catch (e) { e.codeName }", "HostUnreachable"},
		step{"try { db.getSiblingDB('shop').orders.insertOne({k: 60}) } catch (e) { e.code }", "6"},
		step{"mock.restart().ok && mock.invariants().holds", "true"},
		step{"db.getSiblingDB('shop').orders.find({k: 60}).toArray()", "[]"},
		step{"mock.partition('cold', 'shard0').ok && mock.partition('config', 'shard0').ok && mock.status().partitions", "[ [ 'cold', 'shard0' ], [ 'config', 'shard0' ] ]"},
		step{"mock.heal('cold', 'shard0').ok && mock.status().partitions.length", "1"},
		step{"mock.slow('cold', {latency: '1s'}).ok && (() => { const t = mock.now(); db.getSiblingDB('shop').orders.findOne({k: 60}); return mock.now() - t >= 1000 })()", "true"},
		step{"mock.heal().ok && Object.keys(mock.status().slow).length + mock.status().partitions.length", "0"},
		// The driver tries a read again once.
		step{"mock.failNext('find', {code: 91}).ok && db.getSiblingDB('shop').orders.find().toArray()", "[]"},
		step{"mock.failNext('find', {code: 91, times: 2}); try { db.getSiblingDB('shop').orders.find().toArray() } catch (e) { e.codeName }", "ShutdownInProgress"},
		step{"mock.failNext('aggregate', {code: 2}); try { db.getSiblingDB('shop').orders.aggregate([]).toArray() } catch (e) { [e.code, e.message] }", "[ 2, 'Failing command via mockFailNext' ]"},
		step{"mock.failNext('dbStats', {closeConnection: true, times: 2}); try { db.stats() } catch (e) { /Network/.test(e.name) || e.name }", "true"},
		step{"db.stats().ok", "1"},
		step{"mock.failNext('bulkWrite', {closeConnection: true}); db.getMongo().bulkWrite([{namespace: 'shop.b', name: 'insertOne', document: {_id: 1}}]).insertedCount", "1"},
		step{"mock.failNext('bulkWrite', {closeConnection: true}); try { db.getMongo().bulkWrite([{namespace: 'shop.b', name: 'deleteMany', filter: {}}]) } catch (e) { e.name }",
			"MongoNetworkError"},
		step{"mock.stepDown().term.equals(sh.isBalancerRunning().term)", "true"},
		step{"try { mock.crash('nope') } catch (e) { e.codeName }", "ShardNotFound"},
		step{"try { mock.slow('cold', {speed: 1}) } catch (e) { e.code }", "40415"},
		step{"try { mock.crash() } catch (e) { e.message }", "[COMMON-10001] Missing required argument shard (MockCluster.crash)"},
		step{"db.adminCommand({mockCrash: 'config'}).ok && (() => { try { sh.getBalancerState() } catch (e) { return e.codeName } })()", "HostUnreachable"},
		step{"mock.restart('config').ok", "1"},
	)
}

// A real server does not know the mock's commands.
func TestMockObjectOnARealServer(t *testing.T) {
	c := shelltest.Connect(t)
	text, failed := c.Show("mock.advance('2h')")
	if !failed || !strings.Contains(text, "mock.advance works on the mock cluster only (this is a real server)") {
		t.Errorf("mock.advance shows %s", text)
	}
}

// The version changes in the background; to 9.0, nothing is split meanwhile.
func TestMockChangeFCV(t *testing.T) {
	shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Release: catalog.Release90, FCV: "8.3", Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}),
		step{"sh.shardCollection('shop.orders', {k: 1}).ok && mock.changeFCV('9.0', {takes: '10m'}).ok", "1"},
		step{"try { sh.splitAt('shop.orders', {k: 50}) } catch (e) { e.code }", "117"},
		step{"sh.why() && JSON.stringify(db.getSiblingDB('admin').system.version.findOne({_id: 'featureCompatibilityVersion'}))",
			`{"_id":"featureCompatibilityVersion","version":"8.3","targetVersion":"9.0"}`},
		step{"mock.advance('10m') > 0 && sh.splitAt('shop.orders', {k: 50}).ok", "1"},
		step{"try { mock.changeFCV('7.0') } catch (e) { e.codeName }", "BadValue"},
	)
}

// An upgrade step by step: servers say what was installed, and refuse what does not fit.
func TestMockInstall(t *testing.T) {
	shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Release: catalog.Release83, FCV: "8.0", Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}),
		step{"mock.install({configServers: true, version: '9.0'}).ok && db.version()", "8.3.0"},
		step{"try { db.adminCommand({setFeatureCompatibilityVersion: '9.0', confirm: true}) } catch (e) { e.message }",
			"Invalid feature compatibility version value '9.0': mock:27020 runs 8.3.0"},
		step{"mock.install({routers: true, version: '9.0'}).ok && [db.version(), db.hello().maxWireVersion]", "[ '9.0.2', 29 ]"},
		step{"db.getSiblingDB('config').mongos.findOne().mongoVersion", "9.0.2"},
		step{"mock.install({shard: 'shard0', version: '8.2.6'}).ok && (() => { try { db.adminCommand({setFeatureCompatibilityVersion: '8.3', confirm: true}) } catch (e) { return e.message } })()",
			"Invalid feature compatibility version value '8.3': mock:27020 runs 8.2.6"},
		step{"try { mock.install({shard: 'shard0', version: '7.0'}) } catch (e) { e.message }", "a mock of release 8.3 can't have servers of release 7.0"},
		step{"try { mock.install({shard: 'nope', version: '8.3'}) } catch (e) { e.codeName }", "BadValue"},
		step{"try { mock.install({version: 'new'}) } catch (e) { e.codeName }", "BadValue"},
		step{"mock.install({version: '9.0'}).ok && db.adminCommand({setFeatureCompatibilityVersion: '9.0', confirm: true}).ok", "1"},
		step{"try { mock.install({shard: 'shard0', version: '8.3'}) } catch (e) { e.codeName }", "IllegalOperation"},
	)
}
