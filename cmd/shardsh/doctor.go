package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/live"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/built"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/doctor"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// doctorLine is the command line of "shardsh doctor".
type doctorLine struct {
	commandLine
	asJSON bool
}

func (o *doctorLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.asJSON, "json", false, "print it as JSON")
		f.Var(&o.timeout, "timeout", "`TIME` give up after 90, 30s, 5m")
		f.BoolVarP(&o.help, "help", "h", false, "print this help")
	})}
	return append(groups, o.server.Flags()...)
}

// examine is "shardsh doctor": can one work on this cluster from here.
func (env environment) examine(ctx context.Context) error {
	var o doctorLine
	groups := o.groups()
	words, err := env.parseWords(groups)
	switch {
	case err != nil:
		return err
	case o.help:
		return printDoctorHelp(env.stdout, groups)
	case len(words) > 1:
		return usagef("doctor takes one address, not also %q", secret.Redact(words[1]))
	case len(words) == 1:
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	if err := o.check(); err != nil {
		return err
	}
	bounded, cancel := o.bounded(ctx)
	defer cancel()
	lines, err := env.symptoms(bounded, o)
	if err != nil {
		return err
	}
	report := doctor.NewReport(lines)
	if o.asJSON {
		err = writeJSON(plaintext.NewJSONWriter(env.stdout), report)
	} else {
		_, err = io.WriteString(env.stdout, report.Text(env.color()))
	}
	if err == nil && report.Grade == doctor.Fail {
		return reportedError{errors.New("something is in the way")}
	}
	return err
}

// symptoms looks at this machine, then at the way to the cluster, then at the cluster.
// The error is that of a signal, or of a command line that makes no sense.
func (env environment) symptoms(ctx context.Context, o doctorLine) ([]doctor.Line, error) {
	lines := env.machine().Lines()
	if o.usesMock() {
		return env.mockSymptoms(ctx, o, lines)
	}
	c, err := o.server.ConnectionString()
	if err != nil {
		return nil, err
	}
	sources, err := env.way().Sources(o.server, c)
	if err != nil {
		return nil, err
	}
	lines = append(lines, doctor.Settings(decisions(sources))...)
	if err := env.way().FillPassword(ctx, o.server, c); err != nil {
		return nil, err
	}
	settings, err := env.way().Settings(ctx, o.server, c)
	if err != nil {
		return append(lines, noWay(err, "is the name right, and does this machine's name server know it?")), stopped(ctx)
	}
	hosts := doctor.Hosts{Names: settings.Hosts, TLS: settings.TLSConfig, Now: time.Now}.Lines(ctx)
	lines = append(lines, hosts...)
	if !slices.ContainsFunc(hosts, func(l doctor.Line) bool { return l.Grade != doctor.Fail }) {
		return append(lines, noWay(errors.New("not tried, as no host answers"), "see to the hosts first")), stopped(ctx)
	}
	client, greeting, err := target.Open(ctx, c, settings)
	if err != nil {
		return append(lines, noWay(err, "the hosts answer: is it a server of MongoDB, and does it want TLS?")), stopped(ctx)
	}
	defer target.Disconnect(client)
	seen := doctor.Cluster{Commands: live.NewCommandRunner(client), Kind: greeting.Kind(),
		Member: greeting.Member(ctx, client),
		Now:    time.Now}
	return append(lines, seen.Lines(ctx)...), stopped(ctx)
}

// stopped is the error of a signal. Time that is up is no reason to keep what was found
// out until then.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.As(cause, new(signalError)) {
		return cause
	}
	return nil
}

func (env environment) mockSymptoms(ctx context.Context, o doctorLine, lines []doctor.Line) ([]doctor.Line, error) {
	lines = append(lines, doctor.Settings([]doctor.Setting{
		{Name: "cluster", Value: "the embedded mock, as no address was given"},
	})...)
	conn, err := env.connectMock(o.commandLine, false)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	seen := doctor.Cluster{Commands: live.NewCommandRunner(conn.client), Mock: true, Kind: "mongos", Now: time.Now}
	return append(lines, seen.Lines(ctx)...), stopped(ctx)
}

// decisions grades what a connection string came to.
func decisions(sources []target.Source) (list []doctor.Setting) {
	for _, s := range sources {
		one := doctor.Setting{Name: s.Name, Value: s.Value, Source: s.From}
		insecure := s.Name == "tlsAllowInvalidCertificates" || s.Name == "tlsAllowInvalidHostnames" || s.Name == "tlsInsecure"
		switch {
		case insecure && s.Value == "true":
			one.Grade, one.Remedy = doctor.Warn, "give the authority with --tlsCAFile: anybody can pretend to be this server"
		case s.Name == "password" && s.From == "--password":
			one.Grade, one.Remedy = doctor.Warn, "--passwordFile, or "+target.PasswordVariable+
				" in the environment: for a moment ps shows what is on the command line"
		}
		list = append(list, one)
	}
	return list
}

// noWay says that there is no connection, and what may help.
func noWay(err error, remedy string) doctor.Line {
	const authenticationFailed = 18
	var refused target.ConnectionError
	var timeout timeoutError
	switch {
	case errors.As(err, &refused) && refused.Code == authenticationFailed:
		remedy = "check the user, the password and --authenticationDatabase; the server's log says which one is wrong"
	case errors.As(err, &timeout):
		remedy = "give it more time with --timeout"
	case errors.As(err, new(usageError)):
		remedy = "see shardsh doctor --help"
	}
	return doctor.Line{Section: "Cluster", Name: "connection", Grade: doctor.Fail,
		Text: secret.Redact(live.Plainly(err.Error())), Remedy: remedy}
}

// machine is what there is to know of this side.
func (env environment) machine() doctor.Machine {
	columns, rows := env.screen()
	home := homeDirectory()
	m := doctor.Machine{Version: built.This().Line(), Terminal: isTerminal(env.stdout), Columns: columns, Rows: rows,
		Getenv: env.getenv, Windows: runtime.GOOS == "windows"}
	m.Files = append(m.Files, fileAt("history", historyPath(env.getenv, home), false),
		fileAt("settings", settingsPath(env.getenv, home), false))
	for _, name := range []string{".shardshrc.js", ".mongoshrc.js"} {
		if path := filepath.Join(home, name); home != "" && isFile(path) {
			m.Files = append(m.Files, fileAt("rc file", path, true))
			break
		}
	}
	return m
}

func fileAt(name, path string, runs bool) doctor.File {
	f := doctor.File{Name: name, Path: path, Runs: runs}
	if path == "" {
		return f
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.Missing = true
	case err != nil:
		f.Err = err
	default:
		f.Mode = info.Mode()
	}
	return f
}

func printDoctorHelp(to io.Writer, groups []cmdline.Group) error {
	_, err := fmt.Fprintf(to, `Says whether you can work on a cluster from here: what would be connected to and
which option, variable or default says so, what each host answers, as whom you
are logged in and which of the roles of scripts/roles.js you have, what this
release offers, how far the server is and how its clock goes, which files are
read. Each line is ok, warn or fail, with what to do. Nothing is changed, and no
line has a password. Without an address it is about the embedded mock.

Usage:
  shardsh doctor [options] [address]

%s
Exit codes: 0 nothing is in the way; 1 something is; 2 wrong command line.

Examples:
  shardsh doctor
  shardsh doctor mongodb://host:27017 -u ops
  shardsh doctor mongodb+srv://cluster.example.com --json
`, cmdline.Usage(groups))
	return err
}
