package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/checkcmd"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
	"shardsh/cmd/shardsh/targets"
)

// clusterToCheck is one of the clusters to be checked.
type clusterToCheck struct {
	flags  clusterFlags
	from   string
	target targets.Target // for a cluster of a fleet
}

// flagsForAddress returns the flags for one of several addresses.
func (o *checkFlags) flagsForAddress(address string) clusterFlags {
	one := o.clusterFlags
	one.server.Address = address
	return one
}

// clusters returns the clusters of the command line, or of the fleet.
func (o *checkFlags) clusters() (list []clusterToCheck) {
	for _, t := range o.fleet.list {
		one := o.flagsForTarget(t)
		list = append(list, clusterToCheck{one.clusterFlags, one.from, t})
	}
	if o.fleet.isFleet() {
		return list
	}
	addresses := o.addresses
	if len(addresses) == 0 || o.mock != "" {
		addresses = []string{o.server.Address}
	}
	for _, address := range addresses {
		list = append(list, clusterToCheck{flags: o.flagsForAddress(address), from: o.from})
	}
	return list
}

// maxParallelChecks is the number of clusters that are checked concurrently.
const maxParallelChecks = 8

// checkAll checks all clusters, and returns their reports in the order of the command line.
func (o *checkFlags) checkAll(ctx context.Context, env environment) ([]check.Report, error) {
	clusters, parallel := o.clusters(), maxParallelChecks
	if o.fleet.isFleet() {
		env.unattended, parallel, o.timeout = true, o.fleet.parallel, cmp.Or(o.timeout, fleetTimeout)
	} else if err := o.askPasswordOnce(ctx, env, clusters); err != nil {
		return nil, err
	}
	env.stderr = &lockedWriter{w: env.stderr}
	reports := make([]check.Report, len(clusters))
	failures := make([]error, len(clusters))
	free := make(chan struct{}, parallel)
	var asking sync.WaitGroup
	for i, cluster := range clusters {
		asking.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			failures[i] = mongoerr.CatchPanic(nil, "checking", func() (err error) {
				reports[i], err = o.checkOne(ctx, env, cluster, len(clusters))
				return err
			})
		})
	}
	asking.Wait()
	return reports, errors.Join(failures...)
}

// lockedWriter is a writer that is safe for concurrent use.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// askPasswordOnce asks the user for a password before several clusters need it at the same time.
func (o *checkFlags) askPasswordOnce(ctx context.Context, env environment, clusters []clusterToCheck) error {
	password, _ := env.getenv(target.PasswordVariable)
	if len(clusters) < 2 || o.server.Username == "" || o.server.Password.Value != "" || o.server.PasswordFile != "" ||
		password != "" {
		return nil
	}
	c, err := clusters[0].flags.server.ConnectionString()
	if err == nil {
		err = newDialer(env).FillPassword(ctx, o.server, c)
	}
	for i := range clusters {
		if err == nil {
			clusters[i].flags.server.Password = c.Password()
		}
	}
	return err
}

// checkOne checks one cluster; with --wait it repeats the check until it passes. The error is that of a
// signal, or of the command line.
func (o *checkFlags) checkOne(
	ctx context.Context, env environment, cluster clusterToCheck, of int,
) (check.Report, error) {
	bounded, cancel := o.withTimeout(ctx)
	defer cancel()
	a := &clusterCheck{env: env, options: o, flags: cluster.flags, from: cluster.from}
	defer a.close()
	a.progress = newProgress(bounded, env.stderr, o.quiet.On || of > 1) // there is one progress line, for one cluster
	verb := o.action
	verb.Address, verb.ReadCounts = a.address(), o.format == "json" || o.format == "prometheus"
	verb.DescribeError = func(err error) (check.ReadFailure, bool) {
		if o.fleet.isFleet() && !errors.As(context.Cause(ctx), new(signalError)) {
			return ruleFailureOf(preferTimeout(bounded, err)), true // reported like the other clusters
		}
		unknown := errors.As(err, new(*diagnosis.NotFoundError)) && o.format != "nagios" // 2 is critical for Nagios
		if unknown || errors.As(err, new(usageError)) || errors.As(context.Cause(ctx), new(signalError)) {
			return check.ReadFailure{}, false
		}
		return ruleFailureOf(preferTimeout(bounded, err)), true
	}
	report, err := verb.Run(bounded, a.open, a)
	a.progress.clearLine()
	report.Cluster, report.Labels = cluster.target.Name, cluster.target.Labels
	if errors.As(err, new(*diagnosis.NotFoundError)) {
		err = findings.WithSuggestion(err)
		if of > 1 {
			err = fmt.Errorf("%s: %w", verb.Address, err)
		}
	}
	if errors.As(context.Cause(ctx), new(signalError)) {
		return report, context.Cause(ctx)
	}
	return report, err
}

// clusterCheck is the state of the check of one cluster.
type clusterCheck struct {
	env      environment
	options  *checkFlags
	flags    clusterFlags
	from     string
	conn     *connection
	progress *progress
	lastNote string // the last printed reason to wait
}

func (cc *clusterCheck) close() {
	if cc.conn != nil {
		cc.conn.close()
	}
}

// open opens the file, or connects unless a connection exists.
func (cc *clusterCheck) open(ctx context.Context) (action.Source, error) {
	if cc.from != "" {
		s, err := metadata.Open(cc.from)
		return action.Source{Snapshot: s, TimeZone: cc.options.location}, err
	}
	if cc.conn == nil {
		var err error
		about := connectOptions{readsOnly: true, quiet: cc.options.quiet.On || cc.options.fleet.isFleet()}
		if cc.conn, err = connect(ctx, cc.env, &cc.flags, about); err != nil {
			return action.Source{Clock: script.WallClock(), TimeZone: cc.options.location}, err
		}
	}
	source := cc.conn.source(cc.flags.usesMock())
	source.Clock, source.TimeZone = script.WallClock(), cc.options.location
	if cc.conn.clock != nil { // the time of a mock may be virtual
		source.Clock = cc.conn.clock
	}
	return source, nil
}

// Report shows the progress of a check, and the reasons to wait.
func (cc *clusterCheck) Report(e action.Event) {
	switch e := e.(type) {
	case action.ReadProgress:
		cc.progress.showReading(e.Progress)
	case action.SimulationProgress:
		cc.progress.showSimulation(e.Progress)
	case action.CheckFailed:
		cc.progress.clearLine()
		if state := checkcmd.Headline(e.Report); state != cc.lastNote {
			notice(cc.env.stderr, cc.options.quiet.On, "Waiting up to %s more: %s", e.Remaining.Round(time.Second), state)
			cc.lastNote = state
		}
	}
}

// address returns the address of the cluster without credentials; it does not depend on whether the
// cluster answers.
func (cc *clusterCheck) address() string {
	switch {
	case cc.from != "":
		return cc.from
	case cc.flags.usesMock():
		return target.MockConnectionString().Location()
	}
	c, err := cc.flags.server.ConnectionString()
	if err != nil {
		return secret.Redact(cc.flags.server.Address)
	}
	return c.Location()
}

// ruleFailureOf converts an error to the form used in reports.
func ruleFailureOf(err error) check.ReadFailure {
	var t check.ReadFailure
	text, marshalErr := bson.Marshal(errorFields(err))
	if marshalErr != nil || bson.Unmarshal(text, &t) != nil {
		return check.ReadFailure{Name: "Error", Message: secret.Redact(err.Error())}
	}
	return t
}
