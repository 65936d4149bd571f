package call

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/failpoint"
	"shardsh/balancer/mongoerr"
)

// ErrMaxTime returns the error of a command whose maxTimeMS has passed.
func ErrMaxTime() error {
	return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
}

// TakeFailure returns the effect of a fail point on a command, nil for none.
func TakeFailure(point *failpoint.Point, cmd *Command, c *Call) *failpoint.Failure {
	if !point.IsOn() {
		return nil
	}
	app := ""
	if c.Conn != nil {
		app = args.Text(c.Conn.Metadata.Lookup("application", "name"))
	}
	if app == "" { // the first hello contains the application name
		app = args.Text(c.Body.Lookup("client", "application", "name"))
	}
	namespace := c.DB + "." + args.Text(c.Body.Lookup(c.InvokedAs))
	return point.TakeFailure(cmd.Command, app, namespace)
}

// HasTestCommands reports whether the cluster was started with enableTestCommands.
func HasTestCommands(cluster *mock.Cluster) bool {
	return cluster.Parameters().Int("enableTestCommands") != 0
}

// DropConnection closes the connection of the call instead of sending a reply.
func (c *Call) DropConnection() {
	if c.Client != nil {
		c.Client.Drop()
	}
}

// ErrConnectionClosed returns the error for a call that has no client connection to close.
func ErrConnectionClosed() error {
	return mongoerr.New(mongoerr.HostUnreachable, "the connection is closed")
}

// isRetryable reports whether a driver may retry a retryable write after an error.
func isRetryable(code mongoerr.Code) bool {
	return code.IsUnavailable() && code != mongoerr.ReadConcernMajorityNotAvailableYet
}

// WithRetryLabel adds the error label RetryableWriteError to the error of a retryable write.
func (c *Call) WithRetryLabel(err error) error {
	code, known := mongoerr.CodeOf(err)
	if !known || c.Body.Lookup("txnNumber").IsZero() || !isRetryable(code) ||
		mongoerr.HasExtra(err, "errorLabels") {
		return err
	}
	var server *mongoerr.ServerError
	errors.As(err, &server)
	labelled := *server
	labelled.Message = err.Error()
	labelled.Extra = append(slices.Clone(server.Extra), bson.E{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}})
	return &labelled
}

// IsResumable reports whether a client may resume a change stream after an error.
func IsResumable(code mongoerr.Code) bool {
	const staleShardVersion mongoerr.Code = 63 // of old releases only
	return isRetryable(code) || slices.Contains([]mongoerr.Code{
		staleShardVersion, mongoerr.FailedToSatisfyReadPreference, mongoerr.StaleEpoch, mongoerr.RetryChangeStream,
		mongoerr.StaleConfig,
	}, code)
}
