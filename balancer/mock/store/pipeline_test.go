package store

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/projection"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

// Rules of the stages' manual pages, beside the recorded pipelines.
func TestPipelines(t *testing.T) {
	const people = `[{"_id": 1, "n": "a", "g": 1, "v": 10, "tags": ["x", "y"]}, {"_id": 2, "n": "b", "g": 2, "v": 20,
	  "tags": []},
		{"_id": 3, "n": "c", "g": 1, "v": null, "tags": null}, {"_id": 4, "n": "d", "g": 1.0, "v": 40}]`
	colls := map[string]string{
		"orders": `[{"_id": 1, "who": "a"}, {"_id": 2, "who": ["a", "b"]}, {"_id": 3}, {"_id": 4, "who": null}]`,
		"tree":   `[{"_id": "r"}, {"_id": "x", "up": "r"}, {"_id": "y", "up": "x"}, {"_id": "z", "up": "y"}]`,
	}
	env := pipeline.Env{
		Variables: storetest.Raw(t, `{"least": 20}`),
		Collection: func(name string) (iter.Seq[bson.Raw], error) {
			if text, ok := colls[name]; ok {
				return slices.Values(storetest.List(t, text)), nil
			}
			return slices.Values[[]bson.Raw](nil), nil
		},
	}
	for _, tc := range []struct{ name, ask, want string }{
		{"no stages", `[]`, people},
		{"let of the command", `[{"$match": {"$expr": {"$gte": ["$v", "$$least"]}}}, {"$project": {"_id": 1}}]`,
			`[{"_id": 2}, {"_id": 4}]`},
		{"groups by equal numbers of different types", `[{"$group": {"_id": "$g", "n": {"$count": {}}}}]`,
			`[{"_id": 1, "n": 3}, {"_id": 2, "n": 1}]`},
		{"missing group keys are null", `[{"$group": {"_id": "$nope", "first": {"$first": "$v"}, "l": {"$last": "$tags"}}}]`,
			`[{"_id": null, "first": 10, "l": null}]`},
		{"accumulators skip what is not a number",
			`[{"$group": {"_id": null, "s": {"$sum": "$v"}, "a": {"$avg": "$v"}, "lo": {"$min": "$v"}, "sd": ` +
				`{"$stdDevSamp": "$n"}}}]`,
			`[{"_id": null, "s": 70, "a": 23.333333333333332, "lo": 10, "sd": null}]`},
		{"push keeps null, not missing", `[{"$group": {"_id": null, "p": {"$push": "$tags"}}}]`,
			`[{"_id": null, "p": [["x", "y"], [], null]}]`},
		{"addToSet", `[{"$group": {"_id": null, "p": {"$addToSet": "$g"}}}]`, `[{"_id": null, "p": [1, 2]}]`},
		{"top and bottom", `[{"$group": {"_id": null, "t": {"$top": {"sortBy": {"v": -1}, "output": "$n"}}, "b": ` +
			`{"$bottomN": {"sortBy": {"v": -1}, "output": ["$n", "$v"], "n": 2}}}}]`,
			`[{"_id": null, "t": "d", "b": [["a", 10], ["c", null]]}]`},
		{"n by group", `[{"$group": {"_id": {"k": "$g"}, "f": {"$firstN": {"input": "$n", "n": {"$add": ["$k", 0]}}}}}]`,
			`[{"_id": {"k": 1}, "f": ["a"]}, {"_id": {"k": 2}, "f": ["b"]}]`},
		{"mergeObjects", `[{"$group": {"_id": null, "m": {"$mergeObjects": {"$arrayToObject": [[["$n", "$v"]]]}}}}]`,
			`[{"_id": null, "m": {"a": 10, "b": 20, "c": null, "d": 40}}]`},
		{"unwind drops empty", `[{"$unwind": "$tags"}, {"$project": {"tags": 1}}]`,
			`[{"_id": 1, "tags": "x"}, {"_id": 1, "tags": "y"}]`},
		{"unwind keeps empty", `[{"$unwind": {"path": "$tags", "preserveNullAndEmptyArrays": true}}, {"$project": ` +
			`{"tags": 1}}]`,
			`[{"_id": 1, "tags": "x"}, {"_id": 1, "tags": "y"}, {"_id": 2}, {"_id": 3, "tags": null}, {"_id": 4}]`},
		{"lookup: arrays and null",
			`[{"$lookup": {"from": "orders", "localField": "n", "foreignField": "who", "as": "o"}}, {"$project": {"o._id": 1}}]`,
			`[{"_id": 1, "o": [{"_id": 1}, {"_id": 2}]}, {"_id": 2, "o": [{"_id": 2}]}, {"_id": 3, "o": []}, {"_id": ` +
				`4, "o": []}]`},
		{"lookup: missing joins null",
			`[{"$match": {"_id": 1}}, {"$lookup": {"from": "orders", "localField": "nope", "foreignField": "who", "as": ` +
				`"o"}}, {"$project": {"o": "$o._id"}}]`,
			`[{"_id": 1, "o": [3, 4]}]`},
		{"lookup: an empty array joins null",
			`[{"$match": {"_id": 2}}, {"$lookup": {"from": "orders", "localField": "tags", "foreignField": "who", "as": ` +
				`"o"}}, {"$project": {"o._id": 1}}]`, `[{"_id": 2, "o": [{"_id": 3}, {"_id": 4}]}]`},
		{"lookup: both forms", `[{"$match": {"_id": 1}}, {"$lookup": {"from": "orders", "localField": "n", "foreignField": ` +
			`"who", "let": {"g": "$g"}, "pipeline": [{"$match": {"$expr": {"$gt": ["$_id", "$$g"]}}}], "as": "o"}}, ` +
			`{"$project": {"o": "$o._id"}}]`,
			`[{"_id": 1, "o": [2]}]`},
		{"lookup: nested variables",
			`[{"$limit": 1}, {"$lookup": {"from": "orders", "let": {"a": "$_id"}, "pipeline": [{"$limit": 1}, {"$lookup": ` +
				`{"from": "tree", "let": {"b": "$who"}, "pipeline": [{"$limit": 1}, {"$project": {"_id": 0, "r": ["$$a", "$$b", ` +
				`"$$least"]}}], "as": "t"}}, {"$replaceWith": {"$first": "$t"}}], "as": "o"}}, {"$project": {"_id": 0, "o": 1}}]`,
			`[{"o": [{"r": [1, "a", 20]}]}]`},
		{"lookup: a pipeline without variables of its own uses those around it",
			`[{"$limit": 2}, {"$lookup": {"from": "orders", "let": {"a": "$_id"}, "pipeline": [{"$limit": 1}, {"$lookup": ` +
				`{"from": "tree", "pipeline": [{"$limit": 1}, {"$project": {"_id": 0, "r": "$$a"}}], "as": "t"}}, ` +
				`{"$replaceWith": {"$first": "$t"}}], "as": "o"}}, {"$project": {"_id": 0, "o": 1}}]`,
			`[{"o": [{"r": 1}]}, {"o": [{"r": 2}]}]`},
		{"graphLookup: restricted by a variable around it",
			`[{"$limit": 2}, {"$lookup": {"from": "orders", "let": {"up": {"$cond": [{"$eq": ["$_id", 1]}, "x", "y"]}}, ` +
				`"pipeline": [{"$limit": 1}, {"$graphLookup": {"from": "tree", "startWith": ["x", "y"], "connectFromField": ` +
				`"none", "connectToField": "up", "as": "t", "restrictSearchWithMatch": {"$expr": {"$eq": ["$up", "$$up"]}}}}, ` +
				`{"$project": {"_id": 0, "t": "$t._id"}}], "as": "o"}}, {"$project": {"_id": 0, "o": 1}}]`,
			`[{"o": [{"t": ["y"]}]}, {"o": [{"t": ["z"]}]}]`},
		{"lookup: no such collection",
			`[{"$limit": 1}, {"$lookup": {"from": "nope", "pipeline": [], "as": "o"}}, {"$project": {"_id": 0, "o": 1}}]`,
			`[{"o": []}]`},
		{"lookup: documents", `[{"$limit": 1}, {"$lookup": {"pipeline": [{"$documents": [{"z": 1}]}], "as": "o"}}, ` +
			`{"$project": {"_id": 0, "o": 1}}]`, `[{"o": [{"z": 1}]}]`},
		{"unionWith by name", `[{"$limit": 1}, {"$project": {"_id": 1}}, {"$unionWith": "tree"}, {"$limit": 2}]`,
			`[{"_id": 1}, {"_id": "r"}]`},
		{"graphLookup with depth",
			`[{"$limit": 1}, {"$graphLookup": {"from": "tree", "startWith": "z", "connectFromField": "up", "connectToField": ` +
				`"_id", "as": "t", "depthField": "d", "restrictSearchWithMatch": {"_id": {"$ne": "r"}}}}, {"$project": {"_id": ` +
				`0, "t": 1}}]`,
			`[{"t": [{"_id": "z", "up": "y", "d": {"$numberLong": "0"}}, {"_id": "y", "up": "x", "d": {"$numberLong": "1"}}, ` +
				`{"_id": "x", "up": "r", "d": {"$numberLong": "2"}}]}]`},
		{"documents", `[{"$documents": [{"a": 1}, {"a": {"$add": [1, 1]}}]}]`, `[{"a": 1}, {"a": 2}]`},
		{"addFields into arrays and through scalars",
			`[{"$documents": [{"a": [{"b": 1}, 2], "c": 3}]}, {"$addFields": {"a.z": 0, "c.d": 4, "e": {"f": "$c"}}}]`,
			`[{"a": [{"b": 1, "z": 0}, {"z": 0}], "c": {"d": 4}, "e": {"f": 3}}]`},
		{"missing is below MinKey in a group alone", `[{"$sortByCount": {"$gt": ["$nope", {"$literal": {"$minKey": 1}}]}}]`,
			`[{"_id": false, "count": 4}]`},
		{"missing is above MinKey elsewhere",
			`[{"$limit": 1}, {"$project": {"_id": 0, "r": {"$gt": ["$nope", {"$literal": {"$minKey": 1}}]}}}]`, `[{"r": true}]`},
		{"a part of no set", `[{"$sortByCount": {"$setIsSubset": ["$n", "$nope"]}}]`, `[{"_id": null, "count": 4}]`},
		{"addFields removes", `[{"$limit": 1}, {"$set": {"v": "$$REMOVE", "tags": "$nope", "n": {"$literal": "$g"}}}]`,
			`[{"_id": 1, "n": "$g", "g": 1}]`},
		{"project keeps the order of the document", `[{"$limit": 1}, {"$project": {"v": 1, "n": 1, "z": "$g", "_id": 0}}]`,
			`[{"n": "a", "v": 10, "z": 1}]`},
		{"project nests", `[{"$limit": 1}, {"$project": {"_id": 0, "x": {"y": "$n", "z": ["$g", "$nope"]}}}]`,
			`[{"x": {"y": "a", "z": [1, null]}}]`},
		{"redact descends", `[{"$documents": [{"l": 1, "a": {"l": 5, "x": 1}, "b": [{"l": 1}, {"l": 5}]}]}, {"$redact": ` +
			`{"$cond": [{"$gt": ["$l", 3]}, "$$PRUNE", "$$DESCEND"]}}]`, `[{"l": 1, "b": [{"l": 1}]}]`},
		{"bucket with default count",
			`[{"$match": {"v": {"$ne": null}}}, {"$bucket": {"groupBy": "$v", "boundaries": [0, 15, 50]}}]`,
			`[{"_id": 0, "count": 1}, {"_id": 15, "count": 2}]`},
		{"facet", `[{"$facet": {"n": [{"$count": "n"}], "none": [{"$match": {"_id": 9}}]}}]`,
			`[{"n": [{"n": 4}], "none": []}]`},
		{"count of nothing", `[{"$match": {"_id": 9}}, {"$count": "n"}]`, `[]`},
		{"window by place", `[{"$setWindowFields": {"partitionBy": "$g", "sortBy": {"_id": -1}, "output": {"r": {"$rank": ` +
			`{}}, "p": {"$shift": {"output": "$n", "by": -1, "default": "none"}}, "m": {"$max": "$v", "window": {"documents": ` +
			`[-1, 0]}}}}}, {"$project": {"r": 1, "p": 1, "m": 1}}]`,
			`[{"_id": 4, "r": 1, "p": "none", "m": 40}, {"_id": 3, "r": 2, "p": "d", "m": 40}, {"_id": 1, "r": 3, "p": "c", ` +
				`"m": 10}, {"_id": 2, "r": 1, "p": "none", "m": 20}]`},
		{"window by value", `[{"$documents": [{"k": 1}, {"k": 2}, {"k": 2}, {"k": 5}]}, {"$setWindowFields": {"sortBy": ` +
			`{"k": 1}, "output": {"n": {"$count": {}, "window": {"range": [-1, "current"]}}}}}]`,
			`[{"k": 1, "n": 1}, {"k": 2, "n": 3}, {"k": 2, "n": 3}, {"k": 5, "n": 1}]`},
		{"densify by partition",
			`[{"$documents": [{"k": 1, "p": "a"}, {"k": 3, "p": "a"}, {"k": 2, "p": "b"}]}, {"$densify": {"field": "k", ` +
				`"partitionByFields": ["p"], "range": {"step": 1, "bounds": "full"}}}]`,
			`[{"k": 1, "p": "a"}, {"p": "a", "k": 2}, {"k": 3, "p": "a"}, {"p": "b", "k": 1}, {"k": 2, "p": "b"}]`},
		{"fill", `[{"$documents": [{"k": 1, "v": 1}, {"k": 2}, {"k": 5, "v": 9}, {"k": 6, "v": null}]}, {"$fill": ` +
			`{"sortBy": {"k": 1}, "output": {"v": {"method": "linear"}, "w": {"value": 0}}}}]`,
			`[{"k": 1, "v": 1, "w": 0}, {"k": 2, "v": 3.0, "w": 0}, {"k": 5, "v": 9, "w": 0}, {"k": 6, "v": null, "w": 0}]`},
		{"sample all", `[{"$sample": {"size": 10}}, {"$sort": {"_id": 1}}, {"$count": "n"}]`, `[{"n": 4}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := aggregate(storetest.List(t, tc.ask), env, storetest.List(t, people))
			want := document.Lookup(storetest.Raw(t, `{"v":`+tc.want+`}`), "v")
			if err != nil || !got.Equal(want) {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
			}
		})
	}
}

func TestPipelineErrors(t *testing.T) {
	for ask, code := range map[string]int32{
		`[{}]`:                                 40323,
		`[{"$match": {}, "$limit": 1}]`:        40323,
		`[{"match": {}}]`:                      40324,
		`[{"$match": {}}, {"$documents": []}]`: 40602,
		`[{"$geoNear": {}}]`:                   27,
		`[{"$search": {}}]`:                    31082,
		`[{"$listCatalog": {}}]`:               238,
		`[{"$project": {"a": {"$rand": 1}}}]`:  3040501,
		`[{"$project": {"a": {"$function": {"body": "f", "args": [], "lang": "js"}}}}]`: 31264,
		`[{"$group": {"_id": 1, "a": {"$accumulator": {"lang": "js"}}}}]`:               31264,
		`[{"$bucketAuto": {"groupBy": "$a", "buckets": 2, "granularity": "R6"}}]`:       40257,
		`[{"$unionWith": {"coll": "c", "pipeline": [{"$out": "x"}]}}]`:                  51047,
		`[{"$match": {}}, {"$currentOp": {}}]`:                                          40602,
		`[{"$out": "x"}, {"$match": {}}]`:                                               40601,
		`[{"$facet": {"a": [{"$facet": {"b": []}}]}}]`:                                  40600,
		`[{"$facet": {"a": [{"$collStats": {}}]}}]`:                                     40600,
		`[{"$facet": {}}]`:                     40169,
		`[{"$facet": {"a": 5}}]`:               40170,
		`[{"$project": 5}]`:                    15969,
		`[{"$project": {"a": {"$nope": 1}}}]`:  31325,
		`[{"$project": {"a": 1, "a.b": 1}}]`:   31249,
		`[{"$project": {"a": 1, "b": 0}}]`:     31254,
		`[{"$project": {"a": 0, "b": 1}}]`:     31253,
		`[{"$project": {"a": {}}}]`:            51270,
		`[{"$project": {"$a": 1}}]`:            16410,
		`[{"$project": {"": 1}}]`:              40352,
		`[{"$addFields": 5}]`:                  40272,
		`[{"$addFields": {"a": 1, "a.b": 2}}]`: 40176,
		`[{"$set": {"a": {"$nope": 1}}}]`:      168,
		`[{"$unset": []}]`:                     31119,
		`[{"$unset": 5}]`:                      31002,
		`[{"$unset": [5]}]`:                    31120,
		`[{"$sort": 5}]`:                       15973,
		`[{"$sort": {"a": 2}}]`:                15975,
		`[{"$sort": {"a": "x"}}]`:              15974,
		`[{"$limit": "x"}]`:                    5107201,
		`[{"$limit": 1.5}]`:                    5107201,
		`[{"$skip": "x"}]`:                     5107200,
		`[{"$skip": -1}]`:                      5107200, // recorded
		`[{"$count": "_id"}]`:                  15948,
		// From here on the manual's pages of the stages say what is refused, but not with
		// which code: the codes are from memory, and no record confirms them.
		`[{"$setWindowFields": {"sortBy": {"t": 1}, "output": {"r": {"$derivative": {"input": "$t"}}}}}]`: 9,
		`[{"$setWindowFields": {"sortBy": {"t": 1}, "output": {"r": {"$sum": 1, "window": {"documents": [0, 0], ` +
			`"unit": "day"}}}}}]`: 9,
		`[{"$fill": {"output": 5}}]`:  14,
		`[{"$fill": {"output": {}}}]`: 6050203,
		`[{"$fill": {"partitionByFields": "g", "output": {"v": {"value": 1}}}}]`:                                  14,
		`[{"$fill": {"sortBy": {"k": 1, "j": 1}, "output": {"v": {"method": "linear"}}}}]`:                        605001,
		`[{"$densify": {"field": "k", "partitionByFields": 5, "range": {"step": 1, "bounds": "full"}}}]`:          14,
		`[{"$densify": {"field": 5, "range": {"step": 1, "bounds": "full"}}}]`:                                    14,
		`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"w": {"$rank": 5}}}}]`:                             5371603,
		`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"w": {"$rank": {}, "window": {}}}}}]`:              5371601,
		`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"w": {"$sum": 1, "window": {"unit": "day"}}}}}]`:   9,
		`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"w": {"$sum": 1, "window": {"range": [2, 1]}}}}}]`: 5339900,
		`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"w": {"$shift": {"by": 1, "output": "$k",
			"default": "$k"}}}}}]`: 9,
		`[{"$lookup": {"pipeline": [{"$match": {}}], "as": "j"}}]`:             9,
		`[{"$unionWith": {"pipeline": []}}]`:                                   9,
		`[{"$sort": {"": 1}}]`:                                                 40352,
		`[{"$count": 5}]`:                                                      40156,
		`[{"$count": "$x"}]`:                                                   40158,
		`[{"$count": "a.b"}]`:                                                  40160,
		`[{"$replaceRoot": 5}]`:                                                40229,
		`[{"$replaceRoot": {"newRoot": "$n"}}]`:                                40228,
		`[{"$replaceWith": "$nope"}]`:                                          40228,
		`[{"$group": 5}]`:                                                      15947,
		`[{"$group": {"_id": 1, "a": 5}}]`:                                     40234,
		`[{"$group": {"_id": 1, "a.b": {"$sum": 1}}}]`:                         40235,
		`[{"$group": {"_id": 1, "$a": {"$sum": 1}}}]`:                          40236,
		`[{"$group": {"_id": 1, "a": {"$sum": [1, 2]}}}]`:                      40237,
		`[{"$group": {"_id": 1, "a": {"$sum": 1, "$avg": 1}}}]`:                40238,
		`[{"$group": {"_id": 1, "a": {"$firstN": {"input": 1, "n": 0}}}}]`:     5787908,
		`[{"$unwind": 5}]`:                                                     15981,
		`[{"$unwind": {}}]`:                                                    28812,
		`[{"$unwind": {"path": "$a", "x": 1}}]`:                                28811,
		`[{"$lookup": {"from": "x"}}]`:                                         9,
		`[{"$lookup": {"from": "x", "as": "y"}}]`:                              9,
		`[{"$lookup": {"from": "x", "as": "y", "localField": "a"}}]`:           9,
		`[{"$lookup": {"from": "x", "as": "y", "nope": "a"}}]`:                 9,
		`[{"$bucket": {"groupBy": "$a"}}]`:                                     40198,
		`[{"$bucket": {"groupBy": "$a", "boundaries": [1]}}]`:                  40192,
		`[{"$bucket": {"groupBy": "$a", "boundaries": [1, "a"]}}]`:             40193,
		`[{"$bucket": {"groupBy": "$a", "boundaries": [2, 1]}}]`:               40194,
		`[{"$bucket": {"groupBy": "$a", "boundaries": [1, 2], "default": 1}}]`: 40199,
		`[{"$bucket": {"groupBy": "$a", "boundaries": [1, 2]}}]`:               40066,
		`[{"$sample": {}}]`:                                                    28749,
		// a group on its own goes to SBE, if that knows its expressions
		`[{"$sortByCount": {"$toLower": [[1]]}}]`:                               16007, // a constant
		`[{"$sortByCount": {"$sinh": {"$ifNull": ["$x", "$$ROOT"]}}}]`:          7157800,
		`[{"$skip": 0}, {"$group": {"_id": {"$tan": "$$ROOT"}}}]`:               7157802,
		`[{"$unset": "a"}, {"$group": {"_id": {"$tan": "$$ROOT"}}}]`:            28765,
		`[{"$group": {"_id": {"$tan": {"$toString": "$n"}}}}]`:                  28765,
		`[{"$facet": {"f": [{"$group": {"_id": {"$tan": "$$ROOT"}}}]}}]`:        28765,
		`[{"$bucketAuto": {"groupBy": {"$tan": "$$ROOT"}, "buckets": 1}}]`:      28765,
		`[{"$group": {"_id": 1, "m": {"$mergeObjects": "$n"}}}]`:                5911200,
		`[{"$group": {"_id": {"$toInt": "$n"}, "m": {"$mergeObjects": "$n"}}}]`: 40400,
		// lines need a sort key of each document, unlike the one before
		`[{"$fill": {"sortBy": {"k": 1}, "output": {"v": {"method": "linear"}}}}]`: 14,
		`[{"$unionWith": {"pipeline": [{"$documents": [{"_id": 1}]}]}}, ` +
			`{"$fill": {"sortBy": {"_id": 1}, "output": {"v": {"method": "linear"}}}}]`: 6050106,
		// what is before a document that can't be filled goes on
		`[{"$unionWith": {"pipeline": [{"$documents": [{"_id": 2, "v": 1}, {"_id": 3, "v": "x"}]}]}}, ` +
			`{"$fill": {"sortBy": {"_id": 1}, "output": {"v": {"method": "linear"}}}}, ` +
			`{"$addFields": {"a": {"$ln": {"$subtract": ["$_id", 1]}}}}]`: 28766,
		// all stages are parsed before constants are computed
		`[{"$addFields": {"a": {"$abs": "x"}}}, {"$nope": 1}]`:                   40324,
		`[{"$sortByCount": 5}]`:                                                  40149,
		`[{"$redact": 5}]`:                                                       17053,
		`[{"$graphLookup": {"from": "x"}}]`:                                      40105,
		`[{"$densify": {"field": "a", "range": {"step": 0, "bounds": "full"}}}]`: 5733401,
		`[{"$setWindowFields": {"output": {"a": {"$nope": 1}}}}]`:                9,
	} {
		if _, err := aggregate(storetest.List(t, ask), pipeline.Env{},
			storetest.List(t, `[{"_id": 1, "n": 5}]`)); storetest.CodeOf(err) != code {
			t.Errorf("%s: code %d (%v), want %d", ask, storetest.CodeOf(err), err, code)
		}
	}
}

func TestPipelineStopsWithItsContext(t *testing.T) {
	p, err := pipeline.Compile(storetest.List(t, `[{"$match": {}}]`), pipeline.Env{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless := func(yield func(bson.Raw) bool) {
		for yield(document.Empty) {
		}
	}
	n := 0
	for _, err := range p.Run(ctx, endless) {
		if n++; n == 10 {
			cancel()
		}
		if err != nil {
			if !errors.Is(err, context.Canceled) || n != 11 {
				t.Errorf("%v after %d", err, n)
			}
			return
		}
	}
	t.Error("ended without an error")
}

func TestLimitReadsNoFurther(t *testing.T) {
	read := 0
	in := func(yield func(bson.Raw) bool) {
		for yield(document.Empty) {
			read++
		}
	}
	p, err := pipeline.Compile(storetest.List(t, `[{"$match": {}}, {"$limit": 3}]`), pipeline.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for range p.Run(context.Background(), in) {
	}
	if read > 3 {
		t.Errorf("read %d documents for 3", read)
	}
}

func TestFindProjections(t *testing.T) {
	const doc = `{"_id": 1, "a": [1, 2, 3], "b": {"c": 1, "d": 2}, "ao": [{"k": 1, "z": 1}, {"k": 2, "z": 2}], "aa": ` +
		`[[{"x": 1, "y": 2}]]}`
	for _, tc := range []struct {
		spec, filter, want string
		code               int32
	}{
		{spec: `{"b": {"c": 1}}`, want: `{"_id": 1, "b": {"c": 1}}`},
		{spec: `{"_id": 1}`, want: `{"_id": 1}`},
		{spec: `{"a": 0, "_id": 1, "ao": 0, "aa": 0}`, want: `{"_id": 1, "b": {"c": 1, "d": 2}}`},
		{spec: `{"_id": 0, "aa.x": 1}`, want: `{"aa": [[{"x": 1}]]}`},
		{spec: `{"a": {"$slice": [1, 1]}, "b": 1}`, want: `{"_id": 1, "a": [2], "b": {"c": 1, "d": 2}}`},
		{spec: `{"_id": 0, "a": {"$slice": -2}, "b": 0, "ao": 0, "aa": 0}`, want: `{"a": [2, 3]}`},
		{spec: `{"a": {"$slice": ["$a", 1]}}`, want: `{"_id": 1, "a": [1]}`},
		{spec: `{"a": {"$elemMatch": {"$gt": 1}}}`, want: `{"_id": 1, "a": [2]}`},
		{spec: `{"ao.$": 1}`, filter: `{"ao.k": 2}`, want: `{"_id": 1, "ao": [{"k": 2, "z": 2}]}`},
		{spec: `{"ao.$": 1}`, filter: `{"_id": 1}`, code: 51246},
		{spec: `{"a.$": 1, "ao.$": 1}`, code: 31276},
		{spec: `{"a": {"$elemMatch": 5}}`, code: 31274},
		{spec: `{"b.c": {"$elemMatch": {"x": 1}}}`, code: 31275},
		{spec: `{"a": 0, "x": {"$add": [1, 1]}}`, code: 31252},
		{spec: `{"a": 0, "x": "$b"}`, code: 31310},
		{spec: `{"x": {"$add": ["a", 1]}}`, code: 14},
	} {
		var f *filter.Filter
		var err error
		if tc.filter != "" {
			if f, err = filter.Compile(storetest.Raw(t, tc.filter)); err != nil {
				t.Fatal(err)
			}
		}
		p, err := projection.CompileWith(storetest.Raw(t, tc.spec), projection.Options{Filter: f})
		var got bson.Raw
		if err == nil {
			got, err = p.Apply(storetest.Raw(t, doc))
		}
		if storetest.CodeOf(err) != tc.code {
			t.Errorf("%s: code %d (%v), want %d", tc.spec, storetest.CodeOf(err), err, tc.code)
		} else if err == nil && !bytes.Equal(got, storetest.Raw(t, tc.want)) {
			t.Errorf("%s: got %s", tc.spec, got)
		}
	}
}

// Sorting by the key agrees with comparing, and both treat arrays as the
// manual says: by the least element upwards, by the greatest downwards.
func TestSortLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfN(storetest.SmallDocuments, 2, 6).Draw(t, "docs")
		s, err := order.Compile(document.New(
			document.Field{Name: "a", Value: value.Int32(rapid.SampledFrom([]int32{1, -1}).Draw(t, "a"))},
			document.Field{Name: "b.c", Value: value.Int32(rapid.SampledFrom([]int32{1, -1}).Draw(t, "b.c"))}))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range docs {
			for _, y := range docs {
				if s.Compare(x, y) != bytes.Compare(s.SortKey(x), s.SortKey(y)) {
					t.Fatalf("%s and %s: Compare %d, keys %d", x, y, s.Compare(x, y), bytes.Compare(s.SortKey(x), s.SortKey(y)))
				}
			}
		}
		s.SortMetered(nil, docs)
		if !slices.IsSortedFunc(docs, s.Compare) {
			t.Fatal("not sorted")
		}
	})
}

func TestDistinct(t *testing.T) {
	var rec recordedQueries
	readRecording(t, "queries.json", &rec)
	distinct := func(path string, docs []bson.Raw) value.Value {
		got, err := Distinct(t.Context(), path, sequence(docs))
		if err != nil {
			t.Fatal(err)
		}
		return document.Array(got)
	}
	// Recorded: distinct("g") on s and the number of distinct("v") on m.
	if got := distinct("g", documents(t, rec.S)); !got.Equal(document.Lookup(storetest.Raw(t, `{"v": [0, 1, 2, 3]}`),
		"v")) {
		t.Errorf("g: %v", got)
	}
	if got := distinct("v", documents(t, rec.M)); document.Count(got.Value) != 22 {
		t.Errorf("v: %d values, want 22: %v", document.Count(got.Value), got)
	}
	docs := storetest.List(t, `[{"a": [{"b": 1}, {"b": [2, 1]}]}, {"a": {"b": 3}}, {"a": 5}, {"a": {"b": []}}]`)
	if got := distinct("a.b", docs); !got.Equal(document.Lookup(storetest.Raw(t, `{"v": [1, 2, 3]}`), "v")) {
		t.Errorf("a.b: %v", got)
	}
}

// A random number needs no arguments, written either way.
func TestRandTakesNothing(t *testing.T) {
	for _, none := range []string{"{}", "[]"} {
		got, err := aggregate(storetest.List(t, `[{"$documents": [{}]}, {"$project": {"r": {"$rand": `+none+`}}}]`),
			pipeline.Env{Rand: func() float64 {
				return 0.25
			}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := document.Lookup(document.Items(got)[0].Value, "r"); value.ToDouble(r) != 0.25 {
			t.Errorf("$rand: %s gives %s", none, r)
		}
	}
}
