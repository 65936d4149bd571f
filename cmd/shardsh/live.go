package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// connectLive opens a cluster that has an address. On the wire that is the
// driver's handshakes and one hello, which also proves the login (spec 04
// §1.12).
func (env environment) connectLive(ctx context.Context, s server) (*connection, error) {
	c, err := s.connectionString()
	if err != nil {
		return nil, err
	}
	if err := env.fillPassword(ctx, s, c); err != nil {
		return nil, err
	}
	if ignored := ignoredIn(c); len(ignored) > 0 {
		notice(env.stderr, false, "shardsh: of no effect in the connection string: %s", strings.Join(ignored, ", "))
	}
	settings, err := env.clientOptions(ctx, s, c)
	if err != nil {
		return nil, err
	}
	dialing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	watch := &heartbeats{hosts: settings.Hosts, fail: fail}
	client, err := mongo.Connect(settings.SetServerMonitor(watch.monitor()))
	if err != nil {
		return nil, connectError(c, err)
	}
	greeting, err := greet(dialing, client)
	watch.stop()
	if err != nil {
		disconnect(client)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case dialing.Err() != nil:
			err = context.Cause(dialing)
		}
		return nil, unreachable(c, err)
	}
	conn := &connection{
		client: client, address: c.shown(), setName: greeting.SetName, readPreference: settings.ReadPreference,
		noRetryWrites: settings.RetryWrites != nil && !*settings.RetryWrites,
		deployment:    greeting.kind(), apiVersion: s.apiVersion, settings: settings,
		close: func() { disconnect(client) },
	}
	conn.member = greeting.member(ctx, client)
	if settings.Direct != nil && *settings.Direct && conn.deployment != "" {
		conn.deployment = "direct: " + conn.deployment
	}
	if conn.database, err = url.PathUnescape(c.database); err != nil || conn.database == "" {
		conn.database = "test"
	}
	return conn, nil
}

// scriptClientOptions reads an address that a script gives to Mongo() or
// connect() as the command line reads one. The options of the command line
// are not for it, and nobody is asked for the password of a user.
func (env environment) scriptClientOptions(ctx context.Context, uri string) (*options.ClientOptions, error) {
	c, err := parseConnectionString(uri)
	if err != nil {
		return nil, err
	}
	return env.clientOptions(ctx, server{}, withDefaults(c))
}

// clientOptions returns what the driver needs to know.
func (env environment) clientOptions(ctx context.Context, s server,
	c *connectionString) (*options.ClientOptions, error) {
	checks, err := takeTLSChecks(c)
	if err != nil {
		return nil, err
	}
	if unknown := unknownIn(c); unknown != "" {
		return nil, usagef("the connection string has an option that is not supported: %s", unknown)
	}
	keyFile, hasKey := c.get("tlsCertificateKeyFile")
	_, hasPassword := c.get("tlsCertificateKeyFilePassword")
	switch {
	case s.tls.keyPassword.given && !hasKey:
		return nil, usagef("--tlsCertificateKeyFilePassword needs --tlsCertificateKeyFile")
	case hasKey && !hasPassword:
		password, err := env.keyPassword(ctx, s, keyFile)
		if err != nil {
			return nil, err
		}
		if password != "" {
			c.set("tlsCertificateKeyFilePassword", password)
		}
	}
	settings := options.Client().ApplyURI(c.String())
	if err := settings.Validate(); err != nil {
		return nil, connectError(c, err)
	}
	if err := s.tls.configure(settings.TLSConfig, checks); err != nil {
		return nil, err
	}
	if s.apiVersion != "" {
		settings.SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion(s.apiVersion)).
			SetStrict(s.apiStrict).SetDeprecationErrors(s.apiDeprecationErrors))
	}
	if settings.AppName == nil {
		settings.SetAppName("shardsh " + version())
	}
	if env.transcript != nil {
		settings.SetMonitor(env.transcript.Monitor())
	}
	settings.SetServerMonitoringMode(monitoringMode(c))
	return settings, nil
}

// monitoringMode returns how the driver watches the servers: as the connection
// string says, which the driver itself does not copy from there, and by polling
// otherwise. A shell needs no news of the topology by the second, and the
// streaming monitor costs a second connection and, now and then, ten seconds at
// the end, when the driver waits for a hello that it does not cancel.
func monitoringMode(c *connectionString) string {
	if mode, ok := c.get("serverMonitoringMode"); ok {
		return mode
	}
	return connstring.ServerMonitoringModePoll
}

// ignoredParameters are options of connection strings that the driver has no
// use for, and that do no harm when left out.
var ignoredParameters = []string{"waitqueuetimeoutms", "waitqueuemultiple", "waitqueuesize", "wtimeout", "wtimeoutms"}

// unknownParameters returns those that the driver does not know, in lower case.
func unknownParameters(c *connectionString) []string {
	plain := *c
	plain.scheme = scheme // asks no name server
	parsed, err := connstring.Parse(plain.String())
	if err != nil {
		return nil // which the driver will tell
	}
	var names []string
	for name := range parsed.UnknownOptions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func ignoredIn(c *connectionString) []string {
	return slices.DeleteFunc(unknownParameters(c), func(n string) bool { return !slices.Contains(ignoredParameters, n) })
}

func unknownIn(c *connectionString) string {
	return strings.Join(slices.DeleteFunc(unknownParameters(c), func(n string) bool {
		return slices.Contains(ignoredParameters, n)
	}), ", ")
}

// greeting is what a server's hello says of it.
type greeting struct {
	Msg       string `bson:"msg"`
	SetName   string `bson:"setName"`
	Primary   bool   `bson:"isWritablePrimary"`
	Secondary bool   `bson:"secondary"`
	Arbiter   bool   `bson:"arbiterOnly"`
	Config    int    `bson:"configsvr"`
}

func greet(ctx context.Context, client *mongo.Client) (g greeting, err error) {
	err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&g)
	return g, err
}

// member says which part of a sharded cluster the server is; empty for a router, and
// for what belongs to none or does not tell this user.
func (g greeting) member(ctx context.Context, client *mongo.Client) string {
	switch {
	case g.Config > 0:
		return "a config server"
	case g.SetName == "":
		return ""
	}
	var state struct {
		Enabled bool   `bson:"enabled"`
		Shard   string `bson:"shardName"`
	}
	err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "shardingState", Value: 1}}).Decode(&state)
	if err != nil || !state.Enabled {
		return ""
	}
	return "a member of shard " + state.Shard
}

// kind returns what the prompt says of the server (spec 04 §2.2); nothing for
// one that stands alone.
func (g greeting) kind() string {
	switch {
	case g.Msg == "isdbgrid":
		return "mongos"
	case g.SetName == "":
		return ""
	case g.Primary:
		return "primary"
	case g.Secondary:
		return "secondary"
	case g.Arbiter:
		return "arbiter"
	}
	return "other"
}

// disconnect gives the driver a moment to end its sessions.
func disconnect(client *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	_ = client.Disconnect(ctx)
}

// connectError returns an error from before anything was sent: a usage error,
// but for a name that could not be looked up.
func connectError(c *connectionString, err error) error {
	if errors.As(err, new(*net.DNSError)) {
		return unreachable(c, err)
	}
	if _, hasKey := c.get("tlsCertificateKeyFile"); hasKey &&
		(errors.Is(err, x509.IncorrectPasswordError) || strings.Contains(err.Error(), "pkcs8: incorrect password")) {
		return usagef("--tlsCertificateKeyFile: the password of the key is wrong")
	}
	if mechanism, _ := c.get("authMechanism"); strings.EqualFold(mechanism, "GSSAPI") {
		return errKerberos
	}
	return usagef("%s: %s", c.place(), redact(err.Error()))
}

// authenticationFailed is the server's code.
const authenticationFailed = 18

// unreachable makes a driver's error one line about the address, with the
// reason the network gave, or the server.
func unreachable(c *connectionString, err error) error {
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
	var refused driver.Error
	if errors.As(reason, &refused) && refused.Code != 0 {
		source, ok := c.get("authSource")
		if !ok {
			source = "admin"
			if c.database != "" {
				source = c.database
			}
		}
		if refused.Code == authenticationFailed {
			return connectionError{refused.Code, fmt.Sprintf(
				"can't log in to %s: %s (looked for the user in the database %s; see --authenticationDatabase)",
				c.place(), redact(refused.Message), source)}
		}
		return connectionError{refused.Code, fmt.Sprintf("can't use %s: %s", c.place(), redact(refused.Message))}
	}
	for cause := reason; cause != nil; cause = errors.Unwrap(cause) {
		reason = cause
	}
	text, _, _ := strings.Cut(redact(reason.Error()), "\n")
	if errors.Is(reason, io.EOF) || errors.Is(reason, syscall.ECONNRESET) {
		text = "the server closed the connection at once; " + c.tlsHint()
	}
	return connectionError{0, fmt.Sprintf("can't reach %s: %s", c.place(), text)}
}

// connectionError says why there is no connection.
type connectionError struct {
	code    int32 // the server's, if it was one that refused
	message string
}

func (e connectionError) Error() string { return e.message }

// name returns what scripts call such an error.
func (e connectionError) name() string {
	if e.code != 0 {
		return "MongoServerError"
	}
	return "MongoServerSelectionError"
}

// tlsHint is for servers that do not talk to us: most do not expect TLS, or
// expect it.
func (c *connectionString) tlsHint() string {
	if on, ok := c.get("tls"); ok && on == "true" {
		return "perhaps it does not use TLS (--tls)"
	}
	return "perhaps it wants TLS (--tls)"
}
