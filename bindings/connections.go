package bindings

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// connections are the clients that scripts opened. They can be closed while a
// script that nobody waits for still opens more. The zero value is empty.
type connections struct {
	mu     sync.Mutex
	of     map[*mongo.Client]*Conn
	closed bool
}

// add takes a client over. One that comes too late is closed again.
func (cs *connections) add(client *mongo.Client, m *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		_ = client.Disconnect(context.Background())
		return
	}
	if cs.of == nil {
		cs.of = make(map[*mongo.Client]*Conn)
	}
	cs.of[client] = m
}

// all are the connections that are open.
func (cs *connections) all() iter.Seq[*Conn] {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(cs.of)))
}

// disconnect closes one client.
func (cs *connections) disconnect(ctx context.Context, client *mongo.Client) error {
	cs.mu.Lock()
	delete(cs.of, client)
	cs.mu.Unlock()
	if err := client.Disconnect(ctx); !errors.Is(err, mongo.ErrClientDisconnected) {
		return err
	}
	return nil
}

// close closes all clients, and those to come.
func (cs *connections) close(ctx context.Context) error {
	cs.mu.Lock()
	clients := slices.Collect(maps.Keys(cs.of))
	cs.closed = true
	cs.mu.Unlock()
	var errs []error
	for _, client := range clients {
		errs = append(errs, cs.disconnect(ctx, client))
	}
	return errors.Join(errs...)
}
