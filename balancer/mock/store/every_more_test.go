package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mock/store/value"
)

// mixedUses are what hides between operators.
func mixedUses() []aUse {
	expressions := map[string]string{
		"nested maps": `{"$size": {"$map": {"input": {"$slice": ["$list", 300]}, "as": "a", "in": {"$size": {"$map": ` +
			`{"input": "$list", "as": "b", "in": {"$add": ["$$a", "$$b"]}}}}}}}`,
		"sums in a reduction": `{"$reduce": {"input": {"$slice": ["$list", 300]}, "initialValue": 0, "in": {"$add": ` +
			`["$$value", {"$sum": "$list"}]}}}`,
		"sets in a map": `{"$map": {"input": {"$slice": ["$list", 300]}, ` +
			`"in": {"$in": ["$$this", {"$setUnion": ["$list"]}]}}}`,
		"text in a map":  `{"$map": {"input": {"$slice": ["$list", 300]}, "in": {"$strLenCP": {"$toUpper": "$text"}}}}`,
		"paths in lists": `{"$map": {"input": {"$slice": ["$list", 300]}, "in": {"$size": "$objects.k"}}}`,
	}
	stages := map[string]string{
		"join by an expression": `[{"$limit": 300}, {"$lookup": {"from": "c", "let": {"k": "$k"}, "pipeline": ` +
			`[{"$match": {"$expr": {"$eq": ["$_id", "$$k"]}}}], "as": "r"}}]`,
		"a join inside a join": `[{"$limit": 300}, {"$lookup": {"from": "c", "localField": "k", "foreignField": "_id", ` +
			`"as": "r", "pipeline": [{"$lookup": {"from": "c", "localField": "k", "foreignField": "_id", "as": "s"}}]}}]`,
		"a union in a join": `[{"$limit": 300}, {"$lookup": {"from": "c", "let": {"k": "$k"}, "pipeline": ` +
			`[{"$unionWith": "c"}, {"$count": "n"}], "as": "r"}}]`,
		"sort by two": `[{"$sort": {"text": 1, "k": 1}}]`,
	}
	var out []aUse
	for name, text := range expressions {
		out = append(out, aUse{"mixed " + name, func(t testing.TB, s *size) task { return projecting(t, s, text) }})
	}
	for name, text := range stages {
		out = append(out, aUse{"mixed " + name, func(t testing.TB, s *size) task { return piped(t, s, text, s.docs...) }})
	}
	return out
}

var accumulatorUses = map[string]string{
	"$sum": `"$v"`, "$avg": `"$v"`, "$min": `"$v"`, "$max": `"$v"`, "$stdDevPop": `"$v"`, "$stdDevSamp": `"$v"`,
	"$first": `"$v"`, "$last": `"$v"`, "$push": `"$v"`, "$addToSet": `"$k"`,
	"$concatArrays": `{"$range": ["$k", {"$add": ["$k", 1]}]}`, "$setUnion": `{"$range": ["$k", {"$add": ["$k", 1]}]}`,
	"$mergeObjects": `{"a": "$k"}`, "$count": `{}`,
	"$firstN": `{"input": "$k", "n": 5000}`, "$lastN": `{"input": "$k", "n": 5000}`,
	"$minN": `{"input": "$k", "n": 5000}`, "$maxN": `{"input": "$k", "n": 5000}`,
	"$top": `{"sortBy": {"k": 1}, "output": "$v"}`, "$bottom": `{"sortBy": {"k": 1}, "output": "$v"}`,
	"$topN":       `{"sortBy": {"k": 1}, "output": "$v", "n": 5000}`,
	"$bottomN":    `{"sortBy": {"k": 1}, "output": "$v", "n": 5000}`,
	"$median":     `{"input": "$k", "method": "approximate"}`,
	"$percentile": `{"input": "$k", "method": "approximate", "p": [0.1, 0.9]}`,
}

var windowUses = map[string]string{
	"$rank": `{}`, "$denseRank": `{}`, "$documentNumber": `{}`,
	"$shift": `{"output": "$v", "by": 3}`, "$locf": `"$gap"`, "$linearFill": `"$gap"`,
	"$derivative":   `{"input": "$v"}, "window": {"range": [-50, 0]}`,
	"$integral":     `{"input": "$v"}, "window": {"range": ["unbounded", "current"]}`,
	"$expMovingAvg": `{"input": "$v", "N": 3}`, "$covariancePop": `["$k", "$v"], "window": {"range": ["unbounded", 50]}`,
	"$covarianceSamp": `["$k", "$v"]`,
}

func accumulatorTasks() []aUse {
	var out []aUse
	for _, name := range expr.AccumulatorNames() {
		use := accumulatorUses[name]
		out = append(out, aUse{"accumulator " + name, func(t testing.TB, s *size) task {
			return piped(t, s, fmt.Sprintf(`[{"$group": {"_id": null, "r": {%q: %s}}}]`, name, use), s.docs...)
		}}, aUse{"accumulator in a window " + name, func(t testing.TB, s *size) task {
			return piped(t, s, fmt.Sprintf(`[{"$setWindowFields": {"sortBy": {"k": 1}, "output": {"r": {%q: %s,
				"window": {"documents": [-10, 10]}}}}}]`, name, use), s.docs...)
		}})
	}
	for name, use := range windowUses {
		out = append(out, aUse{"window function " + name, func(t testing.TB, s *size) task {
			by := "k"
			if name == "$linearFill" {
				by = "_id" // it takes no value twice
			}
			return piped(t, s, fmt.Sprintf(`[{"$setWindowFields": {"sortBy": {%q: 1}, "output": {"r": {%q: %s}}}}]`, by, name,
				use), s.docs...)
		}})
	}
	return out
}

// filterUses are queries on the large document, none of which matches.
var filterUses = map[string]string{
	"$eq": `{"list": {"$eq": -1}}`, "$gt": `{"list": {"$gt": 1e9}}`, "$gte": `{"list": {"$gte": 1e9}}`,
	"$lt": `{"list": {"$lt": -1}}`, "$lte": `{"list": {"$lte": -1}}`, "$ne": `{"objects.k": {"$ne": 0.5}}`,
	"$in":  `{"objects.k": {"$in": [-1, {"$regularExpression": {"pattern": "x", "options": ""}}]}}`,
	"$nin": `{"list": {"$nin": [-1, -2]}}`, "$not": `{"list": {"$not": {"$gt": 1e9}}}`,
	"$exists": `{"objects.nope": {"$exists": true}}`, "$type": `{"list": {"$type": "string"}}`,
	"$mod": `{"list": {"$mod": [1000000000, 999999999]}}`, "$size": `{"list": {"$size": 3}}`,
	"$all":        `{"list": {"$all": [-1, -2]}}`,
	"$elemMatch":  `{"objects": {"$elemMatch": {"k": {"$gt": 1e9}, "v": "x"}}}`,
	"$bitsAllSet": `{"list": {"$bitsAllSet": 1073741824}}`, "$bitsAnySet": `{"list": {"$bitsAnySet": 1073741824}}`,
	"$bitsAllClear": `{"deep": {"$bitsAllClear": 1}}`, "$bitsAnyClear": `{"deep": {"$bitsAnyClear": 1}}`,
	"$regex": `{"text": {"$regex": "(b,?a?)+c"}}`, "$options": `{"text": {"$regex": "(B,?a?)+c", "$options": "i"}}`,
	"$and": `{"$and": [{"list": {"$gte": 0}}, {"list": {"$gt": 1e9}}]}`,
	"$or":  `{"$or": [{"list": -1}, {"list": {"$gt": 1e9}}]}`, "$nor": `{"$nor": [{"list": -1}, {"deep": -1}]}`,
	"$expr":       `{"$expr": {"$gt": [{"$sum": "$list"}, 1e300]}}`,
	"$jsonSchema": ``, // of each keyword
	"$comment":    `{"$comment": "x", "list": -1}`, "$sampleRate": `{"$sampleRate": 0.0, "list": -1}`,
	"$alwaysTrue": `{"$alwaysTrue": 1}`, "$alwaysFalse": `{"$alwaysFalse": 1}`,
	"$ref": `{"x": {"$ref": "c"}}`, "$id": `{"x": {"$id": 1}}`, "$db": `{"x": {"$db": "d"}}`,
}

// absentFilters are the operators that always fail.
var absentFilters = []string{
	"$where", "$text", "$geoWithin", "$geoIntersects", "$within", "$near", "$nearSphere", "$geoNear",
}

func filterNames() []string {
	return slices.DeleteFunc(filter.OperatorNames(), func(name string) bool { return slices.Contains(absentFilters, name) })
}

var keywordUses = map[string]string{
	"type": `"type": "array"`, "bsonType": `"bsonType": "array"`, "enum": `"enum": [1, 2]`,
	"minimum": `"items": {"minimum": 0}`, "maximum": `"items": {"maximum": 1e9}`,
	"exclusiveMinimum": `"items": {"minimum": -1, "exclusiveMinimum": true}`,
	"exclusiveMaximum": `"items": {"maximum": 1e9, "exclusiveMaximum": true}`,
	"multipleOf":       `"items": {"multipleOf": 1}`, "minLength": `"items": {"minLength": 1}`,
	"maxLength": `"items": {"maxLength": 1}`, "pattern": `"items": {"pattern": "x"}`, "minItems": `"minItems": 1`,
	"maxItems": `"maxItems": 100000000`, "uniqueItems": `"uniqueItems": true`, "items": `"items": {"type": "number"}`,
	"additionalItems": `"items": [{}], "additionalItems": {"type": "number"}`,
	"allOf":           `"items": {"allOf": [{"minimum": 0}]}`, "anyOf": `"items": {"anyOf": [{"minimum": 0}]}`,
	"oneOf": `"items": {"oneOf": [{"minimum": 0}]}`, "not": `"items": {"not": {"maximum": -1}}`,
	"title": `"title": "x"`, "description": `"description": "x"`,
}

// objectKeywords are about the large object.
var objectKeywords = map[string]string{
	"minProperties": `"minProperties": 1`, "maxProperties": `"maxProperties": 100000000`, "required": `"required": ["k3"]`,
	"properties":           `"properties": {"k3": {"type": "number"}}`,
	"patternProperties":    `"patternProperties": {"^k1": {"type": "number"}}`,
	"additionalProperties": `"additionalProperties": {"type": "number"}`, "dependencies": `"dependencies": {"k3": ["k4"]}`,
}

func filterTasks() []aUse {
	var out []aUse
	for _, name := range filterNames() {
		if name != "$jsonSchema" {
			out = append(out, aUse{"filter " + name, matching1(filterUses[name])})
		}
	}
	for name, use := range keywordUses {
		out = append(out, aUse{"schema " + name, matching1(`{"$jsonSchema": {"properties": {"list": {` + use + `}}}}`)})
	}
	for name, use := range objectKeywords {
		out = append(out, aUse{"schema " + name, matching1(`{"$jsonSchema": {"properties": {"object": {` + use + `}}}}`)})
	}
	many := func(op string) func(n int) any {
		return func(n int) any {
			return bson.D{{Key: "list", Value: bson.D{{Key: op, Value: numbers(n)}}}}
		}
	}
	branches := func(n int, branch func(i int) bson.D) any {
		var all bson.A
		for i := range n {
			all = append(all, branch(i))
		}
		return bson.D{{Key: "$or", Value: all}}
	}
	for name, query := range map[string]func(n int) any{
		"many values": many("$in"), "many values not": many("$nin"), "many that are all there": many("$all"),
		"many branches": func(n int) any {
			return branches(n, func(i int) bson.D { return bson.D{{Key: "list", Value: -i - 1}, {Key: "text", Value: i}} })
		},
		"many conditions": func(n int) any {
			var all bson.D
			for i := range n {
				all = append(all, bson.E{Key: fmt.Sprint("object.k", i), Value: bson.D{{Key: "$gte", Value: 0}}})
			}
			return all
		},
	} {
		out = append(out, aUse{"filter of " + name, func(t testing.TB, s *size) task {
			f, err := filter.Compile(marshal(t, query(s.n)))
			if err != nil {
				t.Fatal(err)
			}
			return tested(f, s)
		}})
	}
	return out
}

func numbers(n int) bson.A {
	var all bson.A
	for i := range n {
		all = append(all, int32(i))
	}
	return all
}

func matching1(query string) func(t testing.TB, s *size) task {
	return func(t testing.TB, s *size) task {
		f, err := filter.Compile(storetest.Raw(t, query))
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return tested(f, s)
	}
}

func tested(f *filter.Filter, s *size) task {
	return func(ctx context.Context) error {
		_, err := f.Tester(ctx)(s.doc)
		return err
	}
}

// updateUses change the large document.
var updateUses = map[string]string{
	"$set": `{"list.$[]": 1}`, "$setOnInsert": `{"a": 1}`, "$unset": `{"list.$[]": 1}`, "$inc": `{"list.$[]": 1}`,
	"$mul": `{"list.$[]": 2}`, "$min": `{"list.$[]": 2}`, "$max": `{"list.$[]": 2}`, "$bit": `{"list.$[]": {"or": 1}}`,
	"$currentDate": `{"list.$[]": true}`, "$rename": `{"x": "y"}`,
	"$push":     `{"objects": {"$each": [{"k": 1}], "$sort": {"k": 1}}}`,
	"$addToSet": `{"list": {"$each": [1, -2, -3]}}`, "$pop": `{"list": 1}`,
	"$pull": `{"objects": {"k": {"$gt": 100}, "v": {"$regex": "t$"}}}`, "$pullAll": `{"list": [1, 2, 3]}`,
}

func updateTasks() []aUse {
	var out []aUse
	for _, name := range update.OperatorNames() {
		out = append(out, aUse{"update " + name, updating1(func(int) any {
			var use bson.D
			if err := bson.UnmarshalExtJSON([]byte(updateUses[name]), false, &use); err != nil {
				return err
			}
			return bson.D{{Key: name, Value: use}}
		})})
	}
	fields := func(op, prefix string, v func(i int) any) func(n int) any {
		return func(n int) any {
			var all bson.D
			for i := range n {
				all = append(all, bson.E{Key: fmt.Sprint(prefix, i), Value: v(i)})
			}
			return bson.D{{Key: op, Value: all}}
		}
	}
	each := func(op string) func(n int) any {
		return func(n int) any {
			return bson.D{{Key: op, Value: bson.D{{Key: "list", Value: bson.D{{Key: "$each", Value: numbers(n)}}}}}}
		}
	}
	one := func(int) any { return 1 }
	for name, u := range map[string]func(n int) any{
		"many new fields": fields("$set", "new", one), "many new fields below": fields("$set", "object.new", one),
		"many fields": fields("$inc", "object.k", one), "many fields less": fields("$unset", "object.k", one),
		"many elements": fields("$set", "list.", one), "many elements less": fields("$unset", "list.", one),
		"many names":  fields("$rename", "object.k", func(i int) any { return fmt.Sprint("object.new", i) }),
		"many pushed": each("$push"), "many into a set": each("$addToSet"),
		"many pulled": func(n int) any {
			return bson.D{{Key: "$pullAll", Value: bson.D{{Key: "list", Value: numbers(n)}}}}
		},
		"many pulled by a query": func(n int) any {
			return bson.D{{Key: "$pull", Value: bson.D{{Key: "list", Value: bson.D{{Key: "$in", Value: numbers(n)}}}}}}
		},
	} {
		out = append(out, aUse{"update of " + name, updating1(u)})
	}
	return append(out, aUse{"update of filtered elements", func(t testing.TB, s *size) task {
		u, err := update.Compile(document.Lookup(storetest.Raw(t, `{"u": {"$set": {"objects.$[a].k": 1}}}`), "u"),
			update.Options{ArrayFilters: storetest.List(t, `[{"a.k": {"$gte": 5}}]`)})
		if err != nil {
			t.Fatal(err)
		}
		return applied(u, s)
	}})
}

func updating1(change func(n int) any) func(t testing.TB, s *size) task {
	return func(t testing.TB, s *size) task {
		u, err := update.Compile(value.Object(marshal(t, change(s.n))), update.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return applied(u, s)
	}
}

func applied(u *update.Update, s *size) task {
	return func(ctx context.Context) error {
		_, _, err := u.ApplyContext(ctx, s.doc)
		if err != nil && strings.Contains(err.Error(), "Resulting document") {
			return nil // it has been made
		}
		return err
	}
}

func everyUse() []aUse {
	return slices.Concat(expressionUses(), stageTasks(), accumulatorTasks(), filterTasks(), updateTasks())
}

// Who adds an operator says in these tests how it is used.
func TestEveryOperatorHasAUse(t *testing.T) {
	for _, name := range expr.OperatorNames() {
		if _, ok := expressionUse(name, 1); !ok {
			t.Errorf("no use of the expression %s", name)
		}
	}
	for what, c := range map[string]struct {
		names []string
		uses  []map[string]string
	}{
		"stage":           {pipeline.ImplementedStageNames(), []map[string]string{stageUses}},
		"accumulator":     {expr.AccumulatorNames(), []map[string]string{accumulatorUses}},
		"window function": {pipeline.WindowFunctionNames(), []map[string]string{windowUses}},
		"filter operator": {filterNames(), []map[string]string{filterUses}},
		"schema keyword": {filter.SchemaKeywordNames(),
			[]map[string]string{keywordUses, objectKeywords}},
		"update operator": {update.OperatorNames(), []map[string]string{updateUses}},
	} {
		for _, name := range c.names {
			if !slices.ContainsFunc(c.uses, func(uses map[string]string) bool { _, ok := uses[name]; return ok }) {
				t.Errorf("no use of the %s %s", what, name)
			}
		}
	}
}
