package line

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/xoptions"
)

// Connect is mongo.Connect. The settings stay as they are.
func Connect(settings *options.ClientOptions) (*mongo.Client, error) {
	if !suits(settings) {
		return mongo.Connect(settings)
	}
	o := *settings
	d := newDialer(o.Dialer)
	o.Dialer = d
	if servers, err := newTopology(&o); err == nil { // the driver tells of an error itself
		if err := xoptions.SetInternalClientOptions(&o, "deployment", &deployment{servers, d}); err != nil {
			return nil, err
		}
	}
	return mongo.Connect(&o)
}

// suits reports whether there is something to be gained, and nothing to be lost: a
// login by tokens is renewed by who has made it.
func suits(o *options.ClientOptions) bool {
	return o.TLSConfig == nil && o.AutoEncryptionOptions == nil &&
		(o.Auth == nil || o.Auth.AuthMechanism != auth.MongoDBOIDC)
}

// driversPoolSize is what the driver takes where no size is set.
const driversPoolSize = 100

// newTopology makes what a client makes for itself.
func newTopology(o *options.ClientOptions) (*topology.Topology, error) {
	if o.MaxPoolSize == nil {
		o.SetMaxPoolSize(driversPoolSize)
	}
	var login driver.Authenticator
	if o.Auth != nil {
		var err error
		login, err = auth.CreateAuthenticator(o.Auth.AuthMechanism, topology.ConvertCreds(o.Auth), o.HTTPClient)
		if err != nil {
			return nil, err
		}
	}
	var info atomic.Pointer[options.DriverInfo]
	info.Store(o.DriverInfo)
	// No clock: clients take the cluster's time from replies to commands, not from greetings.
	cfg, err := topology.NewAuthenticatorConfig(login, topology.WithAuthConfigClientOptions(o),
		topology.WithAuthConfigDriverInfo(&info))
	if err != nil {
		return nil, err
	}
	return topology.New(cfg)
}

// deployment is the driver's, with connections of ours.
type deployment struct {
	*topology.Topology
	dialer *dialer
}

// SelectServer returns a server that a command suits.
func (d *deployment) SelectServer(ctx context.Context, s description.ServerSelector) (driver.Server, error) {
	selected, err := d.Topology.SelectServer(ctx, s)
	if its, ok := selected.(*topology.SelectedServer); ok {
		return &server{its, d.dialer}, err
	}
	return selected, err
}

type server struct {
	*topology.SelectedServer
	dialer *dialer
}

// Connection returns one that nobody else uses until it is closed.
func (s *server) Connection(ctx context.Context) (*mnet.Connection, error) {
	conn, err := s.SelectedServer.Connection(ctx)
	if err != nil {
		return nil, err
	}
	if its, ok := conn.ReadWriteCloser.(*topology.Connection); ok {
		if nc := s.dialer.dialled(its.LocalAddress()); nc != nil {
			conn.ReadWriteCloser = &line{its, nc}
		}
	}
	return conn, nil
}

// line is a connection of the driver that reads and writes what is plain by itself.
type line struct {
	*topology.Connection
	nc *conn
}

// Write sends a message.
func (l *line) Write(ctx context.Context, message []byte) error {
	if l.Alive() && l.nc.send(ctx, message) {
		return nil
	}
	return l.Connection.Write(ctx, message)
}

// Read waits for a message.
func (l *line) Read(ctx context.Context) ([]byte, error) {
	if l.Alive() {
		if message := l.nc.receive(ctx); message != nil {
			return message, nil
		}
	}
	return l.Connection.Read(ctx)
}
