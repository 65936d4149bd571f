//go:build unix

package loadcheck

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mongoerr"
)

// codeOf is the name of an error, for counting.
func codeOf(err error) string {
	var command mongo.CommandError
	var write mongo.WriteException
	var bulk mongo.BulkWriteException
	switch {
	case errors.As(err, &command):
		return nameOf(command)
	case errors.As(err, &write) && len(write.WriteErrors) > 0:
		return writeCode(write.WriteErrors[0])
	case errors.As(err, &write) && write.WriteConcernError != nil:
		return "write concern"
	case errors.As(err, &bulk) && len(bulk.WriteErrors) > 0:
		return writeCode(bulk.WriteErrors[0].WriteError)
	case errors.As(err, &bulk) && bulk.WriteConcernError != nil:
		return "write concern"
	}
	return "connection"
}

func writeCode(e mongo.WriteError) string { return mongoerr.Code(e.Code).Name() }

func nameOf(e mongo.CommandError) string {
	switch {
	case e.Name != "":
		return e.Name
	case e.Code == 0:
		return "connection"
	}
	return mongoerr.Code(e.Code).Name()
}
