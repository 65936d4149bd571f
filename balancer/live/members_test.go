package live_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// Members that can't be reached are told of, with what to do.
func TestMembersThatCantBeReached(t *testing.T) {
	commands := onMock(t, catalog.Release80, `{"shards": [{"id": "shard0"}]}`) // which listens nowhere
	m := live.NewMemberReader(commands, options.Client(), []pace.Quantity{pace.Lag})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := m.Check(ctx)
	var e *live.MembersError
	if !errors.As(err, &e) || e.Shard != "shard0" ||
		!strings.Contains(err.Error(), "cannot be reached; allow connections to them from this host") {
		t.Errorf("got %v", err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
