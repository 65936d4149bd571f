package live

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// disconnectTimeout limits how long the driver may take to end sessions and connections.
const disconnectTimeout = 300 * time.Millisecond

// Disconnect ends a client's sessions and connections, within a short time. The driver waits
// for its monitors whatever ctx says, and one may hang in a handshake for half a minute: it
// is abandoned.
func Disconnect(ctx context.Context, client *mongo.Client) error {
	timer := time.NewTimer(disconnectTimeout)
	defer timer.Stop()
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, disconnectTimeout)
		defer cancel()
		done <- client.Disconnect(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return nil
	}
}
