package live

import (
	"slices"

	"shardsh/balancer/mongoerr"
)

// down are the errors of routers whose question reached nobody.
var down = []mongoerr.Code{
	mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.FailedToSatisfyReadPreference,
}

// isDown reports whether a server says that another one did not answer.
func isDown(err error) bool {
	code, ok := mongoerr.CodeOf(ServerError(err))
	return ok && slices.Contains(down, code)
}
