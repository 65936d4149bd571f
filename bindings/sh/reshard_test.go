package sh

import (
	"testing"

	"shardsh/bindings/rawdoc"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestReshardText(t *testing.T) {
	op := func(fields ...bson.E) bson.Raw { return rawdoc.Of(fields) }
	text, a := reshardText("app.x", []bson.Raw{
		op(bson.E{Key: "coordinatorState", Value: "cloning"}, bson.E{Key: "remainingOperationTimeEstimatedSecs", Value: int64(90)}),
		op(bson.E{Key: "recipientState", Value: "cloning"}, bson.E{Key: "bytesCopied", Value: int64(100)}, bson.E{Key: "approxBytesToCopy", Value: int64(400)}),
		op(bson.E{Key: "recipientState", Value: "cloning"}, bson.E{Key: "bytesCopied", Value: int64(50)}, bson.E{Key: "approxBytesToCopy", Value: int64(400)}),
	})
	if text != "resharding app.x (cloning), servers expect 1m30s more" || a.Done != 150 || a.Left != 650 {
		t.Error(text, a)
	}
}
