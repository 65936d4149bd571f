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

// Sharding is what methods of databases and collections take from sh.
type Sharding interface {
	PrintStatus(d, config *server.Database, o sh.StatusOptions) goja.Value
	StatusArgument(c *script.Call, i int) sh.StatusOptions
	ReadSnapshot(d *server.Database, o live.ReaderOptions) *catalog.Snapshot
}

// ConnectSettings says how scripts open connections of their own.
type ConnectSettings struct {
	// Address is that of the shell's own connection, Routers are hosts that Settings
	// reach, too.
	Address  string
	Routers  []string
	Settings *options.ClientOptions
	Sandbox  *sandbox.Rules
	// Connect opens a connection; nil opens it by the driver. ClientOptions reads a
	// connection string; nil takes it as the driver does.
	Connect       func(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error)
	ClientOptions func(ctx context.Context, uri string) (*options.ClientOptions, error)
	// Interactive allows asking for a password.
	Interactive bool
}
