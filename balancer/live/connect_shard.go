package live

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ConnectShard connects directly to a shard's replica set, bypassing the router, and reads from its
// primary. It uses the settings of the cluster's client, such as user and TLS. hosts is a connection
// string as in config.shards. ConnectShard fails after a few seconds if no member answers.
func ConnectShard(ctx context.Context, settings *options.ClientOptions, hosts string) (*mongo.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	_, list, named := strings.Cut(hosts, "/")
	if !named {
		list = hosts
	}
	var err error
	for host := range strings.SplitSeq(list, ",") {
		if err = checkReachableSoon(ctx, settings.Dialer, host); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	client, err := Connect(memberSettings(settings, hosts).SetMaxPoolSize(8))
	if err != nil {
		return nil, err
	}
	if _, err := helloMember(ctx, NewCommandRunner(client)); err != nil {
		_ = Disconnect(context.WithoutCancel(ctx), client) // nothing was written
		return nil, ServerError(err)
	}
	return client, nil
}

func checkReachableSoon(ctx context.Context, dialer options.ContextDialer, host string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return checkReachable(ctx, dialer, host)
}

// EachDocument calls put with each document of a command that returns a cursor, as the documents
// arrive. A document is valid until put returns.
func EachDocument(
	ctx context.Context,
	client *mongo.Client,
	database string,
	command bson.D,
	put func(bson.Raw) error,
) error {
	ctx, command, cancel := WithSingleTimeout(ctx, command)
	defer cancel()
	cursor, err := client.Database(database).RunCommandCursor(ctx, command)
	if err != nil {
		return ServerError(err)
	}
	return ServerError(eachInCursor(ctx, cursor, put))
}
