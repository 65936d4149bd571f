package wire_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// A handler may drop its client in place of an answer; others stay.
func TestHandlerDropsItsClient(t *testing.T) {
	h := new(toy).on("vanish", func(_ context.Context, r wire.Request) bson.D {
		r.Client.Drop()
		return bson.D{{Key: "ok", Value: 1.0}}
	})
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: h}, pipe)
	one, other := dial(t, pipe), dial(t, pipe)
	one.send(msg(t, 0, command("vanish")))
	one.expectClosed()
	other.expectPing()
}
