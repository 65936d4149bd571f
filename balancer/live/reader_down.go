package live

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// down are the errors of routers whose question reached nobody.
var down = []mongoerr.Code{
	mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.FailedToSatisfyReadPreference,
}

// gapBecause returns a gap with its reason.
func gapBecause(g catalog.Gap, err error) catalog.Gap {
	g.Reason = Plainly(err.Error())
	code, ok := mongoerr.CodeOf(ServerError(err))
	if !ok {
		return g
	}
	g.Down, g.Code, g.CodeName = slices.Contains(down, code), code, code.Name()
	// Names of codes that the server's own list lacks only the reply has.
	if command, from := errors.AsType[mongo.CommandError](err); from && command.Name != "" {
		g.CodeName = command.Name
	}
	return g
}

// isDown reports whether a server says that another one did not answer.
func isDown(err error) bool {
	code, ok := mongoerr.CodeOf(ServerError(err))
	return ok && slices.Contains(down, code)
}
