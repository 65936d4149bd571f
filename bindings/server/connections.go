package server

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/live"
)

// connections holds the clients that scripts opened. They can be closed while an abandoned script still
// opens more. The zero value is empty.
type connections struct {
	mu       sync.Mutex
	ByClient map[*mongo.Client]*Conn
	closed   bool
}

// Add takes ownership of a client. After Close, it disconnects the client at once.
func (c *connections) Add(client *mongo.Client, m *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = live.Disconnect(context.Background(), client)
		return
	}
	if c.ByClient == nil {
		c.ByClient = make(map[*mongo.Client]*Conn)
	}
	c.ByClient[client] = m
}

// All returns the open connections.
func (c *connections) All() iter.Seq[*Conn] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(c.ByClient)))
}

// Disconnect closes one client.
func (c *connections) Disconnect(ctx context.Context, client *mongo.Client) error {
	c.mu.Lock()
	delete(c.ByClient, client)
	c.mu.Unlock()
	if err := live.Disconnect(ctx, client); !errors.Is(err, mongo.ErrClientDisconnected) {
		return err
	}
	return nil
}

// Close closes all clients, and those added later.
func (c *connections) Close(ctx context.Context) error {
	c.mu.Lock()
	clients := slices.Collect(maps.Keys(c.ByClient))
	c.closed = true
	c.mu.Unlock()
	var errs []error
	for _, client := range clients {
		errs = append(errs, c.Disconnect(ctx, client))
	}
	return errors.Join(errs...)
}
