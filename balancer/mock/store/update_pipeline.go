package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
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
