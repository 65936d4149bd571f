package audit

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/policy"
)

// Sink stores audit entries. A Sink is safe for concurrent use.
type Sink interface {
	// Write returns when the entry is stored durably.
	Write(ctx context.Context, e Entry) error
	Close() error
}

// The destinations that are not files. Users write "./syslog" for a file of that name.
const (
	SyslogDestination  = "syslog"
	ClusterDestination = "cluster"
)

// Open opens a destination: "syslog", "cluster" for a collection of the client's cluster, or the name
// of a file. Errors are of type *Error; the caller must not change the cluster then.
func Open(ctx context.Context, destination string, client *mongo.Client) (sink Sink, err error) {
	switch destination {
	case SyslogDestination:
		sink, err = openSyslog()
	case ClusterDestination:
		sink, err = openCollection(ctx, client)
	default:
		sink, err = openFile(destination)
	}
	if err != nil {
		return nil, &Error{destination, err}
	}
	return sink, nil
}

// OpenAll opens several destinations as one Sink.
func OpenAll(ctx context.Context, destinations []string, client *mongo.Client) (Sink, error) {
	var all sinks
	for _, to := range destinations {
		sink, err := Open(ctx, to, client)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all = append(all, sink)
	}
	return all, nil
}

// sinks writes to several sinks.
type sinks []Sink

// Write returns when the entry is stored durably in all sinks.
func (s sinks) Write(ctx context.Context, e Entry) error {
	for _, one := range s {
		if err := one.Write(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// Close closes all sinks.
func (s sinks) Close() (err error) {
	for _, one := range s {
		err = errors.Join(err, one.Close())
	}
	return err
}

// Error says that an audit entry can't be written. No command is sent then.
type Error struct {
	Destination string
	Err         error
}

// Error returns the message, which names the destination.
func (e *Error) Error() string {
	return fmt.Sprintf("the audit (%s) can't be written, and nothing is changed without it: %v", e.Destination, e.Err)
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Failure returns AskOperator: an operator has to repair the destination first.
func (e *Error) Failure() policy.FailureClass { return policy.AskOperator }
