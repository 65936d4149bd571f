package reads

import (
	"context"
	"iter"
	"math"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
)

// sh.status() and other tools count chunks by shard, by collection or by both with a $group over
// config.chunks. Instead of up to a million chunks, such an aggregation reads one document for each
// counter of the routing tables, and multiplies: {$sum: 1} becomes {$sum: {$multiply: [1, "$chunks"]}}.

// chunksField contains the number of chunks that a document represents.
const chunksField = "chunks"

// rewriteChunkCount rewrites an aggregation that only counts the documents of config.chunks, so that it
// uses the counters of the routing tables. It returns false if the aggregation is unchanged.
func rewriteChunkCount(c *call.Call, a *Aggregation) bool {
	if a.NS != "config.chunks" || a.Source != nil || a.OnDatabase || c.Node.Member != nil || !a.Query.Hint.IsZero() {
		return false
	}
	if len(a.pushedStages) > 1 || len(a.pushedStages) == 1 && !isCountableMatch(a.pushedStages[0]) || len(a.Stages) == 0 {
		return false
	}
	group, ok := countableGroup(a.Stages[0])
	if !ok {
		return false
	}
	a.Stages = append([]bson.Raw{group}, a.Stages[1:]...)
	return true
}

// chunkCountInput returns the documents that represent the matching chunks.
func chunkCountInput(c *call.Call, filter *filter.Filter) (call.Source, error) {
	if err := c.Request.ContactConfig(); err != nil {
		return nil, err
	}
	counts := c.Cluster.ConfigChunks().Counts()
	return func(ctx context.Context) iter.Seq2[bson.Raw, error] {
		var docs []bson.Raw
		for _, count := range counts(filter) {
			fields := bson.D{count.Collection, {Key: "shard", Value: string(count.Shard)}}
			if count.Jumbo {
				fields = append(fields, bson.E{Key: "jumbo", Value: true})
			}
			doc, err := document.Encode(append(fields, bson.E{Key: chunksField, Value: int32(count.Chunks)}))
			if err == nil && (filter == nil || filter.Match(doc)) {
				docs = append(docs, doc)
			}
		}
		return sourceOf(docs)(ctx)
	}, nil
}

// isCountableMatch reports whether a $match only tests collection, shard and the jumbo flag.
func isCountableMatch(stage bson.Raw) bool {
	elems, err := stage.Lookup("$match").Document().Elements()
	if err != nil {
		return false
	}
	for _, e := range elems {
		switch e.Key() {
		case "uuid", "ns", "shard":
		case "jumbo":
			if flagged, isBool := e.Value().BooleanOK(); !isBool || !flagged {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// countableGroup returns a $group that multiplies by the counters. It returns false if the $group needs
// more than the counters.
func countableGroup(stage bson.Raw) (bson.Raw, bool) {
	group, ok := stage.Lookup("$group").DocumentOK()
	if !ok {
		return nil, false
	}
	elems, err := group.Elements()
	if err != nil {
		return nil, false
	}
	var counted bson.D
	for _, e := range elems {
		if e.Key() == "_id" {
			if !isCountableExpression(e.Value()) {
				return nil, false
			}
			counted = append(counted, bson.E{Key: "_id", Value: e.Value()})
			continue
		}
		addend, ok := countableSum(e.Value())
		if !ok {
			return nil, false
		}
		counted = append(counted, bson.E{Key: e.Key(),
			Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$multiply", Value: bson.A{addend, "$" + chunksField}}}}}})
	}
	rewritten, err := document.Encode(bson.D{{Key: "$group", Value: counted}})
	return rewritten, err == nil
}

// countableSum returns the operand of a $sum that adds an integer for each chunk, with or without a
// condition.
func countableSum(accumulator bson.RawValue) (any, bool) {
	doc, _ := accumulator.DocumentOK()
	elems, err := doc.Elements()
	if err != nil || len(elems) != 1 {
		return nil, false
	}
	operand := elems[0].Value()
	switch elems[0].Key() {
	case "$count":
		return int32(1), true
	case "$sum":
		return operand, sumsExactly(operand) || isCountableCondition(operand)
	}
	return nil, false
}

func isCountableCondition(v bson.RawValue) bool {
	doc, _ := v.DocumentOK()
	elems, err := doc.Elements()
	if err != nil || len(elems) != 1 || elems[0].Key() != "$cond" {
		return false
	}
	list, isArray := elems[0].Value().ArrayOK()
	if !isArray {
		return false
	}
	parts, err := list.Values()
	return err == nil && len(parts) == 3 && isCountableExpression(parts[0]) && sumsExactly(parts[1]) &&
		sumsExactly(parts[2])
}

// sumsExactly reports whether v is a number whose sums are exact in any order.
func sumsExactly(v bson.RawValue) bool {
	if v.Type == bson.TypeDecimal128 {
		return false
	}
	x, isNumber := v.AsFloat64OK()
	return isNumber && x == math.Trunc(x) && math.Abs(x) <= 1<<20
}

// isCountableExpression reports whether an expression consists only of constants, {$eq: ["$jumbo",
// true]}, and fields that the counter documents have or that chunks never have.
func isCountableExpression(v bson.RawValue) bool {
	switch v.Type {
	case bson.TypeString:
		text := v.StringValue()
		return !strings.HasPrefix(text, "$") || text == "$uuid" || text == "$shard" || text == "$ns"
	case bson.TypeEmbeddedDocument:
		doc := v.Document()
		if isJumboTest(doc) {
			return true
		}
		elems, err := doc.Elements()
		for _, e := range elems {
			if strings.HasPrefix(e.Key(), "$") || !isCountableExpression(e.Value()) {
				return false
			}
		}
		return err == nil
	case bson.TypeNull, bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeBoolean:
		return true
	}
	return false
}

// isJumboTest reports whether an expression is exactly {$eq: ["$jumbo", true]}.
func isJumboTest(expression bson.Raw) bool {
	elems, err := expression.Elements()
	if err != nil || len(elems) != 1 || elems[0].Key() != "$eq" {
		return false
	}
	list, isArray := elems[0].Value().ArrayOK()
	if !isArray {
		return false
	}
	sides, err := list.Values()
	if err != nil || len(sides) != 2 {
		return false
	}
	field, _ := sides[0].StringValueOK()
	flagged, isBool := sides[1].BooleanOK()
	return field == "$jumbo" && isBool && flagged
}
