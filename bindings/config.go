package bindings

import (
	"context"
	"io"
	"io/fs"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/action"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Config holds the connection and the options of a Shell.
type Config struct {
	// Client is the client of the cluster; nil means no connection (--nodb).
	Client *mongo.Client
	// Address is the connection string without credentials.
	Address string
	// Database is the name of the initial database; "test" when empty.
	Database string
	// Deployment is the description of the cluster that the prompt shows in brackets, such as "mock:
	// mongos" or "direct: mongos".
	Deployment string
	// PromptMode is the mode that the prompt shows, such as "read-only"; empty for none.
	PromptMode string
	// SetName is the name of the replica set, which the prompt shows first.
	SetName string
	// ReadPreference is the initial read preference; nil means primary.
	ReadPreference *readpref.ReadPref

	// Routers are the addresses of the cluster's routers, if ClientOptions reach all of them, as in
	// the embedded mock. new Mongo() accepts these addresses.
	Routers []string

	// NoRetryWrites disables the retry of writes after a lost connection (retryWrites=false in the
	// connection string).
	NoRetryWrites bool

	Stdout, Stderr io.Writer
	// Stdin is the input that RunFile reads for the path "-".
	Stdin io.Reader

	// Clock is nil for the wall clock.
	Clock script.Clock

	// Color allows escape sequences in rendered values.
	Color bool
	// Terminal says that Stdout is a terminal. A REPL then shows tables, and shows the progress of long
	// waits in one line that is rewritten.
	Terminal bool
	// Columns returns the width of the terminal; nil without a terminal.
	Columns func() int
	// Interactive is true for a REPL: results are limited to a page and to a depth, and isInteractive()
	// returns true.
	Interactive bool
	// LimitDepth also limits a script's result to the depth in the setting inspectDepth
	// (--deepInspect=false).
	LimitDepth bool
	// ResultLimit is the maximum number of a cursor's documents in a script's result: 0 means a page,
	// as in a REPL, and a negative value means all.
	ResultLimit int
	// Compat makes helpers that differ between the old shell and mongosh behave like those of the old
	// shell (rules/04-objects §5.3).
	Compat bool

	// Args are the elements of process.argv after the script. Executable is the first element of
	// process.argv.
	Args       []string
	Executable string
	// Environment holds variables that process.env has in addition to those of the process, or with
	// other values.
	Environment map[string]string
	// MemoryLimit is the maximum heap size of the process in bytes; the running program is stopped
	// beyond it. 0 means a large part of the machine's memory.
	MemoryLimit uint64
	// OnStuck is called for a script that can't be stopped; see [script.Options].
	OnStuck func(cause error)
	// StuckTimeout is how long OnStuck waits; 0 means script.StuckTimeout.
	StuckTimeout time.Duration
	// Version is the result of version().
	Version string

	// OnSend is called before commands are sent that Guard and Confirm have allowed; nil allows all of
	// them.
	OnSend server.SendHook
	// Consent is the consent that helpers need before they move data.
	Consent action.Consent

	// Sandbox holds the permissions of scripts on this machine; nil allows everything.
	Sandbox *sandbox.Rules
	// Scripts are the scripts that load("shardsh:name") finds; nil for none.
	Scripts fs.FS
	// OnLoad is called with each file that is run, loaded or imported. It may be nil.
	OnLoad func(path string)
	// Cover observes which lines of programs run; see [script.Options].
	Cover func(lines []script.Line) (reached func(i int))

	// Guard checks every command before it is sent; nil allows all commands.
	Guard server.Guard
	// Confirm is called for each command that Guard has allowed; an error rejects the command. Nil
	// allows all commands.
	Confirm server.Confirm
	// ClientOptions are the options with which Client was opened. db.auth() uses them to connect again as
	// another user; nil disables that.
	ClientOptions *options.ClientOptions
	// Connect opens the connections of Mongo(), connect() and db.auth(); nil uses the driver.
	Connect func(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error)
	// ParseURI parses the connection strings of Mongo() and connect(); nil uses the driver.
	ParseURI func(ctx context.Context, uri string) (*options.ClientOptions, error)
}
