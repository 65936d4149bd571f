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

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/transcript"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/mocks"
	"shardsh/cmd/shardsh/target"
)

// connection is the cluster a run works on. The zero value is no cluster.
type connection struct {
	client     *mongo.Client
	address    string // as it may be shown
	database   string
	deployment string // for the prompt
	setName    string
	member     string // of a sharded cluster, that it is in place of a router
	// From the connection string, for the commands that scripts send.
	readPreference *readpref.ReadPref
	noRetryWrites  bool
	settings       *options.ClientOptions // to connect again as another user
	transcript     *transcript.Writer     // nil without --transcript
	apiVersion     string
	// For the banner: the server's version and a few words on its size.
	serverVersion, cluster string
	clock                  script.Clock
	routers                []string // of the embedded mock
	virtualTime            bool     // the clock goes on only while something waits
	close                  func()
}

// mockEpoch is where virtual time begins when a seed is given, so that runs
// repeat to the last timestamp.
var mockEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// connect opens the mock cluster, a live one, or none.
func (env environment) connect(ctx context.Context, o commandLine, interactive bool) (*connection, error) {
	if o.nodb {
		return &connection{close: func() {}}, nil
	}
	keeps, err := env.openTranscript(o)
	if err != nil {
		return nil, err
	}
	if !o.rehearses {
		env.transcript = keeps
	}
	conn, err := env.connectTo(ctx, o, interactive)
	if err != nil {
		env.closeTranscript(keeps)
		return nil, err
	}
	leave := conn.close
	conn.transcript = keeps
	conn.close = func() {
		leave()
		env.closeTranscript(keeps)
	}
	return conn, nil
}

func (env environment) connectTo(ctx context.Context, o commandLine, interactive bool) (*connection, error) {
	if o.usesMock() {
		return env.connectMock(o, interactive)
	}
	return env.connectLive(ctx, o.server)
}

func (env environment) connectMock(o commandLine, interactive bool) (*connection, error) {
	topology, err := mockTopology(o)
	if err != nil {
		return nil, err
	}
	pace, err := mocks.Pace(o.mockTime)
	if err != nil {
		return nil, err
	}
	cfg := mock.Config{
		Topology:   topology,
		RealTime:   o.mockTime == "real" || o.mockTime == "" && interactive,
		Pace:       pace,
		Seed:       o.seed,
		Version:    o.serverVersion.Release,
		Parameters: map[string]any{},
		DBPath:     o.dbpath,
	}
	played, err := metadata.Begin(&cfg, o.snapshot)
	if err != nil {
		return nil, err
	}
	if o.mockTime == "" && metadata.OwnTime(&cfg) {
		o.mockTime = "1x" // for the banner
	}
	if o.mock == "" && o.keeps() {
		cfg.Topology = nil
	}
	if o.seeded {
		cfg.Start = mockEpoch
	}
	for name, value := range o.parameters {
		cfg.Parameters[name] = value
	}
	cluster, err := mocks.New(cfg, "--mock and --snapshot")
	if err != nil {
		return nil, err
	}
	first := router.New(cluster, nil,
		router.WithSnapshots(mocks.SnapshotsAnywhere(o.rules())), router.WithBudget(mocks.Budget(o.memory)))
	routers, err := router.Several(first, max(1, cmp.Or(o.routers, topology.Routers)))
	if err != nil {
		cluster.Close()
		return nil, err
	}
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: routers}
	served := make(chan struct{})
	go func() {
		defer close(served)
		// Serve ends with an error when close stops the server: nothing to say.
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
	settings, err := env.way().Settings(context.Background(), o.server, target.Mock())
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
	database := o.database
	if database == "" {
		database = "test"
	}
	what, deployment := "mock", "mock: mongos"
	if played != nil {
		what, deployment = metadata.Name(played), "snapshot: mongos"
		env.tellGaps(played)
		for _, lack := range metadata.Lacks(played) {
			notice(env.stderr, !o.wantsNotices(interactive), "%s", lack)
		}
	}
	return &connection{
		noRetryWrites: o.server.RetryWrites.Given && !o.server.RetryWrites.On, apiVersion: o.server.APIVersion,
		client: client, address: "mongodb://mock:27017/", database: database, deployment: deployment,
		serverVersion: cluster.Version(),
		cluster: fmt.Sprintf("%s, %d shards, %s time", what, cluster.ShardCount(),
			mocks.TimeName(cfg.RealTime, o.mockTime)),
		clock:       cluster.Clock(),
		virtualTime: !cfg.RealTime,
		settings:    settings,
		routers:     routers.Names(),
		close: func() {
			target.Disconnect(client)
			stop()
		},
	}, nil
}

func mockTopology(o commandLine) (*mock.Topology, error) {
	n, isNumber, err := o.shards()
	if err != nil {
		return nil, err
	}
	switch {
	case isNumber && o.demo:
		return mocks.Demo(n), nil
	case isNumber:
		return mock.DefaultTopology(n), nil
	}
	t, err := mock.ReadTopology(o.mock)
	if err != nil {
		return nil, usagef("--mock: %w", err)
	}
	return t, nil
}

// notice writes a line for people, unless they want quiet.
func notice(w io.Writer, quiet bool, format string, args ...any) {
	if !quiet {
		fmt.Fprintln(w, plaintext.Visible(fmt.Sprintf(format, args...)))
	}
}
