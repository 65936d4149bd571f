package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
)

// MemberReader reads the load of the shards directly, not through the mongos: from their primaries, which
// know the lag of their secondaries. A client for a shard is created at the first read of the shard.
type MemberReader struct {
	cluster       CommandRunner
	clientOptions *options.ClientOptions
	wanted        []pace.Quantity
	configWanted  []pace.Quantity // quantities wanted of the config servers

	mu      sync.Mutex
	clients map[catalog.ShardID]*replicaSetClient
}

// replicaSetClient is a client of the replica set of a shard.
type replicaSetClient struct {
	hosts        string // as in config.shards
	client       *mongo.Client
	cores        float64
	lastUsage    cpuUsage // at the last read
	lastCPUShare float64
	shareKnown   bool // lastCPUShare is known
}

// MembersError says that a shard could not be read, with a remedy.
type MembersError struct {
	Shard catalog.ShardID
	Hosts string
	Err   error
}

func (e *MembersError) Error() string {
	what := "cannot be reached; allow connections to them from this host"
	var refused *mongoerr.ServerError
	switch {
	case IsLoginError(e.Err):
		what = "reject the login (each shard has its own users); create the user on each shard"
	case mongoerr.Is(e.Err, mongoerr.Unauthorized):
		what = "refuse to answer; grant the user the role clusterMonitor there"
	case errors.As(e.Err, &refused):
		what = "refuse to answer"
	}
	return fmt.Sprintf("the members of %s (%s) %s, or leave out --pause-when: %v", e.Shard, e.Hosts, what, e.Err)
}

// Unwrap returns the cause.
func (e *MembersError) Unwrap() error { return e.Err }

// Failure returns the class of the cause. A failed login is not retried.
func (e *MembersError) Failure() policy.FailureClass {
	if IsLoginError(e.Err) {
		return policy.AskOperator
	}
	return policy.FailureClassOf(e.Err)
}

// IsLoginError reports whether a login was refused. The driver reports that only in its message.
func IsLoginError(err error) bool {
	return mongoerr.Is(err, mongoerr.AuthenticationFailed) || strings.Contains(err.Error(), "auth error") ||
		strings.Contains(err.Error(), "unable to authenticate")
}

// NewMemberReader returns the members of a cluster's shards, to read some quantities, and those of the
// config servers if quantities of these are wanted. The connections use the settings of the cluster's
// client, such as user and TLS.
func NewMemberReader(cluster CommandRunner, settings *options.ClientOptions, wanted []pace.Quantity) *MemberReader {
	m := &MemberReader{cluster: cluster, clientOptions: settings, clients: map[catalog.ShardID]*replicaSetClient{}}
	for _, q := range wanted {
		if bare, config := q.WithoutConfig(); config {
			m.configWanted = append(m.configWanted, bare)
		} else {
			m.wanted = append(m.wanted, q)
		}
	}
	return m
}

// Close closes the connections.
func (m *MemberReader) Close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, c := range m.clients {
		errs = append(errs, Disconnect(ctx, c.client))
	}
	clear(m.clients)
	return errors.Join(errs...)
}

// memberTimeout is the time limit for a member's answer.
const memberTimeout = 5 * time.Second

// Read reads the members of some shards, and of the config servers. If a member does not answer, the
// error is a *MembersError.
func (m *MemberReader) Read(ctx context.Context, ids []catalog.ShardID) ([]pace.Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []pace.Reading
	for _, id := range ids {
		if len(m.wanted) == 0 {
			break
		}
		c, err := m.shardClient(ctx, id)
		if err != nil {
			return nil, err
		}
		readings, err := m.readFrom(ctx, id, c, m.wanted)
		if err != nil {
			return nil, err
		}
		list = append(list, readings...)
	}
	if len(m.configWanted) == 0 {
		return list, nil
	}
	readings, err := m.readConfigServers(ctx)
	return append(list, readings...), err
}

func (m *MemberReader) readFrom(ctx context.Context, id catalog.ShardID, c *replicaSetClient, wanted []pace.Quantity) (
	[]pace.Reading, error) {
	asking, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	readings, err := c.readQuantities(asking, id, wanted)
	if err != nil {
		return nil, &MembersError{id, c.hosts, err}
	}
	return readings, nil
}

// readConfigServers reads the quantities of the config servers.
func (m *MemberReader) readConfigServers(ctx context.Context) ([]pace.Reading, error) {
	hosts, err := readConfigHosts(ctx, m.cluster.RunCommand)
	if err != nil {
		return nil, err
	}
	c, err := m.clientFor(ctx, configServersID, hosts)
	if err != nil {
		return nil, err
	}
	readings, err := m.readFrom(ctx, catalog.ConfigServerID, c, m.configWanted)
	for i, r := range readings {
		readings[i].Values = map[pace.Quantity]float64{}
		for q, value := range r.Values {
			readings[i].Values[pace.ConfigPrefix+q] = value
		}
	}
	return readings, err
}

// readConfigHosts returns the connection string of the config servers, as known by a router.
func readConfigHosts(
	ctx context.Context, run func(ctx context.Context, database string, command bson.D) (bson.Raw, error),
) (string, error) {
	reply, err := run(ctx, "admin", bson.D{{Key: "getShardMap", Value: int32(1)}})
	return text(reply, "map", "config"), ServerError(err)
}

// configServersID identifies the client of the config servers. They may also be a shard, with a
// separate client and a separate CPU usage.
const configServersID = "config servers"

// Check reads the members of all shards, so that an unreachable member is detected before anything
// moves. It is also the first of the two reads from whose difference some quantities are computed.
func (m *MemberReader) Check(ctx context.Context) error {
	ids, err := m.listShards(ctx)
	if err != nil {
		return err
	}
	if _, err = m.Read(ctx, ids); err != nil || !slices.Contains(slices.Concat(m.wanted, m.configWanted), pace.CPU) {
		return err
	}
	select {
	case <-time.After(cpuSampleInterval):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_, err = m.Read(ctx, ids)
	return err
}

func (m *MemberReader) listShards(ctx context.Context) (ids []catalog.ShardID, err error) {
	docs, err := m.cluster.RunCursorCommand(ctx, "config", bson.D{{Key: "find", Value: "shards"}})
	for _, doc := range docs {
		ids = append(ids, catalog.ShardID(text(doc, "_id")))
	}
	return ids, ServerError(err)
}

// shardClient returns the client of a shard.
func (m *MemberReader) shardClient(ctx context.Context, id catalog.ShardID) (*replicaSetClient, error) {
	docs, err := m.cluster.RunCursorCommand(ctx, "config", bson.D{
		{Key: "find", Value: "shards"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: string(id)}}},
	})
	if err != nil {
		return nil, ServerError(err)
	}
	if len(docs) == 0 {
		return nil, mongoerr.New(mongoerr.ShardNotFound, "shard %s not found", id)
	}
	return m.clientFor(ctx, id, text(docs[0], "host"))
}

// clientFor returns the client of a replica set; a new one if its hosts have changed.
func (m *MemberReader) clientFor(ctx context.Context, id catalog.ShardID, hosts string) (*replicaSetClient, error) {
	if c := m.clients[id]; c != nil {
		if c.hosts == hosts {
			return c, nil
		}
		_ = Disconnect(ctx, c.client) // nothing was written
		delete(m.clients, id)
	}
	client, err := Connect(memberSettings(m.clientOptions, hosts))
	if err != nil {
		return nil, &MembersError{id, hosts, err}
	}
	m.clients[id] = &replicaSetClient{hosts: hosts, client: client}
	return m.clients[id], nil
}

// memberSettings returns the settings for a client of a shard: those of the cluster's client, without
// options that belong to its address, such as SRV.
func memberSettings(from *options.ClientOptions, hosts string) *options.ClientOptions {
	set, list, named := strings.Cut(hosts, "/")
	o := options.Client().SetReadPreference(readpref.Primary()).SetServerSelectionTimeout(memberTimeout).SetMaxPoolSize(2)
	if named {
		o.SetReplicaSet(set).SetHosts(strings.Split(list, ","))
	} else {
		o.SetDirect(true).SetHosts(strings.Split(hosts, ","))
	}
	o.AppName, o.Auth, o.TLSConfig = from.AppName, from.Auth, from.TLSConfig
	o.Dialer, o.HTTPClient = from.Dialer, from.HTTPClient
	o.Compressors, o.ZlibLevel, o.ZstdLevel = from.Compressors, from.ZlibLevel, from.ZstdLevel
	o.ConnectTimeout, o.ServerAPIOptions, o.DriverInfo = from.ConnectTimeout, from.ServerAPIOptions, from.DriverInfo
	o.ServerMonitoringMode, o.HeartbeatInterval = from.ServerMonitoringMode, from.HeartbeatInterval
	o.DisableOCSPEndpointCheck, o.DisableCertificateRevocationCheck = from.DisableOCSPEndpointCheck,
		from.DisableCertificateRevocationCheck
	return o
}
