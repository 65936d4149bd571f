package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
	"shardsh/bindings/transcript"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/mockoptions"
	"shardsh/cmd/shardsh/target"
)

// connection is the cluster of a run. The zero value has no cluster.
type connection struct {
	client     *mongo.Client
	address    string // without credentials
	database   string
	deployment string // for the prompt
	setName    string
	memberText string // the part of a sharded cluster, if this is not a router
	// From the connection string, for the commands of scripts.
	readPreference *readpref.ReadPref
	noRetryWrites  bool
	clientOptions  *options.ClientOptions // to connect again as another user
	transcript     *transcript.Writer     // nil without --transcript
	apiVersion     string
	// For the banner: the server's version and a few words on its size.
	serverVersion, clusterSummary string
	clock                         script.Clock
	routers                       []string // of the embedded mock
	virtualTime                   bool     // the clock advances only while a command waits
	consent                       action.Consent
	close                         func()
}

// mockEpoch is the beginning of virtual time if a seed is given, so that runs are reproducible
// including timestamps.
var mockEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// connectOptions describes the purpose of a connection.
type connectOptions struct {
	interactive bool
	quiet       bool   // print no notices
	safetyMode  string // of the safety flags
	rehearses   bool   // a mock replaces the cluster
	readsOnly   bool   // nothing is changed, and no policy is read
	rules       *sandbox.Rules
}

// connect opens the mock cluster, a live one, or none.
func connect(ctx context.Context, env environment, o *clusterFlags, s connectOptions) (*connection, error) {
	var allowed action.Consent
	if !s.readsOnly {
		var err error
		if allowed, err = o.consent(env); err != nil {
			return nil, err
		}
	}
	if o.nodb {
		return &connection{consent: allowed, close: func() {}}, nil
	}
	keeps, err := openTranscript(env, o.transcript, s.safetyMode)
	if err != nil {
		return nil, err
	}
	if !s.rehearses {
		env.transcript = keeps
	}
	open := func() (*connection, error) { return connectLive(ctx, env, o.server) }
	if o.usesMock() {
		open = func() (*connection, error) { return connectMock(env, o, s) }
	}
	conn, err := open()
	if err != nil {
		closeTranscript(env, keeps)
		return nil, err
	}
	leave := conn.close
	conn.transcript, conn.consent = keeps, allowed
	conn.close = func() {
		leave()
		closeTranscript(env, keeps)
	}
	return conn, nil
}

func connectMock(env environment, o *clusterFlags, s connectOptions) (*connection, error) {
	topology, err := o.topology()
	if err != nil {
		return nil, err
	}
	pace, err := mockoptions.ParseMockTime(o.mockTime)
	if err != nil {
		return nil, err
	}
	cfg := mock.Config{
		Topology:   topology,
		RealTime:   o.mockTime == "real" || o.mockTime == "" && s.interactive,
		ClockSpeed: pace,
		Seed:       o.seed.Value,
		Release:    o.serverVersion,
		FCV:        o.fcv,
		Parameters: map[string]any{},
		DBPath:     o.dbpath,
	}
	played, err := metadata.ConfigureMock(&cfg, o.snapshot)
	if err != nil {
		return nil, err
	}
	mockTime := o.mockTime
	if mockTime == "" && metadata.UseClusterTime(&cfg) {
		mockTime = "1x" // shown in the banner
	}
	if o.mock == "" && o.isLoaded() {
		cfg.Topology = nil
	}
	if o.seed.IsSet {
		cfg.Start = mockEpoch
	}
	for name, value := range o.parameters {
		cfg.Parameters[name] = value
	}
	cluster, err := mockoptions.NewCluster(cfg, "--mock and --snapshot")
	if err != nil {
		return nil, err
	}
	first := router.New(cluster, nil, router.WithSnapshots(
		mockoptions.SnapshotsAnywhere(s.rules),
	),
		router.WithBudget(mockoptions.NewMemoryBudget(o.memory)))
	routers, err := router.NewRouters(first, max(1, cmp.Or(o.routers, topology.Routers)))
	if err != nil {
		cluster.Close()
		return nil, err
	}
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: routers}
	served := make(chan struct{})
	go func() {
		defer close(served)
		// Serve returns an error when close stops the server; it can be ignored.
		_ = server.Serve(context.Background(), pipe)
	}()
	stop := func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = pipe.Close()
		cluster.Close()
		_ = server.Shutdown(ctx)
		<-served
	}
	settings, err := newDialer(env).Settings(context.Background(), o.server, target.MockConnectionString())
	if err != nil {
		stop()
		return nil, err
	}
	settings.SetDialer(pipe)
	client, err := live.Connect(settings)
	if err != nil {
		stop()
		return nil, err
	}
	database := cmp.Or(o.database, "test")
	what, deployment := "mock", "mock: mongos"
	if played != nil {
		what, deployment = metadata.MockName(played), "snapshot: mongos"
		printGaps(env, played)
		for _, lack := range metadata.MissingData(played) {
			notice(env.stderr, s.quiet, "%s", lack)
		}
	}
	return &connection{
		noRetryWrites: o.server.RetryWrites.Given && !o.server.RetryWrites.On, apiVersion: o.server.APIVersion,
		client: client, address: "mongodb://mock:27017/", database: database, deployment: deployment,
		serverVersion: cluster.Version(),
		clusterSummary: fmt.Sprintf("%s, %s, %s time", what, humanize.Count(cluster.ShardCount(), "shard"),
			mockoptions.MockTimeText(cfg.RealTime, mockTime)),
		clock:         cluster.Clock(),
		virtualTime:   !cfg.RealTime,
		clientOptions: settings,
		routers:       routers.Names(),
		close: func() {
			target.Disconnect(client)
			stop()
		},
	}, nil
}

// notice prints a line for humans, unless quiet.
func notice(w io.Writer, quiet bool, format string, args ...any) {
	if !quiet {
		fmt.Fprintln(w, plaintext.EscapeText(fmt.Sprintf(format, args...)))
	}
}
