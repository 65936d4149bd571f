package store

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/storetest"
)

// The uses of every operator and every stage there is, at any size, for tests
// about what they cost. A new operator fails TestEveryOperatorHasAUse until it
// has one here.

// size is what the uses of one size work on.
type size struct {
	n   int
	doc bson.Raw // of n elements, fields, characters
	// small documents: n of them
	docs []bson.Raw
}

var sizes = map[int]*size{}

// sizeFor makes the documents of a size once.
func sizeFor(t testing.TB, n int) *size {
	if s := sizes[n]; s != nil {
		return s
	}
	random := rand.New(rand.NewPCG(1, 2))
	s := &size{n: n}
	var list, pairs, objects, deep bson.A
	object := bson.D{}
	for i := range n {
		list = append(list, int32(random.IntN(n)))
		pairs = append(pairs, bson.A{fmt.Sprint("k", i), int32(i)})
		objects = append(objects, bson.D{{Key: "k", Value: int32(random.IntN(n))}, {Key: "v", Value: "text"}})
		object = append(object, bson.E{Key: fmt.Sprint("k", i), Value: int32(i)})
		deep = append(deep, bson.A{int32(i)})
	}
	s.doc = marshal(t, bson.D{
		{Key: "_id", Value: 1}, {Key: "list", Value: list}, {Key: "text", Value: strings.Repeat("ab,", n/3+1)},
		{Key: "pairs", Value: pairs}, {Key: "objects", Value: objects}, {Key: "object", Value: object},
		{Key: "deep", Value: deep}, {Key: "x", Value: "x"},
		{Key: "binary", Value: bson.Binary{Data: make([]byte, n)}},
		{Key: "date", Value: bson.DateTime(1e12)}, {Key: "dec", Value: decimalOf(t, "1.000000000000000000000000000001")},
		{Key: "id", Value: bson.ObjectID{1}}, {Key: "stamp", Value: bson.Timestamp{T: 1, I: 2}},
		{Key: "uuid", Value: "3b241101-e2bb-4255-8caf-4136c566a962"},
	})
	for i := range n {
		s.docs = append(s.docs, marshal(t, bson.D{
			{Key: "_id", Value: int32(i)}, {Key: "k", Value: int32(random.IntN(n))}, {Key: "v", Value: int32(i % 7)},
			{Key: "next", Value: int32(i + 1)}, {Key: "text", Value: "some text"},
			{Key: "date", Value: bson.DateTime(i * 1000)}, {Key: "gap", Value: gap(i)},
		}))
	}
	sizes[n] = s
	return s
}

func gap(i int) any {
	if i%100 == 0 {
		return int32(i)
	}
	return nil
}

func decimalOf(t testing.TB, text string) bson.Decimal128 {
	d, err := bson.ParseDecimal128(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func marshal(t testing.TB, doc any) bson.Raw {
	data, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// task is a use of something at one size; it fails with the cause of its
// context when that ends.
type task func(ctx context.Context) error

// aUse makes the task of a size. It is part of what is measured only from then
// on.
type aUse struct {
	of   string
	task func(t testing.TB, s *size) task
}

// scalarUses are uses of operators that take no time of their own: on each element.
var scalarUses = map[string]string{
	"$abs": `["$$this"]`, "$add": `["$$this", 1]`, "$subtract": `["$$this", 1]`, "$multiply": `["$$this", 2]`,
	"$divide": `["$$this", 3]`, "$mod": `["$$this", 3]`, "$ceil": `["$$this"]`, "$floor": `["$$this"]`,
	"$round": `["$dec", 3]`, "$trunc": `["$dec", 3]`, "$sqrt": `["$dec"]`, "$exp": `[1]`, "$ln": `[2]`, "$log": `[8, 2]`,
	"$log10": `[100]`, "$pow": `["$dec", 10000]`,
	"$sin": `[1]`, "$cos": `[1]`, "$tan": `[1]`, "$asin": `[1]`, "$acos": `[1]`, "$atan": `[1]`, "$atan2": `[1, 2]`,
	"$sinh": `[1]`, "$cosh": `[1]`, "$tanh": `[1]`, "$asinh": `[1]`, "$acosh": `[1]`, "$atanh": `[0.5]`,
	"$degreesToRadians": `[1]`, "$radiansToDegrees": `[1]`,
	"$bitAnd": `["$$this", 3]`, "$bitOr": `["$$this", 3]`, "$bitXor": `["$$this", 3]`, "$bitNot": `["$$this"]`,
	"$eq": `["$$this", 3]`, "$ne": `["$$this", 3]`, "$gt": `["$$this", 3]`, "$gte": `["$$this", 3]`,
	"$lt": `["$$this", 3]`, "$lte": `["$$this", 3]`, "$cmp": `["$$this", 3]`,
	"$and": `["$$this", 3]`, "$or": `[0, "$$this"]`, "$not": `["$$this"]`, "$cond": `["$$this", 1, 2]`,
	"$ifNull": `["$nope", "$$this"]`, "$expr": `"$$this"`, "$literal": `1`, "$const": `1`, "$rand": `{}`,
	"$let":  `{"vars": {"a": "$$this"}, "in": "$$a"}`,
	"$type": `["$$this"]`, "$isNumber": `["$$this"]`, "$isArray": `["$$this"]`,
	"$toInt": `["$$this"]`, "$toLong": `["$$this"]`, "$toDouble": `["$$this"]`, "$toDecimal": `["$$this"]`,
	"$toString": `["$$this"]`, "$toBool": `["$$this"]`, "$toDate": `["$date"]`, "$toObjectId": `["$id"]`,
	"$toUUID": `["$uuid"]`, "$convert": `{"input": "$$this", "to": "string"}`, "$toHashedIndexKey": `["$$this"]`,
	"$createObjectId": `{}`, "$currentDate": `{}`, "$subtype": `[{"$toUUID": "$uuid"}]`,
	"$tsSecond": `["$stamp"]`, "$tsIncrement": `["$stamp"]`,
	"$dateAdd":        `{"startDate": "$date", "unit": "month", "amount": 1, "timezone": "Europe/Berlin"}`,
	"$dateSubtract":   `{"startDate": "$date", "unit": "month", "amount": 1}`,
	"$dateDiff":       `{"startDate": "$date", "endDate": "$date", "unit": "month"}`,
	"$dateTrunc":      `{"date": "$date", "unit": "month"}`,
	"$dateToString":   `{"date": "$date", "timezone": "Europe/Berlin"}`,
	"$dateFromString": `{"dateString": "2020-01-02 03:04"}`,
	"$dateToParts":    `{"date": "$date"}`, "$dateFromParts": `{"year": 2020, "month": 2}`,
	"$year": `"$date"`, "$month": `"$date"`, "$week": `"$date"`, "$hour": `"$date"`, "$minute": `"$date"`,
	"$second": `"$date"`, "$millisecond": `"$date"`, "$dayOfMonth": `"$date"`, "$dayOfWeek": `"$date"`,
	"$dayOfYear": `"$date"`, "$isoWeek": `"$date"`, "$isoWeekYear": `"$date"`, "$isoDayOfWeek": `"$date"`,
}

// wholeUses work on something of size n.
var wholeUses = map[string]string{
	"$allElementsTrue": `["$deep"]`, "$anyElementTrue": `[{"$map": {"input": "$list", "in": 0}}]`,
	"$arrayElemAt": `["$list", -1]`, "$first": `["$list"]`, "$last": `["$list"]`,
	"$arrayToObject": `["$pairs"]`, "$objectToArray": `["$object"]`, "$binarySize": `["$text"]`, "$bsonSize": `["$$ROOT"]`,
	"$concat": `["$text", "$text"]`, "$concatArrays": `["$list", "$list", "$deep"]`,
	"$in": `[-1, "$list"]`, "$indexOfArray": `["$list", -1]`, "$indexOfBytes": `["$text", "b,b"]`,
	"$indexOfCP": `["$text", "b,b"]`, "$mergeObjects": `["$object", "$object"]`,
	"$range": `[0, {"$size": "$list"}]`, "$reverseArray": `["$list"]`, "$size": `["$list"]`,
	"$slice":         `["$list", 10, 100000]`,
	"$setDifference": `["$list", [1, 2]]`, "$setEquals": `["$list", "$list"]`, "$setIntersection": `["$list", "$list"]`,
	"$setIsSubset": `["$list", "$list"]`, "$setUnion": `["$list", "$deep"]`,
	"$split": `["$text", ","]`, "$strLenBytes": `["$text"]`, "$strLenCP": `["$text"]`, "$strcasecmp": `["$text", "$text"]`,
	"$substr": `["$text", 1, 100000]`, "$substrBytes": `["$text", 1, 100000]`, "$substrCP": `["$text", 1, 100000]`,
	"$toLower": `["$text"]`, "$toUpper": `["$text"]`,
	"$trim": `{"input": "$text", "chars": "ab,"}`, "$ltrim": `{"input": "$text", "chars": "ab,"}`,
	"$rtrim":      `{"input": "$text", "chars": "ab,"}`,
	"$replaceOne": `{"input": "$text", "find": "b,b", "replacement": "x"}`,
	"$replaceAll": `{"input": "$text", "find": "b,", "replacement": "xyz"}`,
	"$avg":        `["$list"]`, "$sum": `["$list"]`, "$min": `["$list"]`, "$max": `["$list"]`,
	"$stdDevPop": `["$list"]`, "$stdDevSamp": `["$list"]`,
	"$firstN": `{"input": "$list", "n": 5000}`, "$lastN": `{"input": "$list", "n": 5000}`,
	"$minN": `{"input": "$list", "n": 5000}`, "$maxN": `{"input": "$list", "n": 5000}`,
	"$median":       `{"input": "$list", "method": "approximate"}`,
	"$percentile":   `{"input": "$list", "method": "approximate", "p": [0.1, 0.9]}`,
	"$filter":       `{"input": "$list", "cond": {"$gt": ["$$this", 1]}}`,
	"$map":          `{"input": "$objects", "in": {"$add": ["$$this.k", 1]}}`,
	"$reduce":       `{"input": "$list", "initialValue": 0, "in": {"$add": ["$$this", "$$value"]}}`,
	"$getField":     `{"field": "nope", "input": "$object"}`,
	"$setField":     `{"field": "new", "input": "$object", "value": 1}`,
	"$unsetField":   `{"field": "k1", "input": "$object"}`,
	"$regexFind":    `{"input": "$text", "regex": "(b,?a?)+c"}`,
	"$regexMatch":   `{"input": "$text", "regex": "(b,?a?)+c"}`,
	"$regexFindAll": `{"input": "$text", "regex": "b,"}`,
	"$hash":         `{"input": "$text", "algorithm": "sha256"}`, "$hexHash": `{"input": "$text", "algorithm": "xxh64"}`,
	"$serializeEJSON": `{"input": "$objects"}`, "$deserializeEJSON": `{"input": "$objects"}`,
	"$toArray":   `[{"$toString": "$objects"}]`,
	"$toObject":  `[{"$toString": "$object"}]`,
	"$sortArray": `{"input": "$objects", "sortBy": {"k": 1}}`,
	"$zip":       `{"inputs": ["$list", "$deep"]}`,
	"$switch":    ``, // by generation
	"$function":  ``, // not there
}

// expressionUse gives an expression of an operator.
func expressionUse(name string, n int) (text string, ok bool) {
	if text, ok = scalarUses[name]; ok {
		return fmt.Sprintf(`{"$map": {"input": "$list", "in": {%q: %s}}}`, name, text), true
	}
	switch name {
	case "$switch":
		var b strings.Builder
		for i := range n / 100 {
			fmt.Fprintf(&b, `%s{"case": {"$eq": ["$x", %d]}, "then": 1}`, comma(i), i)
		}
		return fmt.Sprintf(`{"$switch": {"branches": [%s], "default": 0}}`, b.String()), true
	case "$function":
		return "", true
	}
	text, ok = wholeUses[name]
	return fmt.Sprintf(`{%q: %s}`, name, text), ok
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// expressionUses are those of all expressions.
func expressionUses() []aUse {
	var out []aUse
	for _, name := range expr.OperatorNames() {
		if name == "$function" {
			continue
		}
		out = append(out, aUse{"expression " + name, func(t testing.TB, s *size) task {
			text, _ := expressionUse(name, s.n)
			return projecting(t, s, text)
		}})
	}
	return out
}

// projecting evaluates an expression on the large document.
func projecting(t testing.TB, s *size, expression string) task {
	p := compiled(t, `[{"$project": {"r": `+expression+`}}]`, s)
	return func(ctx context.Context) error { return drained(p.Run(ctx, slices.Values([]bson.Raw{s.doc}))) }
}

func compiled(t testing.TB, stages string, s *size) *pipeline.Pipeline {
	p, err := pipeline.Compile(storetest.List(t, stages), pipeline.Env{
		Collection: func(string) (iter.Seq[bson.Raw], error) { return slices.Values(s.docs), nil },
		Language:   expr.Language{ArrayAccumulators: true, CurrentDate: true, Operators83: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drained(docs iter.Seq2[bson.Raw, error]) error {
	for _, err := range docs {
		if err != nil {
			return err
		}
	}
	return nil
}

var stageUses = map[string]string{
	"$match":   `{"k": {"$gt": 5}, "text": {"$regex": "x$"}}`,
	"$project": `{"a": "$k", "b": {"$add": ["$k", "$v"]}}`,
	"$set":     `{"a": "$k"}`, "$addFields": `{"a": "$k"}`, "$unset": `["k", "v"]`,
	"$sort": `{"v": 1, "k": -1}`, "$limit": `1000000`, "$skip": `5`, "$count": `"n"`,
	"$replaceRoot": `{"newRoot": {"a": "$k"}}`, "$replaceWith": `{"a": "$k"}`,
	"$group": `{"_id": "$k", "n": {"$sum": 1}, "all": {"$push": "$v"}}`, "$sortByCount": `"$k"`,
	"$bucket":     `{"groupBy": "$k", "boundaries": [0, 10, 100, 1000], "default": -1}`,
	"$bucketAuto": `{"groupBy": "$k", "buckets": 10}`,
	"$unwind":     ``, "$facet": `{"a": [{"$sort": {"k": 1}}], "b": [{"$count": "n"}]}`,
	"$sample": `{"size": 100000}`, "$redact": `{"$cond": [{"$gt": ["$k", 1]}, "$$DESCEND", "$$PRUNE"]}`,
	"$documents":       ``,
	"$lookup":          `{"from": "c", "localField": "k", "foreignField": "_id", "as": "r"}`,
	"$unionWith":       `{"coll": "c", "pipeline": [{"$set": {"a": 1}}]}`,
	"$graphLookup":     ``,
	"$setWindowFields": `{"sortBy": {"k": 1}, "output": {"r": {"$sum": "$v", "window": {"documents": [-5, 5]}}}}`,
	"$densify":         `{"field": "gap", "range": {"step": 1, "bounds": "full"}}`,
	"$fill":            `{"sortBy": {"_id": 1}, "output": {"gap": {"method": "linear"}}}`,
}

func piped(t testing.TB, s *size, pipeline string, in ...bson.Raw) task {
	p := compiled(t, pipeline, s)
	return func(ctx context.Context) error { return drained(p.Run(ctx, slices.Values(in))) }
}

func stageTasks() []aUse {
	var out []aUse
	for _, name := range pipeline.ImplementedStageNames() {
		out = append(out, aUse{"stage " + name, func(t testing.TB, s *size) task {
			switch name {
			case "$unwind":
				return piped(t, s, `[{"$project": {"list": 1, "text": {"$literal": "some text"}}}, {"$unwind": "$list"}]`, s.doc)
			case "$documents":
				return piped(t, s, fmt.Sprintf(
					`[{"$documents": {"$map": {"input": {"$range": [0, %d]}, "in": {"a": "$$this"}}}}]`, s.n))
			case "$graphLookup":
				return piped(t, s, `[{"$graphLookup": {"from": "c", "startWith": 0, "connectFromField": "next",
					"connectToField": "_id", "as": "r"}}, {"$project": {"n": {"$size": "$r"}}}]`, s.docs[0])
			}
			return piped(t, s, fmt.Sprintf(`[{%q: %s}]`, name, stageUses[name]), s.docs...)
		}})
	}
	return append(out, mixedUses()...)
}
