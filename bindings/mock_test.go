package bindings_test

import (
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestOnTheMockCluster is an administrator's afternoon: shard, split, move, zone,
// balance, look.
func TestOnTheMockCluster(t *testing.T) {
	shelltest.Run(t, shelltest.ConnectMock(t, mock.Config{Seed: 7}),
		step{"use shop", "switched to db shop"},
		step{"sh.enableSharding('shop', 'shard0').ok", "1"},
		step{"sh.shardCollection('shop.orders', {k: 1})", "{ collectionsharded: 'shop.orders', ok: 1 }"},
		step{"db.orders.insertMany(Array.from({length: 100}, (_, i) => ({_id: i, k: i, n: NumberLong('9007199254740993')}))).acknowledged", "true"},
		step{"sh.splitAt('shop.orders', {k: 50}).ok", "1"},
		step{"try { sh.splitAt('shop.orders', {k: 50}) } catch (e) { e.name + e.codeName }", "MongoServerErrorundefined"},
		step{"sh.moveChunk('shop.orders', {k: 60}, 'shard1').ok", "1"},
		step{"try { sh.moveRange('shop.orders', 'nope', {k: 1}, {k: 2}) } catch (e) { e.codeName }", "ShardNotFound"},
		step{"db.orders.countDocuments()", "100"},
		step{"db.orders.findOne({k: 60})", "{ _id: 60, k: 60, n: Long('9007199254740993') }"},
		step{"db.orders.find({k: {$gte: 48, $lt: 52}}).sort({k: -1}).map(d => d._id)", "[ 51, 50, 49, 48 ]"},
		step{"db.orders.aggregate([{$group: {_id: null, n: {$sum: 1}}}])", "[ { _id: null, n: 100 } ]"},
		step{"sh.chunks('shop.orders').map(c => c.shard).toArray()", "[ 'shard0', 'shard1' ]"},
		step{"Object.keys(db.orders.getShardDistribution()).map(k => k.replace(/ at .*/, ''))", "[ 'Shard shard0', 'Shard shard1', 'Totals' ]"},
		step{"const st = db.orders.stats(); st.count - st.numOrphanDocs", "100"},
		step{"sh.status().databases.find(d => d.database._id == 'shop').collections['shop.orders'].chunkMetadata", "[ { shard: 'shard0', nChunks: 1 }, { shard: 'shard1', nChunks: 1 } ]"},
		step{"sh.addShardToZone('shard2', 'EU').ok && sh.updateZoneKeyRange('shop.orders', {k: 50}, {k: MaxKey}, 'EU').ok", "1"},
		step{"sh.balancerCollectionStatus('shop.orders').firstComplianceViolation", "zoneViolation"},
		step{"sh.startBalancer().ok", "1"},
		step{"sh.awaitCollectionBalance('shop.orders', 3600000)", ""},
		step{"sh.chunks('shop.orders').map(c => c.shard).toArray()", "[ 'shard0', 'shard2' ]"},
		step{"sh.isBalancerInRound() === sh.isBalancerRunning().inBalancerRound", "true"},
		step{"sh.stopBalancer().ok && sh.getBalancerState()", "false"},
		step{"try { db.orders.insertOne({_id: 1, k: 1}) } catch (e) { [e.name, e.code, e.codeName] }", "[ 'MongoServerError', 11000, undefined ]"},
		step{"try { db.orders.insertOne({_id: 1, k: 1}) } catch (e) { e.message }", "E11000 duplicate key error collection: shop.orders index: _id_ dup key: { _id: 1 }"},
		step{"db.orders.drop() && db.getCollectionNames()", "[]"},
		step{"try { db.plain.insertMany([{_id: 1}, {_id: 1}]) } catch (e) { e.message }", "E11000 duplicate key error collection: shop.plain index: _id_ dup key: { _id: 1 }"},
	)
}
