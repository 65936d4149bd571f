package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/export"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/checkcmd"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/mockoptions"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
	"shardsh/cmd/shardsh/targets"
)

// exportFlags are the flags of "shardsh export".
type exportFlags struct {
	clusterFlags
	rules                          checkcmd.Options
	targets                        string
	listen                         string
	users                          []string // name:file
	tlsCert, tlsKey                string
	every, stale, forecast, giveUp time.Duration
	maxCollections                 int
	heat, once                     bool
	advisories                     string
	action                         action.Export // the resulting action
}

func (o *exportFlags) groups() []cmdline.Group {
	o.every, o.forecast = action.DefaultExportEvery, action.DefaultForecastEvery
	o.giveUp = action.DefaultReadTimeout
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.targets, "targets", "", "`FILE` the clusters to read, as YAML or JSON; read again when it changes")
		cmdline.DurationVar(f, &o.every, "every", "`TIME` read a cluster so often (30s)")
		cmdline.DurationVar(f, &o.stale, "stale", "`TIME` export no older values (five times --every)")
		cmdline.DurationVar(f, &o.giveUp, "timeout", "`TIME` give up a read after this time (1m)")
		cmdline.ParsedVar(f, &o.forecast, "forecast", "`TIME` compute the time to balance so often, 0 is never (5m)",
			cmdline.ParseDurationOrZero)
		f.IntVar(&o.maxCollections, "collections", action.DefaultExportCollections,
			"`N` series for the N worst collections, the rest is summed (20)")
		f.BoolVar(&o.heat, "heat", false, "count the operations of each shard")
		addAdvisoriesFlag(f, &o.advisories)
		f.BoolVar(&o.once, "once", false, "read once, print the page, and exit")
	}), cmdline.NewGroup("Listener", func(f *pflag.FlagSet) {
		f.StringVar(&o.listen, "listen", "127.0.0.1:9797", "`HOST:PORT` answer here; a port alone is this machine's")
		f.StringArrayVar(&o.users, "auth", nil, "`USER:FILE` require a login: a user, and a file with the password")
		f.StringVar(&o.tlsCert, "tls-cert", "", "`FILE` require TLS: the certificate, as PEM")
		f.StringVar(&o.tlsKey, "tls-key", "", "`FILE` its private key, as PEM, if it is in another file")
	})}
	groups = append(append(groups, ruleGroups(&o.rules)...), o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addMockTimeFlag))
}

// ruleGroups returns the options of check with their own help page.
func ruleGroups(o *checkcmd.Options) (groups []cmdline.Group) {
	for _, g := range o.Groups() {
		groups = append(groups, g.OnPage("rules", g.Title))
	}
	return groups
}

func (o *exportFlags) parseArgs(env environment, words []string) (err error) {
	if len(words) > 1 {
		return usagef("export takes one address, or more in a file: --targets FILE")
	}
	if len(words) > 0 {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	one := o.server.IsSet() || o.mock != ""
	if err := firstViolation(
		constraint{o.targets != "" && one, "--targets FILE names the clusters: leave the address and --mock out"},
		constraint{o.targets == "" && !one, "export needs the address of a cluster, --targets FILE, or --mock"},
		constraint{o.tlsKey != "" && o.tlsCert == "", "--tls-key needs --tls-cert"},
	); err != nil {
		return err
	}
	policy, err := o.rules.Policy()
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(plaintext.NewWriter(env.stderr), nil))
	o.action = action.Export{Policy: policy, AdvisoriesFile: o.advisories, Every: o.every,
		StaleAfter: o.stale, Timeout: o.giveUp, ForecastEvery: o.forecast,
		MaxCollections: o.maxCollections, Heat: o.heat, Clock: script.WallClock(), Log: logger,
		DescribeError: func(err error) string { return secret.Redact(err.Error()) }}
	if err := optionsUsageError(o.action.Validate()); err != nil {
		return err
	}
	o.demo = o.mock != "" // a mock without data has no metrics of data
	return o.clusterFlags.check()
}

// run implements "shardsh export": it serves metrics for Prometheus until a signal arrives.
func (o *exportFlags) run(ctx context.Context, env environment) error {
	env.stdin = strings.NewReader("") // the user can't be asked for a password
	targets, text, err := o.readTargets(env)
	if err != nil {
		return err
	}
	x, err := o.action.Start(ctx)
	if err != nil {
		return err
	}
	defer x.Close()
	if o.once {
		x.ReadTargetsOnce(ctx, targets)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return x.Write(env.out(), false)
	}
	listen, err := o.listener()
	if err != nil {
		return err
	}
	at, stop, err := listen.Serve(ctx, x.Handler())
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	defer stop()
	if !listen.IsLocal() && (len(listen.Users) == 0 || listen.TLS == nil) {
		o.action.Log.Warn("other machines can read the metrics: see --auth and --tls-cert", "address", at)
	}
	o.action.Log.Info("listening", "address", at, "clusters", len(targets))
	x.SetTargets(targets)
	o.watchTargets(ctx, env, x, text)
	return nil
}

func (o *exportFlags) listener() (action.ListenOptions, error) {
	config, err := mockoptions.ReadTLS(o.tlsCert, o.tlsKey)
	if err != nil {
		return action.ListenOptions{}, err
	}
	l := action.ListenOptions{Address: o.listen, TLS: config, Users: map[string]string{}}
	for _, word := range o.users {
		name, path, ok := strings.Cut(word, ":")
		if !ok || name == "" || path == "" {
			return l, usagef("--auth takes user:file, the file holding the password, not %q", word)
		}
		if l.Users[name], err = secret.ReadPassword(path); err != nil {
			return l, usagef("--auth %s: %w", name, err)
		}
	}
	return l, nil
}

// targetsPollInterval is how often the targets file is checked for changes.
const targetsPollInterval = 5 * time.Second

// watchTargets reloads the targets file when it changes, and on SIGHUP, until ctx ends.
func (o *exportFlags) watchTargets(ctx context.Context, env environment, x *action.Exporter, text []byte) {
	hung := make(chan os.Signal, 1)
	signal.Notify(hung, syscall.SIGHUP)
	defer signal.Stop(hung)
	every := time.NewTicker(targetsPollInterval)
	defer every.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-hung:
			asked = true
		case <-every.C:
		}
		if o.targets == "" {
			continue
		}
		targets, now, err := o.readTargets(env)
		switch same := bytes.Equal(text, now); {
		case same && !asked:
			continue
		case err != nil:
			o.action.Log.Error("the targets stay as they were", "error", secret.Redact(err.Error()))
			x.RecordReloadFailure()
		default:
			o.action.Log.Info("read the targets again", "clusters", len(targets))
			x.SetTargets(targets)
		}
		text = now
	}
}

// readTargets returns the clusters to read, and the text of the targets file.
func (o *exportFlags) readTargets(env environment) (list []action.Target, text []byte, err error) {
	if o.targets == "" {
		name := target.MockConnectionString().Location()
		if !o.usesMock() {
			c, err := o.server.ConnectionString()
			if err != nil {
				return nil, nil, err
			}
			name = c.Location()
		}
		return []action.Target{o.newTarget(env, name, o.clusterFlags)}, nil, nil
	}
	all, text, err := targets.ReadText(o.targets)
	if err != nil {
		return nil, text, usagef("--targets: %w", err)
	}
	for _, t := range all {
		if err := checkExportable(t); err != nil {
			return nil, text, usagef("--targets: %s: %s: %w", o.targets, t.Name, err)
		}
		cluster := clusterFlags{server: t.ConnectionFlags(o.server)}
		cluster.mock, cluster.demo = t.Mock, t.Mock != ""
		one := o.newTarget(env, t.Name, cluster)
		one.Labels, one.Identity = t.LabelPairs(), t.Identity()
		list = append(list, one)
	}
	return list, text, nil
}

// checkExportable returns an error for a target that can't be exported.
func checkExportable(t targets.Target) error {
	for name := range t.Labels {
		if slices.Contains(export.LabelNames(), name) {
			return fmt.Errorf("metrics have a label %s of their own", name)
		}
	}
	if t.MetadataFile != "" {
		return errors.New("nothing changes in a file: export reads clusters")
	}
	return nil
}

// newTarget returns a target with a new connection for each read.
func (o *exportFlags) newTarget(env environment, name string, cluster clusterFlags) action.Target {
	return action.Target{Name: name, Open: func(ctx context.Context) (action.Source, func(), error) {
		conn, err := connect(ctx, env, &cluster, connectOptions{readsOnly: true, quiet: true})
		if err != nil {
			return action.Source{}, nil, err
		}
		return conn.source(cluster.usesMock()), conn.close, nil
	}}
}

func exportText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Has metrics of clusters for Prometheus at /metrics: balancing, findings, chunks,
bytes, moves, time to balance. Clusters are read by the clock, not when somebody asks,
and only what changed is read again. Nothing on them changes.`,
		Examples: []string{
			"shardsh export mongodb://host:27017 --listen 9797",
			"shardsh export --targets clusters.yaml --listen 0.0.0.0:9797 --auth prom:FILE",
			"shardsh export --mock --once",
		},
		More: `A file of targets names clusters, and files with their passwords:
  clusters: [{name: eu, uri: "mongodb://monitor@host:27017", passwordFile: eu.txt}]
SIGHUP has it read again. Rules are those of shardsh check.`,
	}
}
