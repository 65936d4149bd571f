package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/advisory"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/doctor"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// doctorFlags are the flags of "shardsh doctor".
type doctorFlags struct {
	clusterFlags
	common         commonFlags
	asJSON         bool
	advisoriesFile string // adds or mutes known server faults

	advisories advisory.List
}

func (o *doctorFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.asJSON, "json", false, "print the report as JSON")
		addAdvisoriesFlag(f, &o.advisoriesFile)
		o.common.addTimeoutFlag(f)
	})}
	return append(groups, o.server.Flags()...)
}

func (o *doctorFlags) parseArgs(env environment, words []string) (err error) {
	if err := o.takeOnlyAddress(env, words, ""); err != nil {
		return err
	}
	if o.advisories, err = action.LoadAdvisories(o.advisoriesFile); err != nil {
		return optionsUsageError(err)
	}
	return o.clusterFlags.check()
}

// run implements "shardsh doctor": it checks whether the user can work on this cluster from this
// machine.
func (o *doctorFlags) run(ctx context.Context, env environment) error {
	bounded, cancel := o.common.withTimeout(ctx)
	defer cancel()
	lines, err := o.diagnose(bounded, env)
	if err != nil {
		return err
	}
	report := doctor.NewReport(lines)
	if o.asJSON {
		err = writeJSON(env.jsonOut(), report)
	} else {
		_, err = io.WriteString(env.stdout, report.Text(env.usesColor()))
	}
	if err == nil && report.Grade == doctor.Fail {
		return reportedError{errors.New("a check failed")}
	}
	return err
}

// diagnose checks this machine, then the connection to the cluster, then the cluster. The error is that
// of a signal, or of an invalid command line.
func (o *doctorFlags) diagnose(ctx context.Context, env environment) ([]doctor.Line, error) {
	lines := describeMachine(env).Check()
	if o.usesMock() {
		return o.diagnoseMock(ctx, env, lines)
	}
	c, err := o.server.ConnectionString()
	if err != nil {
		return nil, err
	}
	sources, err := newDialer(env).SettingOrigins(o.server, c)
	if err != nil {
		return nil, err
	}
	lines = append(lines, doctor.SettingLines(gradeSettings(sources))...)
	if err := newDialer(env).FillPassword(ctx, o.server, c); err != nil {
		return nil, err
	}
	settings, err := newDialer(env).Settings(ctx, o.server, c)
	if err != nil {
		return append(lines, connectionFailureLine(err, "check the name, and whether DNS on this machine resolves it")),
			signalCause(ctx)
	}
	hosts := doctor.Hosts{Names: settings.Hosts, TLS: settings.TLSConfig, Now: time.Now}.Check(ctx)
	lines = append(lines, hosts...)
	if !slices.ContainsFunc(hosts, func(l doctor.Line) bool { return l.Grade != doctor.Fail }) {
		return append(lines, connectionFailureLine(errors.New("not tried: no host answers"), "make a host reachable first")),
			signalCause(ctx)
	}
	client, greeting, err := target.Connect(ctx, c, settings)
	if err != nil {
		remedy := "the hosts answer: check that they are MongoDB servers, and whether they need --tls"
		return append(lines, connectionFailureLine(err, remedy)), signalCause(ctx)
	}
	defer target.Disconnect(client)
	seen := doctor.Cluster{Commands: live.NewCommandRunner(client), ClientOptions: settings, Kind: greeting.Kind(),
		Member: greeting.DescribeMember(ctx, client),
		Now:    time.Now, Advisories: o.advisories}
	return append(lines, seen.Check(ctx)...), signalCause(ctx)
}

// signalCause returns the error of a signal, if any. It ignores a timeout, so that the lines found
// until then are printed.
func signalCause(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.As(cause, new(signalError)) {
		return cause
	}
	return nil
}

func (o *doctorFlags) diagnoseMock(ctx context.Context, env environment, lines []doctor.Line) ([]doctor.Line, error) {
	lines = append(lines, doctor.SettingLines([]doctor.Setting{
		{Name: "cluster", Value: "the embedded mock, as no address was given"},
	})...)
	conn, err := connectMock(env, &o.clusterFlags, connectOptions{})
	if err != nil {
		return nil, err
	}
	defer conn.close()
	seen := doctor.Cluster{Commands: live.NewCommandRunner(conn.client), Mock: true, Kind: "mongos", Now: time.Now}
	return append(lines, seen.Check(ctx)...), signalCause(ctx)
}

// gradeSettings grades the resulting connection settings.
func gradeSettings(sources []target.Setting) (list []doctor.Setting) {
	for _, s := range sources {
		one := doctor.Setting{Name: s.Name, Value: s.Value, Source: s.From}
		insecure := s.Name == "tlsAllowInvalidCertificates" || s.Name == "tlsAllowInvalidHostnames" || s.Name == "tlsInsecure"
		switch {
		case insecure && s.Value == "true":
			one.Grade, one.Remedy = doctor.Warn, "name the CA with --tlsCAFile: without it anybody can pretend to be this server"
		case s.Name == "password" && s.From == "--password":
			one.Grade, one.Remedy = doctor.Warn, "--passwordFile, or "+target.PasswordVariable+
				" in the environment: ps can show what is on the command line"
		}
		list = append(list, one)
	}
	return list
}

// connectionFailureLine reports a failed connection, with a remedy.
func connectionFailureLine(err error, remedy string) doctor.Line {
	var refused target.ConnectionError
	var timeout timeoutError
	switch {
	case errors.As(err, &refused) && refused.Code == int32(mongoerr.AuthenticationFailed):
		remedy = "check the user, the password and --authenticationDatabase; the server's log says which one is wrong"
	case errors.As(err, &timeout):
		remedy = "raise --timeout"
	case errors.As(err, new(usageError)):
		remedy = "see shardsh doctor --help"
	}
	return doctor.Line{Section: "Cluster", Name: "connection", Grade: doctor.Fail,
		Text: secret.Redact(live.ShortenUnauthorized(err.Error())), Remedy: remedy}
}

// describeMachine describes the local machine.
func describeMachine(env environment) doctor.Machine {
	columns, rows := env.terminalSize()
	home := homeDirectory()
	m := doctor.Machine{Version: buildinfo.Read().Line(), Terminal: isTerminal(env.stdout), Columns: columns, Rows: rows,
		Getenv: env.getenv, Windows: runtime.GOOS == "windows"}
	m.Files = append(m.Files, describeFile("history", historyPath(env.getenv, home), false),
		describeFile("settings", settingsPath(env.getenv, home), false))
	for _, name := range []string{".shardshrc.js", ".mongoshrc.js"} {
		if path := filepath.Join(home, name); home != "" && isFile(path) {
			m.Files = append(m.Files, describeFile("rc file", path, true))
			break
		}
	}
	return m
}

func describeFile(name, path string, runs bool) doctor.File {
	f := doctor.File{Name: name, Path: path, AutoRun: runs}
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

func doctorText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Checks that you can work on a cluster from here: where the connection goes and
which option, variable or default says so, what each host answers, as whom you are
logged in and with which roles, what this release offers, the clock, and which files
are read. Each line is ok, warn or fail, with what to do. Nothing is changed, no
password is shown. Without an address it checks the embedded mock.`,
		Examples: []string{
			"shardsh doctor",
			"shardsh doctor mongodb://host:27017 -u ops",
			"shardsh doctor mongodb+srv://cluster.example.com --json",
		},
		More: "Exit codes: 0 no check failed; 1 a check failed; 2 wrong command line.",
	}
}
