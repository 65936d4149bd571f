package router

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Limits that hello announces (spec 03 §1.9).
const (
	maxDocumentBytes = 16 << 20
	maxMessageBytes  = 48_000_000
	maxWriteBatch    = 100_000
	maxWireVersion   = 25
)

func handshakeCommands() []command {
	return []command{
		{name: "hello", outside: true, run: (*Router).hello},
		{name: "isMaster", aliases: []string{"ismaster"}, outside: true, run: (*Router).hello},
		{name: "ping", outside: true, run: ok},
		{name: "endSessions", outside: true, run: ok},
		{name: "killSessions", outside: true, run: (*Router).killSessions},
		{name: "refreshSessions", outside: true, run: ok},
		{name: "startSession", run: (*Router).startSession},
		{name: "connectionStatus", run: connectionStatus},
		{name: "whatsmyuri", run: whatsMyURI},
		{name: "logout", run: ok},
	}
}

// hello answers the handshake, and the driver's monitor, which may ask to be
// answered only when something changes: nothing ever does here.
func (r *Router) hello(c *call) (bson.D, error) {
	if err := awaitChange(c); err != nil {
		return nil, err
	}
	role := "ismaster"
	if c.invoked == "hello" {
		role = "isWritablePrimary"
	}
	reply := bson.D{
		{Key: role, Value: true},
		{Key: "msg", Value: "isdbgrid"},
		{Key: "topologyVersion", Value: bson.D{{Key: "processId", Value: r.process}, {Key: "counter", Value: int64(0)}}},
	}
	if truth(c.body.Lookup("helloOk")) {
		reply = append(reply, bson.E{Key: "helloOk", Value: true})
	}
	return append(reply,
		bson.E{Key: "maxBsonObjectSize", Value: int32(maxDocumentBytes)},
		bson.E{Key: "maxMessageSizeBytes", Value: int32(maxMessageBytes)},
		bson.E{Key: "maxWriteBatchSize", Value: int32(maxWriteBatch)},
		bson.E{Key: "localTime", Value: bson.NewDateTimeFromTime(time.Now())},
		bson.E{Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
		bson.E{Key: "connectionId", Value: c.client.ID},
		bson.E{Key: "maxWireVersion", Value: int32(maxWireVersion)},
		bson.E{Key: "minWireVersion", Value: int32(0)},
	), nil
}

// awaitChange delays an awaitable hello by the time it asks for.
func awaitChange(c *call) error {
	version, wait := c.body.Lookup("topologyVersion"), c.body.Lookup("maxAwaitTimeMS")
	if version.IsZero() && wait.IsZero() {
		return nil
	}
	if version.IsZero() || wait.IsZero() {
		return mongoerr.New(mongoerr.HelloAwaitIncomplete, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'")
	}
	ms, isNumber := wait.AsInt64OK()
	if !isNumber || ms < 0 {
		return mongoerr.New(mongoerr.HelloNegativeWait, "maxAwaitTimeMS must be a non-negative integer")
	}
	if doc, isDoc := version.DocumentOK(); isDoc {
		if counter, isLong := doc.Lookup("counter").AsInt64OK(); isLong && counter < 0 {
			return mongoerr.New(mongoerr.HelloNegativeCounter, "topologyVersion must have a non-negative counter")
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(ms)*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	return nil
}

func (r *Router) startSession(*call) (bson.D, error) {
	return bson.D{
		{Key: "id", Value: bson.D{{Key: "id", Value: r.cluster.NewUUID()}}},
		{Key: "timeoutMinutes", Value: int32(30)},
	}, nil
}

func connectionStatus(_ *Router, c *call) (bson.D, error) {
	info := bson.D{{Key: "authenticatedUsers", Value: bson.A{}}, {Key: "authenticatedUserRoles", Value: bson.A{}}}
	if truth(c.body.Lookup("showPrivileges")) {
		info = append(info, bson.E{Key: "authenticatedUserPrivileges", Value: bson.A{}})
	}
	return bson.D{{Key: "authInfo", Value: info}}, nil
}

func whatsMyURI(_ *Router, c *call) (bson.D, error) {
	return bson.D{{Key: "you", Value: c.client.Remote}}, nil
}
