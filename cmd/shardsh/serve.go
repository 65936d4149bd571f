package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/mock"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/mocks"
	"shardsh/cmd/shardsh/secret"
)

// serveLine is the command line of "shardsh serve".
type serveLine struct {
	port       int
	bind       []string
	shards     int
	topology   string
	described  bool // by shards or topology
	shardPorts bool
	routers    int
	dbpath     string
	snapshot   string

	auth    []string // user:file
	tlsCert string
	tlsKey  string

	mockTime string
	timed    bool // by --mock-time
	seed     uint64
	seeded   bool

	serverVersion cmdline.Release
	parameters    map[string]string

	maxConnections int
	memory         cmdline.Size
	idleCursors    time.Duration
	grace          time.Duration
	untilEOF       bool

	logLevel string
	logJSON  bool
	help     bool
}

func serveFlags(o *serveLine) *pflag.FlagSet {
	flags := pflag.NewFlagSet("shardsh serve", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.port, "port", 27017, "`PORT` listen here (27017); 0 is any that is free")
	flags.StringSliceVar(&o.bind, "bind", []string{"127.0.0.1"},
		"`ADDRESS,…` listen on these (127.0.0.1); repeat to add")
	flags.IntVar(&o.shards, "shards", 3, "`N` so many empty shards (3)")
	flags.StringVar(&o.topology, "topology", "", "`FILE` a topology that describes the cluster instead")
	flags.StringVar(&o.dbpath, "dbpath", "", "`DIR` keep the cluster here, and go on with the one that is there")
	flags.StringVar(&o.snapshot, "snapshot", "",
		"`FILE` play the cluster in it, made by shardsh snapshot, or go on with that of mock.save()")
	flags.BoolVar(&o.shardPorts, "shard-ports", false,
		"let each shard and the config server listen, too, on the ports that follow")
	flags.IntVar(&o.routers, "routers", 0,
		"`N` so many routers (1, or what the topology says), each on a port of its own after the first and with its own "+
			"knowledge of where chunks lie")
	flags.StringArrayVar(&o.auth, "auth", nil,
		"`USER:FILE` a user and the file with the password and, unless it is root, roles; repeat to add. Clients must "+
			"authenticate then")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "`FILE` the certificate, as PEM: clients must use TLS then")
	flags.StringVar(&o.tlsKey, "tls-key", "", "`FILE` the certificate's key, as PEM, where it is another one")
	flags.StringVar(&o.mockTime, "mock-time", "real",
		"`real|virtual|60x` time as it is (real); standing still but for the commands, with a jump when one waits; or at "+
			"a pace")
	flags.Var(&o.serverVersion, "server-version",
		"`VERSION` release to behave like: 2.4, 3.4, 3.6, 4.0, 4.2, 4.4, 5.0, 6.0, 7.0, 8.0 (default), 8.1, 8.2 or 8.3")
	flags.Uint64Var(&o.seed, "seed", 0, "`N` seed of the mock; with one, virtual time begins on 2026-01-01")
	flags.StringToStringVar(&o.parameters, "set-parameter", nil,
		"`NAME=VALUE` a server parameter of the mock; repeat to add")
	flags.IntVar(&o.maxConnections, "max-connections", 1000,
		"`N` so many connections may be open at once on a port (1000)")
	flags.Var(&o.memory, "memory", "`SIZE` what all commands together may keep in memory, such as 512MiB (1GiB); "+
		"beyond it the largest is refused. 0 has no limit")
	flags.DurationVar(&o.idleCursors, "idle-cursor-timeout", 10*time.Minute,
		"`TIME` close cursors that nobody reads for so long (10m)")
	flags.DurationVar(&o.grace, "grace", 5*time.Second, "`TIME` what commands have left when the server is to stop (5s)")
	flags.BoolVar(&o.untilEOF, "until-eof", false, "stop when standard input ends, as it does with who started this")
	flags.StringVar(&o.logLevel, "log-level", "info", "`debug|info|warn|error` what is logged (info)")
	flags.BoolVar(&o.logJSON, "log-json", false, "log JSON lines")
	flags.BoolVarP(&o.help, "help", "h", false, "print this help")
	return flags
}

// serve is "shardsh serve": the mock cluster behind a port, until a signal
// comes.
func (env environment) serve(ctx context.Context) error {
	var o serveLine
	flags := serveFlags(&o)
	if err := flags.Parse(env.args); err != nil {
		return usageError{Err: err}
	}
	if o.help {
		return printServeHelp(env.stdout, o.groups())
	}
	o.seeded, o.timed = flags.Changed("seed"), flags.Changed("mock-time")
	o.described = flags.Changed("shards") || o.topology != ""
	if flags.NArg() > 0 {
		return usagef("serve takes no address: %q. Say where to listen with --bind and --port", secret.Redact(flags.Arg(0)))
	}
	if flags.Changed("shards") && o.topology != "" {
		return usagef("--shards and --topology exclude each other")
	}
	if err := o.check(); err != nil {
		return err
	}
	logger := o.logger(env.stderr)
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
			_, _ = io.Copy(io.Discard, env.stdin) // an end by an error is one, too
			atEnd(errors.New("standard input has ended"))
		}()
	}
	if _, err = fmt.Fprintln(env.stdout, c.uris()); err == nil {
		err = c.serve(ctx)
	}
	c.close()
	if failed := c.cluster.DiskError(); failed != nil {
		return unwrittenError{fmt.Errorf("not all of the cluster is on disk: %w", errors.Join(failed, err))}
	}
	return err
}

// check finds what is wrong on the command line alone.
func (o serveLine) check() error {
	switch {
	case o.port < 0 || o.port > 65535:
		return usagef("--port takes 0 to 65535, not %d", o.port)
	case o.shards < 1 || o.shards > 1000:
		return usagef("--shards takes 1 to 1000, not %d", o.shards)
	case o.routers < 0 || o.routers > mock.MostRouters:
		return usagef("--routers takes 1 to %d, not %d", mock.MostRouters, o.routers)
	case o.mockTime == "":
		return usagef("--mock-time takes real, virtual, or a pace such as 60x")
	case o.maxConnections < 1:
		return usagef("--max-connections takes a number above 0, not %d", o.maxConnections)
	case o.idleCursors <= 0:
		return usagef("--idle-cursor-timeout takes a time above 0 such as 10m, not %v", o.idleCursors)
	case o.grace < 0:
		return usagef("--grace takes a time such as 5s, not %v", o.grace)
	case o.snapshot != "" && o.described:
		return usagef("--snapshot excludes --shards and --topology: it has shards of its own")
	case o.tlsKey != "" && o.tlsCert == "":
		return usagef("--tls-key needs --tls-cert")
	case len(o.bind) == 0:
		return usagef("--bind takes an address to listen on, such as 127.0.0.1")
	}
	if _, err := mocks.Pace(o.mockTime); err != nil {
		return err
	}
	if _, err := o.level(); err != nil {
		return err
	}
	for _, host := range o.bind {
		if host == "" {
			return usagef("--bind takes addresses; one of them is empty")
		}
		if _, _, err := net.SplitHostPort(host); err == nil {
			return usagef("--bind takes an address without a port, not %q: use --port", host)
		}
		if !loopback(host) && len(o.auth) == 0 {
			return usagef("%s can be reached from other machines and nobody would have to authenticate: give users with "+
				"--auth user:file, or leave --bind out to serve this machine only", host)
		}
	}
	return nil
}

// loopback reports whether an address can be reached from this machine only.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (o serveLine) level() (slog.Level, error) {
	var level slog.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, o.logLevel) {
		return level, usagef("--log-level takes debug, info, warn or error, not %q", o.logLevel)
	}
	return level, level.UnmarshalText([]byte(o.logLevel))
}

func (o serveLine) logger(w io.Writer) *slog.Logger {
	level, _ := o.level() // check has looked at it
	options := &slog.HandlerOptions{Level: level}
	if o.logJSON {
		return slog.New(slog.NewJSONHandler(plaintext.NewJSONWriter(w), options))
	}
	return slog.New(slog.NewTextHandler(plaintext.NewWriter(w), options))
}

// groups returns the options as a section, for those that list them.
func (o *serveLine) groups() []cmdline.Group {
	return []cmdline.Group{{Title: "Options", Flags: serveFlags(o)}}
}

func printServeHelp(to io.Writer, groups []cmdline.Group) error {
	_, err := fmt.Fprintf(to, `Serves a mock cluster on a port, for drivers, mongosh and other tools. Prints
one line, the connection string, for each router when it is ready, and logs to
stderr.

Usage:
  shardsh serve [options]

%s
Without --dbpath nothing is stored: when the server ends, so does the cluster.
SIGINT and SIGTERM stop it: commands may finish, and the exit code is 0. Others:
1 it can't listen, or the dbpath is damaged or could not be written; 2 wrong
command line.
`, cmdline.Usage(groups))
	return err
}

// listenError makes an error of the network one that says what to do.
func listenError(address string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("can't listen on %s: %w. --port takes another port, 0 any that is free", address, err)
}
