package rehearsal

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mock/wire"
)

// Way is a client that takes part in a rehearsal.
type Way struct {
	Client *mongo.Client
	// Plays reports whether a mock can stand in for the server: it is a router.
	Plays bool

	pipe   *wire.Pipe
	server *wire.Server
	served chan struct{}
}

// Connect makes a client for a program, which gets to the cluster behind another
// client, and to nothing else. Its settings are those of the program's connection
// without the way to the server; name is what the cluster is called.
func (r *Rehearsal) Connect(
	ctx context.Context, behind *mongo.Client, settings *options.ClientOptions, name string,
) (*Way, error) {
	from := &source{client: behind, name: name, cursors: map[int64]*mongo.Session{}}
	hello, err := from.greeting(ctx, "isMaster")
	if err != nil {
		return nil, err
	}
	from.sessions = !hello.Lookup("logicalSessionTimeoutMinutes").IsZero()
	msg, _ := hello.Lookup("msg").StringValueOK()
	w := &Way{Plays: msg == "isdbgrid", pipe: wire.NewPipe(), served: make(chan struct{})}
	w.server = &wire.Server{Handler: &handler{r: r, from: from, plays: w.Plays}}
	go func() {
		defer close(w.served)
		// Serve ends with an error when Close stops the server: nothing to say.
		_ = w.server.Serve(context.Background(), w.pipe)
	}()
	w.Client, err = mongo.Connect(inMemory(settings).SetDialer(w.pipe))
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// inMemory returns what settings say besides the way to a server.
func inMemory(settings *options.ClientOptions) *options.ClientOptions {
	o := options.Client().SetHosts([]string{"dry-run:27017"}).SetDirect(true).SetServerMonitoringMode("poll")
	if settings == nil {
		return o
	}
	o.AppName, o.Monitor = settings.AppName, settings.Monitor
	o.ReadConcern, o.ReadPreference, o.WriteConcern = settings.ReadConcern, settings.ReadPreference, settings.WriteConcern
	o.RetryReads, o.RetryWrites = settings.RetryReads, settings.RetryWrites
	return o
}

// Close ends the connection; the client behind it stays. The program's client is to
// be disconnected before.
func (w *Way) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.pipe.Close()
	_ = w.server.Shutdown(ctx)
	<-w.served
}
