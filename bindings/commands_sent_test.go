package bindings_test

import (
	"strings"
	"testing"

	"shardsh/bindings/shelltest"
)

// TestMethodsSend is the column "sends" of rules/04-objects §6.1 to §6.5.
func TestMethodsSend(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tc := range []struct{ call, want string }{
		// databases
		{`db.getCollectionNames()`, `app {"listCollections":1,"filter":{},"cursor":{},"nameOnly":true,"authorizedCollections":false}`},
		{`db.getCollectionInfos({name: "orders"})`, `app {"listCollections":1,"filter":{"name":"orders"},"cursor":{},"nameOnly":false,"authorizedCollections":false}`},
		{`db.runCommand({ping: 1, comment: "x"})`, ``}, // ping is not noted
		{`db.runCommand("dbStats")`, `app {"dbStats":1}`},
		{`db.adminCommand("balancerStatus")`, `admin {"balancerStatus":1}`},
		{`db.aggregate([{$currentOp: {}}, {$limit: 1}]).toArray()`, `app {"aggregate":1,"pipeline":[{"$currentOp":{}},{"$limit":1}],"cursor":{}}`},
		{`db.version()`, `admin {"buildInfo":1}`},
		{`db.stats()`, `app {"dbStats":1,"scale":1}`},
		{`db.stats(1024)`, `app {"dbStats":1,"scale":1024}`},
		{`db.stats({scale: 2, freeStorage: 1})`, `app {"dbStats":1,"scale":2,"freeStorage":1}`},
		{`db.currentOp()`, `admin {"aggregate":1,"pipeline":[{"$currentOp":{"allUsers":true,"idleConnections":false,"truncateOps":false}},{"$match":{}}],"cursor":{}}`},
		{`db.currentOp(true)`, `admin {"aggregate":1,"pipeline":[{"$currentOp":{"allUsers":true,"idleConnections":true,"truncateOps":false}}],"cursor":{}}`},
		{`db.currentOp({$ownOps: true, $all: true, ns: "a.b"})`, `admin {"aggregate":1,"pipeline":[{"$currentOp":{"allUsers":false,"idleConnections":true,"truncateOps":false}},{"$match":{"ns":"a.b"}}],"cursor":{}}`},
		{`db.killOp("sh0:12")`, `admin {"killOp":1,"op":"sh0:12"}`},
		{`db.setProfilingLevel(1, 50)`, `app {"profile":1,"slowms":50}`},
		{`db.setLogLevel(2, "a.b")`, `admin {"setParameter":1,"logComponentVerbosity":{"a":{"b":{"verbosity":2}}}}`},
		{`db.createCollection("x", {capped: true, size: 100})`, `app {"create":"x","capped":true,"size":100}`},
		{`db.createView("v", "orders", [{$match: {}}])`, `app {"create":"v","viewOn":"orders","pipeline":[{"$match":{}}]}`},
		{`db.dropDatabase()`, `app {"dropDatabase":1}`},
		{`db.getSiblingDB("other").dropDatabase({w: 1})`, `other {"dropDatabase":1,"writeConcern":{"w":1}}`},
		{`db.createUser({user: "u", pwd: "p", roles: []})`, `app {"createUser":"u","pwd":"p","roles":[]}`},
		{`db.checkMetadataConsistency()`, `app {"checkMetadataConsistency":1}`},
		// reading
		{`db.orders.find()`, `app {"find":"orders","filter":{}}`},
		{`db.orders.find({a: 1}, {a: 1}).sort({a: -1}).skip(2).limit(3).hint("x").toArray()`,
			`app {"find":"orders","filter":{"a":1},"projection":{"a":1},"sort":{"a":-1},"skip":2,"limit":3,"hint":"x"}`},
		{`db.orders.find().limit(-5).toArray()`, `app {"find":"orders","filter":{},"singleBatch":true,"limit":5}`},
		{`db.orders.find({}, null, {sort: {a: 1}}).comment("c").maxTimeMS(9).noCursorTimeout().toArray()`,
			`app {"find":"orders","filter":{},"sort":{"a":1},"comment":"c","maxTimeMS":9,"noCursorTimeout":true}`},
		{`db.orders.find({_id: {$lt: 4}}).batchSize(3).toArray()`, `app {"find":"orders","filter":{"_id":{"$lt":4}},"batchSize":3}` + "\n" + `app {"getMore":1,"collection":"orders","batchSize":3}`},
		{`db.orders.findOne({a: 1}, {_id: 0})`, `app {"find":"orders","filter":{"a":1},"projection":{"_id":0},"limit":1}`},
		{`db.orders.aggregate([{$match: {a: 1}}], {allowDiskUse: true, batchSize: 0}).toArray()`,
			`app {"aggregate":"orders","pipeline":[{"$match":{"a":1}}],"cursor":{"batchSize":0},"allowDiskUse":true}`},
		{`db.orders.aggregate([{$match: {a: 1}}]).sort({a: 1}).limit(2).toArray()`,
			`app {"aggregate":"orders","pipeline":[{"$match":{"a":1}},{"$sort":{"a":1}},{"$limit":2}],"cursor":{}}`},
		{`db.orders.aggregate([{$match: {}}], {explain: true})`, `app {"explain":{"aggregate":"orders","pipeline":[{"$match":{}}],"cursor":{}},"verbosity":"queryPlanner"}`},
		{`db.orders.countDocuments({a: 1}, {skip: 1, limit: 2, hint: "k_1"})`,
			`app {"aggregate":"orders","pipeline":[{"$match":{"a":1}},{"$skip":1},{"$limit":2},{"$group":{"_id":1,"n":{"$sum":1}}}],"cursor":{},"hint":"k_1"}`},
		{`db.orders.estimatedDocumentCount()`, `app {"count":"orders"}`},
		{`db.orders.estimatedDocumentCount({readPreference: "primary", comment: "c"})`, `app {"count":"orders","comment":"c"}`},
		{`db.orders.explain().aggregate([], {batchSize: 5, cursor: {}, comment: "c"})`,
			`app {"explain":{"aggregate":"orders","pipeline":[],"cursor":{},"comment":"c"},"verbosity":"queryPlanner"}`},
		{`db.orders.count({a: 1})`, `app {"count":"orders","query":{"a":1}}`},
		{`db.orders.distinct("a", {b: 1})`, `app {"distinct":"orders","key":"a","query":{"b":1}}`},
		{`db.orders.find({a: 1}).skip(3).limit(4).count()`, `app {"count":"orders","query":{"a":1},"skip":3,"limit":4}`},
		{`db.orders.find({a: 1}).explain("executionStats")`, `app {"explain":{"find":"orders","filter":{"a":1}},"verbosity":"executionStats"}`},
		{`db.orders.explain(true).count({k: 5})`, `app {"explain":{"count":"orders","query":{"k":5}},"verbosity":"allPlansExecution"}`},
		{`db.orders.explain().find({k: 5}).sort({k: 1})`, `app {"explain":{"find":"orders","filter":{"k":5},"sort":{"k":1}},"verbosity":"queryPlanner"}`},
		// writing
		{`db.orders.insertOne({_id: 100, a: NumberLong(1)})`, `app {"insert":"orders","documents":[{"_id":100,"a":1}],"ordered":true}`},
		{`db.orders.insertMany([{_id: 101}, {_id: 102}], {ordered: false})`, `app {"insert":"orders","documents":[{"_id":101},{"_id":102}],"ordered":false}`},
		{`db.orders.updateOne({_id: 1}, {$set: {x: 1}}, {upsert: true, arrayFilters: [{y: 1}], collation: {locale: "de"}, hint: {k: 1}})`,
			`app {"update":"orders","updates":[{"q":{"_id":1},"u":{"$set":{"x":1}},"upsert":true,"arrayFilters":[{"y":1}],"collation":{"locale":"de"},"hint":{"k":1}}],"ordered":true}`},
		{`db.orders.updateMany({}, [{$set: {x: 1}}], {let: {a: 1}})`, `app {"update":"orders","updates":[{"q":{},"u":[{"$set":{"x":1}}],"multi":true}],"ordered":true,"let":{"a":1}}`},
		{`db.orders.replaceOne({_id: 1}, {x: 1})`, `app {"update":"orders","updates":[{"q":{"_id":1},"u":{"x":1}}],"ordered":true}`},
		{`db.orders.update({_id: 1}, {$set: {x: 1}}, true, true)`, `app {"update":"orders","updates":[{"q":{"_id":1},"u":{"$set":{"x":1}},"upsert":true,"multi":true}],"ordered":true}`},
		{`db.orders.deleteOne({_id: 1})`, `app {"delete":"orders","deletes":[{"q":{"_id":1},"limit":1}],"ordered":true}`},
		{`db.orders.deleteMany({}, {writeConcern: {w: "majority"}})`, `app {"delete":"orders","deletes":[{"q":{},"limit":0}],"ordered":true,"writeConcern":{"w":"majority"}}`},
		{`db.orders.remove({_id: 1}, true)`, `app {"delete":"orders","deletes":[{"q":{"_id":1},"limit":1}],"ordered":true}`},
		{`db.orders.findOneAndUpdate({_id: 1}, {$set: {x: 1}}, {returnDocument: "after", sort: {a: 1}, projection: {a: 1}})`,
			`app {"findAndModify":"orders","query":{"_id":1},"remove":false,"new":true,"upsert":false,"update":{"$set":{"x":1}},"fields":{"a":1},"sort":{"a":1}}`},
		{`db.orders.findOneAndDelete({_id: 1})`, `app {"findAndModify":"orders","query":{"_id":1},"remove":true}`},
		{`db.orders.findAndModify({query: {_id: 1}, update: {$set: {a: 1}}, new: true})`, `app {"findAndModify":"orders","query":{"_id":1},"update":{"$set":{"a":1}},"new":true}`},
		{`db.orders.bulkWrite([{insertOne: {document: {_id: 200}}}, {insertOne: {_id: 201}}, {deleteOne: {filter: {_id: 1}}}, {insertOne: {_id: 202}}])`,
			`app {"insert":"orders","documents":[{"_id":200},{"_id":201}],"ordered":true}` + "\n" + `app {"delete":"orders","deletes":[{"q":{"_id":1},"limit":1}],"ordered":true}` + "\n" + `app {"insert":"orders","documents":[{"_id":202}],"ordered":true}`},
		{`db.orders.bulkWrite([{insertOne: {_id: 203}}, {deleteMany: {filter: {}}}, {insertOne: {_id: 204}}], {ordered: false})`,
			`app {"insert":"orders","documents":[{"_id":203},{"_id":204}],"ordered":false}` + "\n" + `app {"delete":"orders","deletes":[{"q":{},"limit":0}],"ordered":false}`},
		// administration
		{`db.orders.createIndex({k: 1, j: -1}, {unique: true})`, `app {"createIndexes":"orders","indexes":[{"unique":true,"name":"k_1_j_-1","key":{"k":1,"j":-1}}]}`},
		{`db.orders.createIndexes([{k: "hashed"}, {"a.b": 1}], {}, "majority")`, `app {"createIndexes":"orders","indexes":[{"name":"k_hashed","key":{"k":"hashed"}},{"name":"a.b_1","key":{"a.b":1}}],"commitQuorum":"majority"}`},
		{`db.orders.getIndexes()`, `app {"listIndexes":"orders","cursor":{}}`},
		{`db.orders.dropIndex({k: 1})`, `app {"dropIndexes":"orders","index":{"k":1}}`},
		{`db.orders.dropIndexes()`, `app {"dropIndexes":"orders","index":"*"}`},
		{`db.orders.hideIndex("k_1")`, `app {"collMod":"orders","index":{"name":"k_1","hidden":true}}`},
		{`db.orders.drop()`, `app {"drop":"orders"}`},
		{`db.orders.renameCollection("o2", true)`, `admin {"renameCollection":"app.orders","to":"app.o2","dropTarget":true}`},
		{`db.orders.validate(true)`, `app {"validate":"orders","full":true}`},
		{`db.orders.dataSize()`, `app {"aggregate":"orders","pipeline":[{"$collStats":{"storageStats":{}}},{"$group":{"_id":null,"value":{"$sum":"$storageStats.size"}}}],"cursor":{}}`},
		{`db.orders.getShardVersion()`, `admin {"getShardVersion":"app.orders"}`},
		{`db.orders.analyzeShardKey({k: 1}, {sampleSize: 10})`, `admin {"analyzeShardKey":"app.orders","key":{"k":1},"sampleSize":10}`},
		{`db.orders.configureQueryAnalyzer({mode: "full", sampleRate: 5})`, `admin {"configureQueryAnalyzer":"app.orders","mode":"full","sampleRate":5.0}`},
		{`db.orders.runCommand("collStats", {scale: 2})`, `app {"collStats":"orders","scale":2}`},
		{`db.orders.checkMetadataConsistency({checkIndexes: true})`, `app {"checkMetadataConsistency":"orders","checkIndexes":true}`},
		// the connection
		{`db.getMongo().setReadConcern("majority"); db.orders.findOne()`, `app {"find":"orders","filter":{},"limit":1,"readConcern":{"level":"majority"}}`},
		{`db.getMongo().setWriteConcern(1, 5, true); db.orders.deleteOne({})`, `app {"delete":"orders","deletes":[{"q":{},"limit":1}],"ordered":true,"writeConcern":{"w":1,"wtimeout":5,"j":true}}`},
		{`config.set("maxTimeMS", 70); db.orders.findOne()`, `app {"find":"orders","filter":{},"limit":1,"maxTimeMS":70}`},
	} {
		t.Run(tc.call, func(t *testing.T) {
			c.Renew(t)
			if out, failed := c.Show(tc.call); failed {
				t.Fatal(out)
			}
			if got := strings.Join(c.TakeCommands(), "\n"); got != tc.want {
				t.Errorf("sent\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
