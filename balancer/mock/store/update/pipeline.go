package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

func fixedClock(t time.Time) func() time.Time { return func() time.Time { return t } }

// runPipeline puts one document through a pipeline update. An _id that got
// lost comes back.
func (u *Update) runPipeline(ctx context.Context, doc bson.Raw, id value) (bson.Raw, error) {
	one := func(yield func(bson.Raw) bool) { yield(doc) }
	for out, err := range u.pipeline.Run(ctx, one) {
		if err != nil {
			return nil, err
		}
		if isMissing(lookup(out, "_id")) && !isMissing(id) {
			b, start := openDocument(make([]byte, 0, len(out)+20))
			b = appendField(b, "_id", id)
			for name, v := range fields(out) {
				b = appendField(b, name, v)
			}
			out = closeDocument(b, start)
		}
		return out, nil
	}
	return doc, nil
}

// updateStages may make up an update.
var updateStages = map[string]bool{
	"$set": true, "$addFields": true, "$unset": true, "$project": true, "$replaceWith": true, "$replaceRoot": true,
}

func compileUpdatePipeline(list []value, o UpdateOptions) (*Pipeline, error) {
	if len(o.ArrayFilters) > 0 {
		return nil, failedToParse("Cannot specify arrayFilters and a pipeline update")
	}
	var stages []bson.Raw
	for _, s := range list {
		if !isObject(s) {
			return nil, typeMismatch("Each element of the 'pipeline' array must be an object")
		}
		name, _, _ := first(s.Value)
		if isOperator(name) && !updateStages[name] {
			return nil, serverError(mongoerr.InvalidOptions, "%s is not allowed to be used within an update", name)
		}
		stages = append(stages, s.Value)
	}
	env := Env{Variables: o.Let}
	if !o.Now.IsZero() {
		env.Now = fixedClock(o.Now)
	}
	return CompilePipeline(stages, env)
}
