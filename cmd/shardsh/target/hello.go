package target

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
)

// Connect connects to the servers of a connection string, and waits for the reply of one to hello, unless
// the connection can't succeed. It sends the driver's handshakes and one hello
// (rules/04-command-line-and-prompt §1.12).
func Connect(ctx context.Context, c *ConnectionString, settings *options.ClientOptions) (*mongo.Client, HelloReply,
	error) {
	dialing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	watch := &connectionWatch{hosts: settings.Hosts, fail: fail}
	client, err := live.Connect(settings.SetServerMonitor(watch.monitor()))
	if err != nil {
		return nil, HelloReply{}, connectError(c, err)
	}
	greeting, err := Hello(dialing, client)
	watch.stop()
	if err == nil {
		return client, greeting, nil
	}
	Disconnect(client)
	switch {
	case ctx.Err() != nil:
		return nil, greeting, context.Cause(ctx)
	case dialing.Err() != nil:
		err = context.Cause(dialing)
	}
	return nil, greeting, unreachableError(c, err)
}

// Disconnect disconnects a client, with a short time for the driver to end its sessions.
func Disconnect(client *mongo.Client) {
	_ = live.Disconnect(context.Background(), client)
}

// HelloReply is the reply to hello.
type HelloReply struct {
	Msg       string `bson:"msg"`
	SetName   string `bson:"setName"`
	Primary   bool   `bson:"isWritablePrimary"`
	Secondary bool   `bson:"secondary"`
	Arbiter   bool   `bson:"arbiterOnly"`
	Config    int    `bson:"configsvr"`
}

// Hello sends hello to a server. This also proves that the authentication has succeeded.
func Hello(ctx context.Context, client *mongo.Client) (g HelloReply, err error) {
	err = runAdminCommand(ctx, client, "hello", &g)
	return g, err
}

// DescribeMember returns the part of a sharded cluster that the server is. It is empty for a router, for a
// server outside of a sharded cluster, and if this user may not read it.
func (g HelloReply) DescribeMember(ctx context.Context, client *mongo.Client) string {
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
	if err := runAdminCommand(ctx, client, "shardingState", &state); err != nil || !state.Enabled {
		return ""
	}
	return "a member of shard " + state.Shard
}

// Kind returns the prompt's description of the server (rules/04-command-line-and-prompt §2.2); empty
// for a standalone server.
func (g HelloReply) Kind() string {
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

func runAdminCommand(ctx context.Context, client *mongo.Client, command string, reply any) error {
	raw, err := live.NewCommandRunner(client).RunCommand(ctx, "admin", bson.D{{Key: command, Value: 1}})
	if err != nil {
		return err
	}
	return bson.Unmarshal(raw, reply)
}
