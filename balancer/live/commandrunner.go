package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/mongoerr"
)

// CommandRunner sends commands to a cluster.
type CommandRunner interface {
	// RunCommand returns the reply of a command to a database.
	RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error)
	// RunCursorCommand returns all documents of a command that returns a cursor.
	RunCursorCommand(ctx context.Context, database string, command bson.D) ([]bson.Raw, error)
}

// NewCommandRunner returns a CommandRunner that sends commands through a driver's client. A read is
// sent again once if the connection breaks.
func NewCommandRunner(client *mongo.Client) CommandRunner { return clientRunner{client} }

// WithInterceptor returns a CommandRunner that calls check before each command; check may return the
// reply itself.
func WithInterceptor(
	a CommandRunner, check func(database string, command bson.Raw) (reply bson.Raw, err error),
) CommandRunner {
	return interceptedRunner{a, check}
}

type interceptedRunner struct {
	CommandRunner
	intercept func(database string, command bson.Raw) (bson.Raw, error)
}

func (c interceptedRunner) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	raw, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	if reply, err := c.intercept(database, raw); reply != nil || err != nil {
		return reply, err
	}
	return c.CommandRunner.RunCommand(ctx, database, command)
}

type clientRunner struct{ client *mongo.Client }

func (c clientRunner) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	ctx, command, cancel := WithSingleTimeout(ctx, command)
	defer cancel()
	ask := func() (bson.Raw, error) { return c.client.Database(database).RunCommand(ctx, command).Raw() }
	if len(command) == 0 || !slices.Contains(repeatableCommands, command[0].Key) {
		return ask()
	}
	return retryRead(ctx, ask)
}

func (c clientRunner) RunCursorCommand(ctx context.Context, database string, command bson.D) ([]bson.Raw, error) {
	ctx, command, cancel := WithSingleTimeout(ctx, command)
	defer cancel()
	return readAllDocs(ctx,
		func() (*mongo.Cursor, error) { return c.client.Database(database).RunCommandCursor(ctx, command) })
}

// WithSingleTimeout returns a command without maxTimeMS if the context has a deadline, because the
// driver sends the deadline as maxTimeMS, and servers refuse a command with two of them.
func WithSingleTimeout(ctx context.Context, command bson.D) (context.Context, bson.D, context.CancelFunc) {
	i := slices.IndexFunc(command, func(e bson.E) bool { return e.Key == "maxTimeMS" })
	if _, limited := ctx.Deadline(); !limited || i < 0 {
		return ctx, command, func() {}
	}
	rest := slices.Delete(slices.Clone(command), i, i+1)
	var ms int64
	switch v := command[i].Value.(type) {
	case int64:
		ms = v
	case int32:
		ms = int64(v)
	case int:
		ms = int64(v)
	default:
		return ctx, rest, func() {}
	}
	if ms <= 0 { // no limit
		return ctx, rest, func() {}
	}
	limit, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	return limit, rest, cancel
}

// repeatableCommands are the commands of this package that change nothing, so that they can be sent
// again. For other commands, the caller has to handle a lost answer.
var repeatableCommands = []string{
	"balancerCollectionStatus", "balancerStatus", "buildInfo", "connPoolStats", "count", "dataSize", "dbStats",
	"getParameter", "getShardMap", "getTransitionToDedicatedConfigServerStatus", "hello", "hostInfo", "isMaster",
	"listDatabases", "replSetGetConfig", "replSetGetStatus", "serverStatus", "shardDrainingStatus", "shardingState",
	"splitVector",
}

// IsReadCommand reports whether a command of this package with this name changes nothing.
func IsReadCommand(name string) bool {
	return slices.Contains(repeatableCommands, name) ||
		slices.Contains([]string{"aggregate", "connectionStatus", "find"}, name)
}

// retryRead calls read, and again if the connection broke, because the mongos may have been restarted,
// or a firewall may have dropped the connection. It does not retry after a timeout, or if no server was
// found, since the caller has waited already. Reads that a server rejects because it is overloaded are
// retried with a delay.
func retryRead[T any](ctx context.Context, read func() (T, error)) (T, error) {
	v, err := read()
	if err != nil && ctx.Err() == nil && isConnectionLost(err) {
		v, err = read()
	}
	for refused := 1; refused <= maxOverloadRetries && mongoerr.IsOverloaded(ServerError(err)); refused++ {
		delay := time.NewTimer(mongoerr.OverloadDelay(ServerError(err), refused, rand.Float64()))
		select {
		case <-delay.C:
		case <-ctx.Done():
			delay.Stop()
			return v, err
		}
		v, err = read()
	}
	return v, err
}

// maxOverloadRetries limits the retries on an overloaded server, to half a minute in total.
const maxOverloadRetries = 8

// isConnectionLost reports whether a connection was lost.
func isConnectionLost(err error) bool {
	return !mongo.IsTimeout(err) && !errors.As(err, new(topology.ServerSelectionError)) &&
		errors.As(ServerError(err), new(*mongoerr.UnansweredError))
}

// readAllDocs returns all documents of a cursor.
func readAllDocs(ctx context.Context, open func() (*mongo.Cursor, error)) ([]bson.Raw, error) {
	return retryRead(ctx, func() (docs []bson.Raw, err error) {
		cursor, err := open()
		if err != nil {
			return nil, err
		}
		err = eachInCursor(ctx, cursor, func(doc bson.Raw) error {
			docs = append(docs, slices.Clone(doc))
			return nil
		})
		return docs, err
	})
}

// ReadRouterTime returns the time of the mongos, which needs no privilege. The logical time in replies
// stands still while nothing is written.
func ReadRouterTime(ctx context.Context, a CommandRunner) (time.Time, error) {
	hello, err := sendHello(ctx, a.RunCommand)
	if err != nil {
		return time.Time{}, ServerError(err)
	}
	now, ok := hello.Lookup("localTime").TimeOK()
	if !ok {
		return now, errors.New("hello has no localTime")
	}
	return now.UTC(), nil
}

// ErrNotSharded says that the server is not a mongos.
var ErrNotSharded = errors.New("the server is not a mongos: there is no balancer to ask")

// CheckSharded returns ErrNotSharded if the server is not a mongos.
func CheckSharded(ctx context.Context, a CommandRunner) error {
	_, err := sendHello(ctx, a.RunCommand)
	return err
}
