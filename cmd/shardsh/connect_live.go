package main

import (
	"context"
	"net/url"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/target"
)

// connectLive connects to a cluster with an address.
func connectLive(ctx context.Context, env environment, s target.ConnectionFlags) (*connection, error) {
	c, err := s.ConnectionString()
	if err != nil {
		return nil, err
	}
	way := newDialer(env)
	if err := way.FillPassword(ctx, s, c); err != nil {
		return nil, err
	}
	if ignored := target.IgnoredParameters(c); len(ignored) > 0 {
		notice(env.stderr, false, "shardsh: ignored in the connection string: %s", strings.Join(ignored, ", "))
	}
	settings, err := way.Settings(ctx, s, c)
	if err != nil {
		return nil, err
	}
	client, greeting, err := target.Connect(ctx, c, settings)
	if err != nil {
		return nil, err
	}
	conn := &connection{
		client: client, address: c.Redacted(), setName: greeting.SetName, readPreference: settings.ReadPreference,
		noRetryWrites: settings.RetryWrites != nil && !*settings.RetryWrites,
		deployment:    greeting.Kind(), apiVersion: s.APIVersion, clientOptions: settings,
		clock: env.clock,
		close: func() { target.Disconnect(client) },
	}
	conn.memberText = greeting.DescribeMember(ctx, client)
	if settings.Direct != nil && *settings.Direct && conn.deployment != "" {
		conn.deployment = "direct: " + conn.deployment
	}
	if conn.database, err = url.PathUnescape(c.Database); err != nil || conn.database == "" {
		conn.database = "test"
	}
	return conn, nil
}

// newDialer returns the dialer of this program.
func newDialer(env environment) target.Dialer {
	way := target.Dialer{AppName: "shardsh " + buildinfo.Version(), Getenv: env.getenv,
		Ask: func(ctx context.Context, question, remedy string) (string, error) {
			return askSecret(ctx, env, question, remedy)
		}}
	if env.transcript != nil {
		way.Monitor = env.transcript.Monitor()
	}
	return way
}

// scriptClientOptions parses an address that a script passes to Mongo() or connect(), as the command
// line would. The options of the command line do not apply to it, and the user is not asked for a
// password.
func scriptClientOptions(ctx context.Context, env environment, uri string) (*options.ClientOptions, error) {
	c, err := target.Parse(uri)
	if err != nil {
		return nil, err
	}
	return newDialer(env).Settings(ctx, target.ConnectionFlags{}, c)
}
