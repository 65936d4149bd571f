package live

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"shardsh/balancer/mongoerr"
)

// ServerError returns an error of the driver as a *mongoerr.ServerError, so that callers handle only
// one type of error, from a mock or a cluster. The driver's error stays in the chain, for errors.Is and
// errors.As. A connection that broke or could not be opened is a *mongoerr.UnansweredError. Other
// errors that do not come from a server, and errors that are a ServerError already, are returned
// unchanged.
func ServerError(err error) error {
	if err == nil || errors.As(err, new(*mongoerr.ServerError)) || errors.As(err, new(*mongoerr.UnansweredError)) {
		return err
	}
	if mongo.IsNetworkError(err) || errors.As(err, new(topology.ServerSelectionError)) ||
		errors.As(err, new(topology.ConnectionError)) || errors.As(err, new(driver.RetryablePoolError)) {
		return &mongoerr.UnansweredError{Cause: err}
	}
	var command mongo.CommandError
	if errors.As(err, &command) {
		if command.Raw == nil && command.Code == 0 {
			return err // a connection broke
		}
		return fromReply(int(command.Code), command.Message, command.Raw, err)
	}
	var write mongo.WriteException
	if errors.As(err, &write) {
		if len(write.WriteErrors) > 0 {
			e := write.WriteErrors[0]
			return fromReply(e.Code, e.Message, e.Raw, err)
		}
		return fromWriteConcern(write.WriteConcernError, err)
	}
	var bulk mongo.BulkWriteException
	if errors.As(err, &bulk) {
		if len(bulk.WriteErrors) > 0 {
			e := bulk.WriteErrors[0]
			return fromReply(e.Code, e.Message, e.Raw, err)
		}
		return fromWriteConcern(bulk.WriteConcernError, err)
	}
	return err
}

func fromWriteConcern(e *mongo.WriteConcernError, cause error) error {
	if e == nil {
		return cause
	}
	return fromReply(e.Code, e.Message, e.Raw, cause)
}

// standardErrorFields are the fields of an error document that are not part of Extra.
var standardErrorFields = []string{
	"ok", "errmsg", "code", "codeName", "index", "errorLabels", "$clusterTime", "operationTime",
}

func fromReply(code int, message string, reply bson.Raw, cause error) error {
	e := &mongoerr.ServerError{Code: mongoerr.Code(code), Message: message, NoCode: code == 0, Cause: cause}
	elements, err := reply.Elements()
	if err != nil {
		return e // without Extra
	}
	for _, f := range elements {
		if !slices.Contains(standardErrorFields, f.Key()) {
			e.Extra = append(e.Extra, bson.E{Key: f.Key(), Value: f.Value()})
		}
	}
	return e
}
