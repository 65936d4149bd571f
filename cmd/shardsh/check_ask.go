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
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/checkcmd"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
	"shardsh/cmd/shardsh/targets"
)

// checkedCluster is one of the clusters that are asked.
type checkedCluster struct {
	flags  clusterFlags
	from   string
	target targets.Target // of a fleet
}

// at returns the flags for one of several addresses.
func (o *checkFlags) at(address string) clusterFlags {
	one := o.clusterFlags
	one.server.Address = address
	return one
}

// clusters returns those of the command line, or of the fleet.
func (o *checkFlags) clusters() (list []checkedCluster) {
	for _, t := range o.fleet.list {
		one := o.ofTarget(t)
		list = append(list, checkedCluster{one.clusterFlags, one.from, t})
	}
	if o.fleet.many() {
		return list
	}
	addresses := o.addresses
	if len(addresses) == 0 || o.mock != "" {
		addresses = []string{o.server.Address}
	}
	for _, address := range addresses {
		list = append(list, checkedCluster{flags: o.at(address), from: o.from})
	}
	return list
}

// maxParallelChecks is how many clusters are asked at the same time.
const maxParallelChecks = 8

// checkAll asks all clusters, and returns what came of each in the order of the
// command line.
func (o *checkFlags) checkAll(ctx context.Context, env environment) ([]check.Report, error) {
	clusters, parallel := o.clusters(), maxParallelChecks
	if o.fleet.many() {
		env.unattended, parallel, o.timeout = true, o.fleet.parallel, cmp.Or(o.timeout, cmdline.Duration(fleetTimeout))
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

// lockedWriter is a writer for several.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *lockedWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(p)
}

// askPasswordOnce has the user asked before several clusters want the password at
// the same time.
func (o *checkFlags) askPasswordOnce(ctx context.Context, env environment, clusters []checkedCluster) error {
	_, known := env.getenv(target.PasswordVariable)
	if len(clusters) < 2 || o.server.Username == "" || o.server.Password.Value != "" || o.server.PasswordFile != "" ||
		known {
		return nil
	}
	c, err := clusters[0].flags.server.ConnectionString()
	if err == nil {
		err = dialer(env).FillPassword(ctx, o.server, c)
	}
	for i := range clusters {
		if err == nil {
			clusters[i].flags.server.Password = c.Password()
		}
	}
	return err
}

// checkOne asks one cluster, until all is well where that is to be waited for. The
// error is a signal's, or one of the command line.
func (o *checkFlags) checkOne(
	ctx context.Context, env environment, cluster checkedCluster, of int,
) (check.Report, error) {
	bounded, cancel := o.bounded(ctx)
	defer cancel()
	a := &clusterCheck{env: env, o: o, flags: cluster.flags, from: cluster.from}
	defer a.close()
	a.progress = newProgress(bounded, env.stderr, o.quiet || of > 1) // one line has room for one
	verb := o.action
	verb.Address, verb.Numbers = a.address(), o.format == "json" || o.format == "prometheus"
	verb.DescribeError = func(err error) (check.Trouble, bool) {
		if o.fleet.many() && !errors.As(context.Cause(ctx), new(signalError)) {
			return asTrouble(orTimeout(bounded, err)), true // a line like the others
		}
		unknown := errors.As(err, new(*diagnosis.UnknownError)) && o.format != "nagios" // whose 2 is critical
		if unknown || errors.As(err, new(usageError)) || errors.As(context.Cause(ctx), new(signalError)) {
			return check.Trouble{}, false
		}
		return asTrouble(orTimeout(bounded, err)), true
	}
	report, err := verb.Run(bounded, a.open, a)
	a.progress.end()
	report.Cluster, report.Labels = cluster.target.Name, cluster.target.Labels
	if errors.As(err, new(*diagnosis.UnknownError)) {
		err = suggesting(err)
		if of > 1 {
			err = fmt.Errorf("%s: %w", verb.Address, err)
		}
	}
	if errors.As(context.Cause(ctx), new(signalError)) {
		return report, context.Cause(ctx)
	}
	return report, err
}

// clusterCheck is one cluster while it is asked.
type clusterCheck struct {
	env      environment
	o        *checkFlags
	flags    clusterFlags
	from     string
	conn     *connection
	progress *progress
	noted    string // what is waited for
}

func (a *clusterCheck) close() {
	if a.conn != nil {
		a.conn.close()
	}
}

// open opens the file, or connects where that has not succeeded yet.
func (a *clusterCheck) open(ctx context.Context) (action.Source, error) {
	if a.from != "" {
		s, err := metadata.Open(a.from)
		return action.Source{Snapshot: s, Zone: a.o.zone}, err
	}
	if a.conn == nil {
		var err error
		about := session{looks: true, quiet: a.o.quiet || a.o.fleet.many()}
		if a.conn, err = connect(ctx, a.env, &a.flags, about); err != nil {
			return action.Source{Clock: script.WallClock(), Zone: a.o.zone}, err
		}
	}
	source := a.conn.source(a.flags.usesMock())
	source.Clock, source.Zone = script.WallClock(), a.o.zone
	if a.conn.clock != nil { // a mock's time may be virtual
		source.Clock = a.conn.clock
	}
	return source, nil
}

// Report shows how far a check is, and what is waited for.
func (a *clusterCheck) Report(e action.Event) {
	switch e := e.(type) {
	case action.ReadProgress:
		a.progress.reading(e.Progress)
	case action.SimulationProgress:
		a.progress.simulating(e.Progress)
	case action.CheckFailed:
		a.progress.end()
		if state := checkcmd.Headline(e.Report); state != a.noted {
			notice(a.env.stderr, a.o.quiet, "Waiting up to %s more: %s", e.Left.Round(time.Second), state)
			a.noted = state
		}
	}
}

// address returns where the cluster is, as it may be shown: the same whether it
// answers or not.
func (a *clusterCheck) address() string {
	switch {
	case a.from != "":
		return a.from
	case a.flags.usesMock():
		return target.Mock().Place()
	}
	c, err := a.flags.server.ConnectionString()
	if err != nil {
		return secret.Redact(a.flags.server.Address)
	}
	return c.Place()
}

// asTrouble returns an error as a report has it.
func asTrouble(err error) check.Trouble {
	var t check.Trouble
	text, marshalErr := bson.Marshal(describe(err))
	if marshalErr != nil || bson.Unmarshal(text, &t) != nil {
		return check.Trouble{Name: "Error", Message: secret.Redact(err.Error())}
	}
	return t
}
