package main

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rehearsal"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/target"
	"shardsh/repl"
)

// rehearsals is a dry run of the shell: its clients reach clusters through rehearsals, one for each
// cluster.
type rehearsals struct {
	// connect opens a connection of a script; nil without a dry run.
	connect func(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error)

	options  rehearsal.Options
	clusters []*clusterRehearsal
	cleanups []func()
}

// clusterRehearsal is the rehearsal on one cluster.
type clusterRehearsal struct {
	hosts []string
	*rehearsal.Rehearsal
}

// startRehearsals starts a rehearsal between the program and its cluster if this is a dry run.
func startRehearsals(
	ctx context.Context, env environment, o *shellFlags, conn *connection, screen *repl.DeferredOutput, interactive bool,
) (*rehearsals, error) {
	r := new(rehearsals)
	if !o.rehearses {
		return r, nil
	}
	json := o.wantsJSON()
	env.stdout, env.stderr = screen.Writer(env.stdout), screen.Writer(env.stderr)
	r.options = rehearsal.Options{
		OnChange: func(database string, command bson.Raw) { printChange(env, json, database, command) },
		Note:     func(text string) { notice(env.stderr, o.quiet.On, "%s", plaintext.EscapeLine(text)) },
		Clock:    conn.clock, Seed: o.seed.Value,
	}
	if r.options.Clock == nil {
		r.options.Clock = script.WallClock()
	}
	if interactive {
		r.options.ClockSpeed = 1
	}
	r.connect = func(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error) {
		return r.open(ctx, settings)
	}
	if conn.client == nil {
		return r, nil
	}
	settings := *conn.clientOptions
	if conn.transcript != nil {
		settings.SetMonitor(conn.transcript.Monitor())
	}
	w, err := r.rehearsalOf(settings.Hosts).Connect(ctx, conn.client, &settings, conn.address)
	if err != nil {
		return nil, err
	}
	r.cleanups = append(r.cleanups, w.Close, func() { target.Disconnect(w.Client) })
	conn.client, conn.clock = w.Client, r.clusters[0].Clock()
	return r, nil
}

// open opens a script's connection through the rehearsal of its cluster.
func (r *rehearsals) open(ctx context.Context, settings *options.ClientOptions) (*mongo.Client, error) {
	behind := *settings
	behind.Monitor = nil
	client, err := live.Connect(&behind)
	if err != nil {
		return nil, err
	}
	w, err := r.rehearsalOf(settings.Hosts).Connect(ctx, client, settings, "")
	if err != nil {
		target.Disconnect(client)
		return nil, err
	}
	r.cleanups = append(r.cleanups, func() { target.Disconnect(client) }, w.Close)
	return w.Client, nil
}

// rehearsalOf returns the rehearsal on the cluster with some hosts.
func (r *rehearsals) rehearsalOf(hosts []string) *clusterRehearsal {
	for _, known := range r.clusters {
		if slices.Equal(known.hosts, hosts) {
			return known
		}
	}
	added := &clusterRehearsal{slices.Clone(hosts), rehearsal.New(r.options)}
	r.clusters = append(r.clusters, added)
	return added
}

// close closes all rehearsals in the reverse order of their creation.
func (r *rehearsals) close() {
	for _, end := range slices.Backward(r.cleanups) {
		end()
	}
	for _, run := range r.clusters {
		run.Close()
	}
}
