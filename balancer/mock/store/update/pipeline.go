package update

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// runPipeline applies a pipeline update to one document. It restores an _id that the pipeline removed.
func (u *Update) runPipeline(ctx context.Context, doc bson.Raw, id value.Value) (bson.Raw, error) {
	one := func(yield func(bson.Raw) bool) { yield(doc) }
	for out, err := range u.pipeline.Run(ctx, one) {
		if err != nil {
			return nil, err
		}
		if value.IsMissing(document.Lookup(out, "_id")) && !value.IsMissing(id) {
			b, start := document.Open(make([]byte, 0, len(out)+20))
			b = document.Append(b, "_id", id)
			for name, v := range document.Fields(out) {
				b = document.Append(b, name, v)
			}
			out = document.Close(b, start)
		}
		return out, nil
	}
	return doc, nil
}

// updateStages are the stages that a pipeline update may contain.
var updateStages = map[string]bool{
	"$set": true, "$addFields": true, "$unset": true, "$project": true, "$replaceWith": true, "$replaceRoot": true,
}

func compileUpdatePipeline(list []value.Value, o Options) (*pipeline.Pipeline, error) {
	if len(o.ArrayFilters) > 0 {
		return nil, servererr.FailedToParse("Cannot specify arrayFilters and a pipeline update")
	}
	var stages []bson.Raw
	for _, s := range list {
		if !value.IsObject(s) {
			return nil, servererr.TypeMismatch("Each element of the 'pipeline' array must be an object")
		}
		name, _, _ := document.FirstField(s.Value)
		if document.IsOperator(name) && !updateStages[name] {
			return nil, servererr.New(mongoerr.InvalidOptions, "%s is not allowed to be used within an update", name)
		}
		stages = append(stages, s.Value)
	}
	env := pipeline.Env{Variables: o.Let, Language: o.Language}
	if !o.Now.IsZero() {
		env.Now = func() time.Time { return o.Now }
	}
	return pipeline.Compile(stages, env)
}
