package live

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// describeGap returns a gap with its reason.
func describeGap(g catalog.Gap, err error) catalog.Gap {
	g.Reason = ShortenUnauthorized(err.Error())
	g.Down = errors.As(err, new(*ShardTimeoutError))
	code, ok := mongoerr.CodeOf(ServerError(err))
	if !ok {
		return g
	}
	g.Down, g.Code, g.CodeName = slices.Contains(shardDownCodes, code), code, code.Name()
	// For codes that the server's own list does not contain, only the reply has a name.
	if command, from := errors.AsType[mongo.CommandError](err); from && command.Name != "" {
		g.CodeName = command.Name
	}
	return g
}

// shardDownCodes are the codes with which a mongos reports that it could not reach a shard.
var shardDownCodes = []mongoerr.Code{
	mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.FailedToSatisfyReadPreference,
}

// isShardDown reports whether a mongos has reported that it could not reach a shard.
func isShardDown(err error) bool {
	code, ok := mongoerr.CodeOf(ServerError(err))
	return ok && slices.Contains(shardDownCodes, code)
}

// isUnanswered reports whether a shard did not answer, either according to a mongos, or because the
// command took too long.
func isUnanswered(err error) bool { return isShardDown(err) || errors.As(err, new(*ShardTimeoutError)) }

// isRefused reports whether a server answered with an error.
func isRefused(err error) bool {
	_, answered := errors.AsType[mongo.ServerError](err)
	return answered && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err)
}

// isMalformed reports whether an error is about invalid documents in a reply.
func isMalformed(err error) bool {
	_, ours := errors.AsType[*mongoerr.ServerError](err)
	return ours || errors.Is(err, catalog.ErrNotShardKey)
}
