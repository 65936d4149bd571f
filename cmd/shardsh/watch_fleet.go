package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/report"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/repl/watch"
)

// watchFleet shows a line for each cluster in a targets file.
func (o *watchFlags) watchFleet(ctx context.Context, env environment) error {
	c := watch.FleetConfig{Config: o.watchConfig(env), Parallel: o.fleet.parallel}
	clusters := make([]*watchedCluster, len(o.fleet.list))
	asks := env
	asks.stderr, asks.unattended = &lockedWriter{w: io.Discard}, true
	for i, t := range o.fleet.list {
		one := o.flagsForTarget(t)
		one.quiet.On, one.timeout = true, cmp.Or(one.timeout, fleetTimeout)
		one.demo = t.Mock != ""
		clusters[i] = &watchedCluster{env: asks, flags: one}
		defer clusters[i].close()
		c.Members = append(c.Members, report.FleetCluster{Cluster: t.Name, Address: t.Location(), Labels: t.Labels})
	}
	c.ReadMember = func(ctx context.Context, i int) (*report.Overview, error) {
		overview, err := clusters[i].refresh(ctx)
		if err != nil {
			return nil, errors.New(ruleFailureOf(err).Message)
		}
		return overview, nil
	}
	leave, err := o.takeTerminal(env, &c.Config)
	if err != nil {
		return err
	}
	defer leave()
	err = watch.RunFleet(ctx, c)
	for _, w := range clusters {
		if o.once && w.err != nil {
			err = cmp.Or(err, error(reportedError{w.err}))
		}
	}
	return err
}

// watchedCluster is a cluster of a fleet that is read repeatedly.
type watchedCluster struct {
	env    environment
	flags  sourceFlags
	conn   *connection
	reader *live.Reader
	last   *catalog.Snapshot
	err    error // of the last read
}

func (w *watchedCluster) close() {
	if w.conn != nil {
		w.conn.close()
	}
}

// refresh reads the cluster, or only the changes. It connects unless a connection exists.
func (w *watchedCluster) refresh(ctx context.Context) (*report.Overview, error) {
	w.err = w.flags.runWithTimeout(ctx, w.env, func(ctx context.Context) error { return preferTimeout(ctx, w.read(ctx)) })
	if w.err != nil {
		return nil, w.err
	}
	return report.NewOverview(w.last), nil
}

func (w *watchedCluster) read(ctx context.Context) error {
	if w.flags.from != "" {
		s, err := metadata.Open(w.flags.from)
		if err == nil {
			w.last = s.WithClock(w.flags.location)
		}
		return err
	}
	if w.conn == nil {
		conn, err := connect(ctx, w.env, &w.flags.clusterFlags, connectOptions{readsOnly: true, interactive: true,
			quiet: true})
		if err != nil {
			return err
		}
		w.conn = conn
		source := conn.source(w.flags.usesMock())
		w.reader = source.Reader(live.ReaderOptions{Parts: live.DefaultParts &^ live.ChunkFlags, Source: source.Origin,
			MaxLogEntries: 20_000, TimeZone: w.flags.location})
	}
	s, err := w.reader.ReadSince(ctx, w.last)
	if err == nil {
		w.last = s
	}
	return err
}
