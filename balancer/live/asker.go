package live

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Asker sends commands that change nothing to a cluster.
type Asker interface {
	// Ask returns the reply of a command to a database.
	Ask(ctx context.Context, database string, command bson.D) (bson.Raw, error)
	// List returns all documents of a command that answers with a cursor.
	List(ctx context.Context, database string, command bson.D) ([]bson.Raw, error)
}

// AskerOf returns the Asker that sends through a driver's client.
func AskerOf(client *mongo.Client) Asker { return clientAsker{client} }

// Behind has commands pass a check first, which may answer in place of the cluster.
func Behind(a Asker, check func(database string, command bson.Raw) (reply bson.Raw, err error)) Asker {
	return checked{a, check}
}

type checked struct {
	Asker
	check func(database string, command bson.Raw) (bson.Raw, error)
}

func (c checked) Ask(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	raw, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	if reply, err := c.check(database, raw); reply != nil || err != nil {
		return reply, err
	}
	return c.Asker.Ask(ctx, database, command)
}

type clientAsker struct{ client *mongo.Client }

func (a clientAsker) Ask(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	return a.client.Database(database).RunCommand(ctx, command).Raw()
}

func (a clientAsker) List(ctx context.Context, database string, command bson.D) (docs []bson.Raw, err error) {
	cursor, err := a.client.Database(database).RunCommandCursor(ctx, command)
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &docs)
	return docs, err
}

// Now returns what time it is on the mongos that answers.
func Now(ctx context.Context, a Asker) (time.Time, error) {
	hello, err := greet(ctx, a)
	if err != nil {
		return time.Time{}, ServerError(err)
	}
	now, ok := hello.Lookup("localTime").TimeOK()
	if !ok {
		return now, errors.New("hello tells no localTime")
	}
	return now, nil
}

// ErrNotSharded says that the server is not a mongos.
var ErrNotSharded = errors.New("the server is not a mongos: there is no balancer to ask")

// CheckSharded returns ErrNotSharded when the server is no mongos.
func CheckSharded(ctx context.Context, a Asker) error {
	_, err := greet(ctx, a)
	return err
}
