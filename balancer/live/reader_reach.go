package live

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
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

// reach learns which shards the router reaches, and how fast they answer it, from
// what it knows of their members: no shard is asked.
func (r *reading) reach(ctx context.Context) error {
	reply, err := r.run(ctx, bson.D{{Key: "connPoolStats", Value: 1}})
	if err != nil {
		return r.part(ctx, catalog.Gap{What: "connPoolStats"}, err)
	}
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i]
		set, _, _ := strings.Cut(s.Host, "/")
		hosts, known := reply.Lookup("replicaSets", set, "hosts").ArrayOK()
		if values, err := hosts.Values(); known && err == nil {
			s.Unreachable, s.Ping = reachable(values)
		}
	}
	return nil
}

// reachable reads what a router knows of the members of a set: why it can't reach
// its primary, or how long that takes to answer.
func reachable(hosts []bson.RawValue) (problem string, ping time.Duration) {
	up := 0
	for _, v := range hosts {
		host, _ := v.DocumentOK()
		if !isSet(host.Lookup("ok")) {
			continue
		}
		if up++; isSet(host.Lookup("ismaster")) {
			return "", time.Duration(integer(host, "pingTimeMillis")) * time.Millisecond
		}
	}
	switch {
	case len(hosts) == 0:
		return "", 0
	case up == 0:
		return "the router reaches none of its members", 0
	}
	return "the router knows of no primary among its members", 0
}
