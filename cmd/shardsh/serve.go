package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// serveFlags are the flags of "shardsh serve".
type serveFlags struct {
	mockFlags
	oldMock [2]string // --shards and --topology, the old names of --mock

	port           int
	bind           []string
	shardPorts     bool
	maxConnections int
	idleCursors    time.Duration
	grace          time.Duration
	untilEOF       bool

	auth    []string // user:file
	tlsCert string
	tlsKey  string

	logLevel string
	logJSON  bool
}

func (o *serveFlags) groups() []cmdline.Group {
	return []cmdline.Group{
		cmdline.NewGroup("Server", func(f *pflag.FlagSet) {
			f.IntVar(&o.port, "port", 27017, "`PORT` listen on this port (27017); 0 is any free one")
			f.StringSliceVar(&o.bind, "bind", []string{"127.0.0.1"}, "`ADDRESS,…` listen on these (127.0.0.1); repeat to add")
			f.BoolVar(&o.shardPorts, "shard-ports", false, "shards and the config server listen on the next ports")
			f.StringArrayVar(&o.auth, "auth", nil,
				"`USER:FILE` require a login: a user, and a file with password and roles")
			f.StringVar(&o.tlsCert, "tls-cert", "", "`FILE` require TLS: the certificate, as PEM")
			f.StringVar(&o.tlsKey, "tls-key", "", "`FILE` its private key, as PEM, if it is in another file")
			f.IntVar(&o.maxConnections, "max-connections", 1000, "`N` limit of open connections on a port (1000)")
			f.DurationVar(&o.idleCursors, "idle-cursor-timeout", 10*time.Minute,
				"`TIME` close idle cursors after this time (10m)")
			f.DurationVar(&o.grace, "grace", 5*time.Second, "`TIME` how long commands may run on when the server stops (5s)")
			f.BoolVar(&o.untilEOF, "until-eof", false, "stop when the parent closes stdin")
			f.StringVar(&o.logLevel, "log-level", "info", "`debug|info|warn|error` what to log (info)")
			f.BoolVar(&o.logJSON, "log-json", false, "log JSON lines")
		}),
		cmdline.NewGroup("Mock cluster", func(f *pflag.FlagSet) {
			o.addMockFlag(f)
			for i, old := range []string{"shards", "topology"} {
				f.StringVar(&o.oldMock[i], old, "", "")
				f.Lookup(old).Hidden = true
			}
			o.addSnapshotFlag(f)
			o.addMockTimeFlag(f)
			o.addShellOnlyFlags(f)
		}),
	}
}

func (o *serveFlags) parseArgs(_ environment, words []string) error {
	if len(words) > 0 {
		return usagef("serve takes no address: %q. Use --bind and --port", secret.Redact(words[0]))
	}
	for _, old := range o.oldMock {
		if old != "" && o.mock != "" {
			return usagef("--mock, --shards and --topology exclude each other")
		}
		o.mock = cmp.Or(o.mock, old)
	}
	return o.check()
}

// run implements "shardsh serve": it serves the mock cluster on ports until a signal arrives.
func (o *serveFlags) run(ctx context.Context, env environment) error {
	logger := o.newLogger(env.stderr)
	c, err := o.open(ctx, logger)
	if err != nil {
		return err
	}
	c.announce()
	if o.untilEOF {
		var atEnd context.CancelCauseFunc
		ctx, atEnd = context.WithCancelCause(ctx)
		defer atEnd(nil)
		go func() {
			_, _ = io.Copy(io.Discard, env.stdin) // an error also ends the input
			atEnd(errors.New("standard input has ended"))
		}()
	}
	if _, err = fmt.Fprintln(env.stdout, c.uris()); err == nil {
		err = c.serve(ctx)
	}
	c.close()
	if failed := c.cluster.Storage().Err(); failed != nil {
		return unsavedError{fmt.Errorf("not all of the cluster is on disk: %w", errors.Join(failed, err))}
	}
	return err
}

// check validates the command line.
func (o *serveFlags) check() error {
	switch {
	case o.port < 0 || o.port > 65535:
		return usagef("--port takes 0 to 65535, not %d", o.port)
	case o.maxConnections < 1:
		return usagef("--max-connections takes a number above 0, not %d", o.maxConnections)
	case o.idleCursors <= 0:
		return usagef("--idle-cursor-timeout takes a time above 0 such as 10m, not %v", o.idleCursors)
	case o.grace < 0:
		return usagef("--grace takes a time such as 5s, not %v", o.grace)
	case o.tlsKey != "" && o.tlsCert == "":
		return usagef("--tls-key needs --tls-cert")
	case len(o.bind) == 0:
		return usagef("--bind takes an address to listen on, such as 127.0.0.1")
	}
	if err := o.mockFlags.check(); err != nil {
		return err
	}
	if _, err := o.parseLogLevel(); err != nil {
		return err
	}
	for _, host := range o.bind {
		if host == "" {
			return usagef("--bind takes addresses; one of them is empty")
		}
		if _, _, err := net.SplitHostPort(host); err == nil {
			return usagef("--bind takes an address without a port, not %q: use --port", host)
		}
		if !isLoopback(host) && len(o.auth) == 0 {
			return usagef("%s can be reached from other machines and clients would not have to authenticate: add users with "+
				"--auth user:file, or omit --bind to serve this machine only", host)
		}
	}
	return nil
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (o *serveFlags) parseLogLevel() (slog.Level, error) {
	var level slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, o.logLevel) {
		return level, usagef("--log-level takes debug, info, warn or error, not %q", o.logLevel)
	}
	return level, level.UnmarshalText([]byte(o.logLevel))
}

func (o *serveFlags) newLogger(w io.Writer) *slog.Logger {
	level, _ := o.parseLogLevel() // check has validated it
	options := &slog.HandlerOptions{Level: level}
	if o.logJSON {
		return slog.New(slog.NewJSONHandler(plaintext.NewJSONWriter(w), options))
	}
	return slog.New(slog.NewTextHandler(plaintext.NewWriter(w), options))
}

func serveText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Serves a mock cluster on a port, for drivers, mongosh and other tools. Prints one
line, the connection string, for each mongos when it is ready, and logs to stderr.`,
		Usage: []string{"shardsh serve [options]"},
		Examples: []string{
			"shardsh serve --mock=5 --port 27018",
			"shardsh serve --mock topology.json --dbpath /var/lib/mock --auth root:password.txt",
		},
		More: `Without --dbpath nothing is stored: when the server ends, so does the cluster. A
file of --auth has the password in its first line and roles in the next ones, else
the user is root. Each mongos of --routers listens on a port of its own, and has its
own routing table. --memory refuses the largest command when the limit is reached.

SIGINT and SIGTERM stop it: commands may finish, and the exit code is 0. Others:
1 it can't listen, or the dbpath is damaged or could not be written; 2 wrong
command line.`,
	}
}

// listenError converts a network error to one that names the remedy.
func listenError(address string, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return fmt.Errorf("can't listen on %s: %w. --port takes another port, 0 any that is free", address, err)
}
