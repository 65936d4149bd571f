package live

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// disconnectTimeout limits the time in which the driver ends sessions and connections.
const disconnectTimeout = 300 * time.Millisecond

// Disconnect ends a client's sessions and connections within a short time. The driver waits for its
// monitors regardless of ctx, and a monitor may hang in a handshake for half a minute; in that case
// Disconnect returns without waiting for the driver.
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
