package bindings

import (
	"context"
	"io"
	"io/fs"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/action"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Config says what a Shell is connected to and where it writes.
type Config struct {
	// Client reaches the cluster; nil means no connection (--nodb).
	Client *mongo.Client
	// Address is the connection string as it may be shown, without credentials.
	Address string
	// Database is the name db starts with; "test" when empty.
	Database string
	// Deployment is what the prompt says of the cluster in brackets, such as
	// "mock: mongos" or "direct: mongos".
	Deployment string
	// Mode is what the prompt says of how commands are sent, such as "read-only";
	// empty for nothing.
	Mode string
	// SetName is the replica set's name, which the prompt puts first.
	SetName string
	// ReadPreference is used until a script sets another; nil means primary.
	ReadPreference *readpref.ReadPref

	// Routers are the addresses of the cluster's routers where Settings reach them all,
	// as in the embedded mock: new Mongo() takes them.
	Routers []string

	// NoRetryWrites keeps writes from being sent again after a lost connection
	// (retryWrites=false in the connection string).
	NoRetryWrites bool

	Stdout, Stderr io.Writer
	// Stdin is what RunFile reads for the path "-".
	Stdin io.Reader

	// Clock is nil for the wall clock.
	Clock script.Clock

	// Color allows escape sequences in rendered values.
	Color bool
	// Terminal says that Stdout is a terminal: a REPL then shows tables where
	// there are some, and long waits one line that is written again and again.
	Terminal bool
	// Columns returns the width of that terminal; nil where there is none.
	Columns func() int
	// Interactive is true for a REPL: results are cut to a page and to a depth
	// there, and isInteractive() says so.
	Interactive bool
	// LimitDepth cuts a script's result at config's inspectDepth, too
	// (--deepInspect=false).
	LimitDepth bool
	// ResultLimit is how many documents of a cursor a script's result shows: 0 is a page, as in
	// a shell, and below 0 all.
	ResultLimit int
	// Compat makes helpers that differ between the old shell and mongosh answer
	// like the old shell (rules/04-objects §5.3).
	Compat bool

	// Args is process.argv after the script; Executable comes first in it.
	Args       []string
	Executable string
	// Environment are variables that process.env has besides the process's, or with
	// other values.
	Environment map[string]string
	// MemoryLimit is how large the process's heap may grow, in bytes, before the
	// running program is stopped; 0 is a large part of the machine's memory.
	MemoryLimit uint64
	// OnStuck is called for a script that can't be stopped; see [script.Options].
	OnStuck func(cause error)
	// Version is what version() answers.
	Version string

	// OnSend lets commands be sent that Guard and Confirm have let pass; nil lets all.
	OnSend server.SendHook
	// Consent is what the helpers that move data need before they do.
	Consent action.Consent

	// Sandbox is what scripts may do on this machine; nil for everything.
	Sandbox *sandbox.Rules
	// Scripts are the scripts that load("shardsh:name") finds; nil for none.
	Scripts fs.FS
	// OnLoad is called with each file that is run, loaded or imported; may be nil.
	OnLoad func(path string)
	// Cover watches which lines of programs run; see [script.Options].
	Cover func(lines []script.Line) (reached func(i int))

	// Guard sees every command before it is sent; nil lets all pass.
	Guard server.Guard
	// Confirm is asked about each command that Guard lets pass; an error refuses it.
	// Nil allows all.
	Confirm server.Confirm
	// Settings are what Client was opened with, for db.auth() to connect again as
	// another user; nil refuses that.
	Settings *options.ClientOptions
	// Connect opens the connections of Mongo(), connect() and db.auth(); nil opens
	// them by the driver.
	Connect func(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error)
	// ClientOptions reads the connection strings of Mongo() and connect(); nil
	// takes them as the driver does.
	ClientOptions func(ctx context.Context, uri string) (*options.ClientOptions, error)
}

// Guard decides about commands; see [server.Guard].
type Guard = server.Guard
