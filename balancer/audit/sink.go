package audit

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/policy"
)

// Sink takes lines. Several goroutines may use one at once.
type Sink interface {
	// Write returns when the line is safe.
	Write(ctx context.Context, e Entry) error
	Close() error
}

// The destinations that are not files. A file of that name is "./syslog".
const (
	ToSyslog  = "syslog"
	ToCluster = "cluster"
)

// Open opens a destination: "syslog", "cluster" for a collection of the client's cluster,
// or the name of a file. A failure says that nothing may be changed: it is an *Error.
func Open(ctx context.Context, destination string, client *mongo.Client) (sink Sink, err error) {
	switch destination {
	case ToSyslog:
		sink, err = openSyslog()
	case ToCluster:
		sink, err = openCollection(ctx, client)
	default:
		sink, err = openFile(destination)
	}
	if err != nil {
		return nil, &Error{destination, err}
	}
	return sink, nil
}

// Error says that the audit can't be written: nothing is sent then.
type Error struct {
	Destination string
	Err         error
}

// Error names the destination.
func (e *Error) Error() string {
	return fmt.Sprintf("the audit (%s) can't be written, and nothing is changed without it: %v", e.Destination, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Failure says that somebody has to look into it first.
func (e *Error) Failure() policy.Failure { return policy.Ask }
