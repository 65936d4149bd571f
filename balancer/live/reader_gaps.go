package live

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// gapOf returns a gap with its cause.
func gapOf(g catalog.Gap, err error) catalog.Gap {
	g.Reason = ShortenUnauthorized(err.Error())
	g.Down = errors.As(err, new(*NoAnswerError))
	code, ok := mongoerr.CodeOf(ServerError(err))
	if !ok {
		return g
	}
	g.Down, g.Code, g.CodeName = slices.Contains(shardDown, code), code, code.Name()
	// Codes that the server's own list lacks have a name only in the reply.
	if command, from := errors.AsType[mongo.CommandError](err); from && command.Name != "" {
		g.CodeName = command.Name
	}
	return g
}

// shardDown are the codes with which a mongos says that it could not reach a shard.
var shardDown = []mongoerr.Code{
	mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.FailedToSatisfyReadPreference,
}

// isDown reports whether a mongos says that it could not reach a shard.
func isDown(err error) bool {
	code, ok := mongoerr.CodeOf(ServerError(err))
	return ok && slices.Contains(shardDown, code)
}

// unanswered reports whether a shard did not answer, by the word of a mongos or because it
// took too long.
func unanswered(err error) bool { return isDown(err) || errors.As(err, new(*NoAnswerError)) }

// refused reports whether a server answered with an error.
func refused(err error) bool {
	_, answered := errors.AsType[mongo.ServerError](err)
	return answered && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err)
}

// malformed reports whether the documents that a server returned make no sense.
func malformed(err error) bool {
	_, ours := errors.AsType[*mongoerr.ServerError](err)
	return ours || errors.Is(err, catalog.ErrNotShardKey)
}
