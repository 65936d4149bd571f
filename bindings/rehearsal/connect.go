package rehearsal

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/wire"
)

// Connection connects a program's client to a rehearsal.
type Connection struct {
	Client *mongo.Client
	// IsRouter says that the server is a router, so that a mock can replace it.
	IsRouter bool

	pipe   *wire.Pipe
	server *wire.Server
	served chan struct{}
}

// Connect returns a client for a program. The client reaches the cluster only through the rehearsal,
// which uses another client. Its settings are those of the program's connection without the addresses;
// name is the name of the cluster in messages.
func (r *Rehearsal) Connect(
	ctx context.Context, behind *mongo.Client, settings *options.ClientOptions, name string,
) (*Connection, error) {
	from := &source{client: behind, name: name, cursors: map[int64]*mongo.Session{}}
	hello, err := from.runAdminCommand(ctx, "isMaster")
	if err != nil {
		return nil, err
	}
	from.hasSessions = !hello.Lookup("logicalSessionTimeoutMinutes").IsZero()
	msg, _ := hello.Lookup("msg").StringValueOK()
	w := &Connection{IsRouter: msg == "isdbgrid", pipe: wire.NewPipe(), served: make(chan struct{})}
	w.server = &wire.Server{Handler: &handler{r: r, source: from, isRouter: w.IsRouter}}
	go func() {
		defer close(w.served)
		// Serve returns an error when Close stops the server; it can be ignored.
		_ = w.server.Serve(context.Background(), w.pipe)
	}()
	w.Client, err = mongo.Connect(inMemoryOptions(settings).SetDialer(w.pipe))
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// inMemoryOptions returns the settings for an in-memory connection: those that are not about addresses.
func inMemoryOptions(settings *options.ClientOptions) *options.ClientOptions {
	o := options.Client().SetHosts([]string{"dry-run:27017"}).SetDirect(true).SetServerMonitoringMode("poll")
	if settings == nil {
		return o
	}
	o.AppName, o.Monitor = settings.AppName, settings.Monitor
	o.ReadConcern, o.ReadPreference, o.WriteConcern = settings.ReadConcern, settings.ReadPreference, settings.WriteConcern
	o.RetryReads, o.RetryWrites = settings.RetryReads, settings.RetryWrites
	return o
}

// Close ends the connection but not the underlying client. The program's client has to be disconnected
// first.
func (c *Connection) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.pipe.Close()
	_ = c.server.Shutdown(ctx)
	<-c.served
}
