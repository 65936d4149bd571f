package call_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
)

// The reply to a getMore of many small documents stays below what drivers take:
// 16 MiB and 16 KiB.
func TestBatchOfSmallDocumentsFits(t *testing.T) {
	doc, err := document.Encode(bson.D{{Key: "_id", Value: int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	c := &call.Cursor{Buffered: make([]bson.Raw, 1_500_000)}
	for i := range c.Buffered {
		c.Buffered[i] = doc
	}
	reply, err := document.Encode(bson.D{{Key: "nextBatch", Value: c.TakeBuffered(-1)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply) > call.BatchBytes+1<<10 || len(reply) < call.BatchBytes/2 {
		t.Errorf("a reply of %d bytes", len(reply))
	}
}
