package pipeline

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

// The limit of $densify is for the documents that it generates, not for those of other partitions.
func TestDensifyLimit(t *testing.T) {
	s := &densifyStage{field: []string{"k"}, step: value.Int32(1)}
	part := []bson.Raw{storetest.Raw(t, `{"k": 1}`), storetest.Raw(t, `{"k": 3}`)}
	bounds := []value.Value{value.Int32(1), value.Int32(3)}
	out := densified{docs: make([]bson.Raw, maxDensified+10), memory: &quota.Memory{}}
	if err := s.fill(&out, part, bounds); err != nil || len(out.docs) != maxDensified+13 {
		t.Errorf("%d documents, %v", len(out.docs), err)
	}
	out.generated = maxDensified
	if err := s.fill(&out, part, bounds); storetest.CodeOf(err) != 5897900 {
		t.Errorf("%v", err)
	}
}
