package bindings_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
	"shardsh/bindings/shelltest"
)

// deafServer answers lists of names only when told to.
type deafServer struct {
	*shelltest.ScriptedServer
	answer chan struct{}
}

func (d *deafServer) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Command == "listCollections" {
		select {
		case <-d.answer:
		case <-ctx.Done():
		}
	}
	return d.ScriptedServer.Handle(ctx, r)
}

// A Tab does not wait for a server that does not answer, and a late answer is
// there for the next one.
func TestCompleteOnADeafServer(t *testing.T) {
	c := shelltest.Connect(t)
	server := &deafServer{ScriptedServer: c.ScriptedServer, answer: make(chan struct{})}
	c.Config.Client = shelltest.Dial(t, server)
	c.Renew(t)
	began := time.Now()
	if _, got := c.Complete("db.or"); len(got) > 0 {
		t.Errorf("offers %v", got)
	}
	if took := time.Since(began); took > 2*time.Second { // 0.25 on a machine that is not busy
		t.Errorf("took %s", took)
	}
	close(server.answer)
	c.Completer().Wait()
	if _, got := c.Complete("db.or"); !slices.Equal(got, []string{"orders"}) {
		t.Errorf("offers %v", got)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
