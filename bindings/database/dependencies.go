package database

import (
	"context"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/sh"
)

// Sharding is the part of sh that methods of databases and collections use.
type Sharding interface {
	PrintStatus(d, config *server.Database, o sh.StatusOptions) goja.Value
	StatusArgument(c *script.Call, i int) sh.StatusOptions
	ReadSnapshot(d *server.Database, o live.ReaderOptions) *catalog.Snapshot
}

// ConnectSettings holds the options of connections that scripts open.
type ConnectSettings struct {
	// Address is the address of the shell's own connection. Routers are hosts that ClientOptions also reach.
	Address       string
	Routers       []string
	ClientOptions *options.ClientOptions
	Sandbox       *sandbox.Rules
	// Connect opens a connection, and ParseURI parses a connection string; nil uses the driver.
	Connect  func(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error)
	ParseURI func(ctx context.Context, uri string) (*options.ClientOptions, error)
	// Interactive allows the shell to ask for a password.
	Interactive bool
}
