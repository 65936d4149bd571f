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
func (cs *connections) Add(client *mongo.Client, m *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		_ = live.Disconnect(context.Background(), client)
		return
	}
	if cs.ByClient == nil {
		cs.ByClient = make(map[*mongo.Client]*Conn)
	}
	cs.ByClient[client] = m
}

// All returns the open connections.
func (cs *connections) All() iter.Seq[*Conn] {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(cs.ByClient)))
}

// Disconnect closes one client.
func (cs *connections) Disconnect(ctx context.Context, client *mongo.Client) error {
	cs.mu.Lock()
	delete(cs.ByClient, client)
	cs.mu.Unlock()
	if err := live.Disconnect(ctx, client); !errors.Is(err, mongo.ErrClientDisconnected) {
		return err
	}
	return nil
}

// Close closes all clients, and those added later.
func (cs *connections) Close(ctx context.Context) error {
	cs.mu.Lock()
	clients := slices.Collect(maps.Keys(cs.ByClient))
	cs.closed = true
	cs.mu.Unlock()
	var errs []error
	for _, client := range clients {
		errs = append(errs, cs.Disconnect(ctx, client))
	}
	return errors.Join(errs...)
}
