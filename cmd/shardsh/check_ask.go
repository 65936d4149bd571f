package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/checks"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// at returns the flags for one of several addresses.
func (o *checkFlags) at(address string) clusterFlags {
	one := o.clusterFlags
	one.server.Address = address
	return one
}

// maxParallelChecks is how many clusters are asked at the same time.
const maxParallelChecks = 8

// checkAll asks all clusters, and returns what came of each in the order of the
// command line.
func (o *checkFlags) checkAll(ctx context.Context, env environment) ([]check.Report, error) {
	addresses := o.addresses
	if len(addresses) == 0 || o.mock != "" {
		addresses = []string{o.server.Address}
	}
	if err := o.askPasswordOnce(ctx, env, addresses); err != nil {
		return nil, err
	}
	env.stderr = &lockedWriter{w: env.stderr}
	reports := make([]check.Report, len(addresses))
	failures := make([]error, len(addresses))
	free := make(chan struct{}, maxParallelChecks)
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			failures[i] = mongoerr.Guard(nil, "checking", func() (err error) {
				reports[i], err = o.checkOne(ctx, env, o.at(address))
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
func (o *checkFlags) askPasswordOnce(ctx context.Context, env environment, addresses []string) error {
	_, known := env.getenv(target.PasswordVariable)
	if len(addresses) < 2 || o.server.Username == "" || o.server.Password.Value != "" || o.server.PasswordFile != "" ||
		known {
		return nil
	}
	c, err := o.at(addresses[0]).server.ConnectionString()
	if err == nil {
		err = dialer(env).FillPassword(ctx, o.server, c)
	}
	if err == nil {
		o.server.Password = c.Password()
	}
	return err
}

// checkOne asks one cluster, until all is well where that is to be waited for. The
// error is a signal's, or one of the command line.
func (o *checkFlags) checkOne(ctx context.Context, env environment, cluster clusterFlags) (check.Report, error) {
	a := &clusterCheck{env: env, o: o, flags: cluster, policy: o.policy}
	defer a.close()
	bounded, cancel := o.bounded(ctx)
	defer cancel()
	began := time.Time{}
	for told := ""; ; {
		report, err := a.once(bounded)
		if err != nil {
			return report, err
		}
		if began.IsZero() {
			began = a.now()
		}
		left := time.Duration(o.wait) - a.now().Sub(began)
		if report.Status() == check.Passed || left <= 0 || bounded.Err() != nil {
			return report, nil
		}
		if state := checks.Headline(report); state != told {
			notice(env.stderr, o.quiet, "Waiting up to %s more: %s", left.Round(time.Second), state)
			told = state
		}
		if a.sleep(bounded, min(left, time.Duration(o.every))) != nil && ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
	}
}

// clusterCheck is one cluster while it is asked.
type clusterCheck struct {
	env    environment
	o      *checkFlags
	flags  clusterFlags
	policy *check.Policy
	conn   *connection
}

func (a *clusterCheck) close() {
	if a.conn != nil {
		a.conn.close()
	}
}

// The clock is the cluster's where that is a mock: its time may be virtual.
func (a *clusterCheck) now() time.Time {
	if clock := a.clock(); clock != nil {
		return clock.Now()
	}
	return time.Now()
}

func (a *clusterCheck) sleep(ctx context.Context, d time.Duration) error {
	if clock := a.clock(); clock != nil {
		return clock.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *clusterCheck) clock() script.Clock {
	if a.conn == nil {
		return nil
	}
	return a.conn.clock
}

// once asks once. What keeps it from an answer is part of the report, but for
// mistakes on the command line and signals.
func (a *clusterCheck) once(ctx context.Context) (check.Report, error) {
	report := check.Report{Address: a.address()}
	cluster, err := a.cluster(ctx)
	progress := newProgress(ctx, a.env.stderr, a.o.quiet || len(a.o.addresses) > 1) // one line has room for one
	cluster.Watch = progress.watch
	var usage usageError
	var caught signalError
	switch {
	case err == nil:
		report = a.policy.Report(a.address(), cluster)
		progress.end()
		if errors.As(context.Cause(ctx), &caught) {
			return report, context.Cause(ctx)
		}
		return report, nil
	case errors.As(err, &usage):
		return report, err
	case errors.As(context.Cause(ctx), &caught):
		return report, context.Cause(ctx)
	}
	report.Trouble = asTrouble(orTimeout(ctx, err))
	return report, nil
}

// address returns where the cluster is, as it may be shown: the same whether it
// answers or not.
func (a *clusterCheck) address() string {
	switch {
	case a.o.from != "":
		return a.o.from
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

// cluster reads what the rules need of the cluster.
func (a *clusterCheck) cluster(ctx context.Context) (c check.Cluster, err error) {
	needs := a.needs()
	if a.o.from != "" {
		s, err := metadata.Open(a.o.from)
		if err != nil {
			return c, err
		}
		return check.Cluster{Diagnosis: diagnosis.Of(s), Unasked: "the file does not record it"}, nil
	}
	if a.conn == nil {
		if a.conn, err = connect(ctx, a.env, &a.flags, session{quiet: a.o.quiet}); err != nil {
			return c, err
		}
	}
	commands := live.NewCommandRunner(a.conn.client)
	s, err := a.snapshot(ctx, commands, needs)
	if err != nil {
		return c, err
	}
	c.Diagnosis = diagnosis.Of(s)
	if needs.Has(check.Metadata) {
		err = askMetadata(ctx, commands, &c)
	}
	return c, err
}

// needs are those of the rules, and of formats with numbers of shards.
func (a *clusterCheck) needs() check.Need {
	needs := a.policy.Needs()
	if a.o.format == "json" || a.o.format == "prometheus" {
		needs |= check.Sizes | check.Counts | check.Verdicts | check.Zones
	}
	return needs
}

// parts are what has to be read for each need.
var parts = []struct {
	need  check.Need
	parts live.Part
}{
	{check.Verdicts, live.Statuses},
	{check.Counts, live.Counts},
	{check.Sizes, live.Sizes | live.OldSizes},
	{check.Switches, live.Switches},
	{check.Rounds, live.Rounds},
	{check.Outcomes, live.Outcomes},
	{check.Zones, live.Zones},
	{check.Drains, live.Drains | live.Databases | live.Unsharded},
	{check.Activity, live.Migrations},
	{check.Routers, live.Routers},
	{check.Reach, live.Reach},
}

// snapshot looks at the cluster, and reads all of it where that is needed.
func (a *clusterCheck) snapshot(
	ctx context.Context, commands live.CommandRunner, needs check.Need,
) (*catalog.Snapshot, error) {
	source := a.conn.source(a.flags.usesMock())
	o := live.ReaderOptions{
		Parts:    live.Identity | live.Settings | live.Balancer | live.Shards | live.Collections,
		Required: live.Collections,
		Source:   source, Span: a.policy.Span, Selected: a.policy.Namespaces.Match,
	}
	for _, p := range parts {
		if needs.Has(p.need) {
			o.Parts |= p.parts
		}
	}
	s, err := live.NewCommandReader(commands, o).Read(ctx)
	if err != nil {
		return nil, err
	}
	refused := balanceUnknown(s)
	if !refused && !(needs.Has(check.Tables) && hasWindow(s)) {
		return s, nil
	}
	o = live.ReaderOptions{Parts: live.WithStatus, Source: source}
	if refused {
		o.Parts = live.Whole
	}
	return live.NewReader(a.conn.client, o).Read(ctx)
}

// hasWindow reports whether there is something to forecast.
func hasWindow(s *catalog.Snapshot) bool {
	settings := s.Settings()
	return settings.Window != nil || len(settings.Days) > 0
}

// balanceUnknown reports whether the server did not say of a collection whether
// it is balanced, as it does not to those who only monitor. The rules can be asked
// instead then, unless shards are down, whose data they would have to know.
func balanceUnknown(s *catalog.Snapshot) bool {
	down := slices.ContainsFunc(s.Shards(), func(s catalog.ShardState) bool { return s.Unreachable != "" })
	return !down && slices.ContainsFunc(s.Parts().Source.Gaps, func(g catalog.Gap) bool {
		return g.What == "balance" && !g.Down
	})
}

// askMetadata has the cluster compare its metadata.
func askMetadata(ctx context.Context, commands live.CommandRunner, c *check.Cluster) (err error) {
	if release := c.Release(); !release.AtLeast(catalog.Release70) {
		c.Unasked = fmt.Sprintf("release %s has no such check, 7.0 is the first that has", release)
		return nil
	}
	c.Inconsistencies, err = live.Inconsistencies(ctx, commands)
	if err != nil && ctx.Err() == nil {
		c.Refused = err.Error()
		return nil
	}
	return err
}
