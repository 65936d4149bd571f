package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings"
)

// connection is the cluster a run works on. The zero value is no cluster.
type connection struct {
	client     *mongo.Client
	address    string // as it may be shown
	database   string
	deployment string // for the prompt
	setName    string
	// From the connection string, for the commands that scripts send.
	readPreference *readpref.ReadPref
	noRetryWrites  bool
	settings       *options.ClientOptions // to connect again as another user
	// For the banner: the server's version and a few words on its size.
	serverVersion, cluster string
	clock                  bindings.Clock
	close                  func()
}

// mockEpoch is where virtual time begins when a seed is given, so that runs
// repeat to the last timestamp.
var mockEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// connect opens the mock cluster, a live one, or none.
func (env environment) connect(ctx context.Context, o commandLine, interactive bool) (*connection, error) {
	switch {
	case o.nodb:
		return &connection{close: func() {}}, nil
	case o.usesMock():
		return env.connectMock(o, interactive)
	}
	return connectLive(ctx, o.address)
}

func (env environment) connectMock(o commandLine, interactive bool) (*connection, error) {
	topology, err := mockTopology(o)
	if err != nil {
		return nil, err
	}
	cfg := mock.Config{
		Topology:   topology,
		RealTime:   o.mockTime == "real" || o.mockTime == "" && interactive,
		Seed:       o.seed,
		Parameters: map[string]any{},
	}
	if o.seeded {
		cfg.Start = mockEpoch
	}
	for name, value := range o.parameters {
		cfg.Parameters[name] = value
	}
	cluster, err := mock.New(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	pipe := wire.NewPipe()
	server := &wire.Server{Handler: router.New(cluster, nil)}
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
	settings := options.Client().
		ApplyURI("mongodb://mock:27017/?directConnection=true").
		SetAppName("shardsh " + version()).
		SetDialer(pipe).
		SetServerMonitoringMode(connstring.ServerMonitoringModePoll)
	client, err := mongo.Connect(settings)
	if err != nil {
		stop()
		return nil, err
	}
	return &connection{
		client: client, address: "mongodb://mock:27017/", database: "test", deployment: "mock: mongos",
		serverVersion: mock.Version,
		cluster:       fmt.Sprintf("mock cluster, %d shards, %s time", len(topology.Shards), timeName(cfg.RealTime)),
		clock:         cluster.Clock(),
		settings:      settings,
		close: func() {
			disconnect(client)
			stop()
		},
	}, nil
}

func timeName(real bool) string {
	if real {
		return "real"
	}
	return "virtual"
}

func mockTopology(o commandLine) (*mock.Topology, error) {
	n, isNumber, err := o.shards()
	if err != nil {
		return nil, err
	}
	if isNumber {
		return mock.DefaultTopology(n), nil
	}
	t, err := mock.ReadTopology(o.mock)
	if err != nil {
		return nil, usageError{fmt.Errorf("--mock: %w", err)}
	}
	return t, nil
}

func connectLive(ctx context.Context, address string) (*connection, error) {
	uri, err := connectionString(address)
	if err != nil {
		return nil, err
	}
	parsed, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, usagef("%s: %s", redact(address), redact(err.Error()))
	}
	settings := options.Client().ApplyURI(uri).SetAppName("shardsh " + version())
	if settings.ServerMonitoringMode == nil {
		// A shell needs no news of the topology by the second, and the streaming
		// monitor costs a second connection and, now and then, ten seconds at
		// the end, when the driver waits for a hello that it does not cancel.
		settings.SetServerMonitoringMode(connstring.ServerMonitoringModePoll)
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, usagef("%s: %s", redact(address), redact(err.Error()))
	}
	var hello struct {
		Msg string `bson:"msg"`
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		disconnect(client)
		return nil, unreachable(address, err)
	}
	c := &connection{
		client: client, address: redact(uri), database: parsed.Database,
		setName: parsed.ReplicaSet, readPreference: settings.ReadPreference, settings: settings,
		noRetryWrites: settings.RetryWrites != nil && !*settings.RetryWrites,
		close:         func() { disconnect(client) },
	}
	if c.database == "" {
		c.database = "test"
	}
	if hello.Msg == "isdbgrid" {
		c.deployment = "mongos"
		if len(parsed.Hosts) == 1 {
			c.deployment = "direct: mongos"
		}
	}
	return c, nil
}

// disconnect gives the driver a moment to end its sessions.
func disconnect(client *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = client.Disconnect(ctx)
}

// unreachable makes a driver's error one line about the address, with the
// reason the network gave.
func unreachable(address string, err error) error {
	reason := err
	var selection topology.ServerSelectionError
	if errors.As(err, &selection) {
		for _, server := range selection.Desc.Servers {
			if server.LastError != nil {
				reason = server.LastError
				break
			}
		}
	}
	for cause := reason; cause != nil; cause = errors.Unwrap(cause) {
		reason = cause
	}
	text, _, _ := strings.Cut(redact(reason.Error()), "\n")
	return fmt.Errorf("can't reach %s: %s", redact(address), text)
}

// notice writes a line for people, unless they want quiet.
func notice(w io.Writer, quiet bool, format string, args ...any) {
	if !quiet {
		fmt.Fprintf(w, format+"\n", args...)
	}
}
