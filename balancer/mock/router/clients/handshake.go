package clients

import (
	"bytes"
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

func handshakeHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"hello":      hello,
		"isMaster":   hello,
		"ping":       call.OK,
		"whatsmyuri": whatsMyURI,
	}
}

// hello answers the handshake and the driver's monitor. The monitor may ask for an answer only when the
// topology changes, which never happens here.
func hello(c *call.Call) (bson.D, error) {
	if err := awaitChange(c); err != nil {
		return nil, err
	}
	if err := readMetadata(c); err != nil {
		return nil, err
	}
	mechanisms, err := mechanismsOf(c)
	if err != nil {
		return nil, err
	}
	role := "ismaster"
	if c.InvokedAs == "hello" {
		role = "isWritablePrimary"
	}
	reply := bson.D{
		{Key: role, Value: true},
		{Key: "msg", Value: "isdbgrid"},
		c.Node.TopologyVersion(),
	}
	if c.Node.Member != nil {
		reply = append(bson.D{c.Node.TopologyVersion()}, c.Node.MemberState.Hello(c, role)...)
	}
	if common := compressors(c); common != nil {
		reply = append(bson.D{{Key: "compression", Value: common}}, reply...)
	}
	if args.IsTrueOrNonzero(c.Body.Lookup("helloOk")) {
		reply = append(reply, bson.E{Key: "helloOk", Value: true})
	}
	reply = append(reply, bson.E{Key: "maxBsonObjectSize", Value: int32(document.MaxSize)},
		bson.E{Key: "maxMessageSizeBytes", Value: int32(call.MaxMessageBytes)},
		bson.E{Key: "maxWriteBatchSize", Value: int32(call.MaxWriteBatch)},
		bson.E{
			Key:   "localTime",
			Value: bson.NewDateTimeFromTime(c.Cluster.ClockUnderLock().NowUnlocked().Add(c.Node.ClockSkew())),
		},
		bson.E{Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
		bson.E{Key: "connectionId", Value: c.Client.ID},
		bson.E{Key: "maxWireVersion", Value: mock.MaxWireVersion(c.Node.Release())},
		bson.E{Key: "minWireVersion", Value: int32(0)})
	if m := c.Node.Member; m != nil {
		reply = append(reply, bson.E{Key: "readOnly", Value: false})
		if m.Shard == catalog.ConfigServerID {
			reply = append(reply, bson.E{Key: "configsvr", Value: int32(2)})
		}
	}
	if mechanisms != nil {
		reply = append(reply, bson.E{Key: "saslSupportedMechs", Value: mechanisms})
	}
	if first := speculate(c); first != nil {
		reply = append(reply, bson.E{Key: "speculativeAuthenticate", Value: first})
	}
	return reply, nil
}

// compressors returns the compressors that both the client and the server support.
func compressors(c *call.Call) []string {
	array, _ := c.Body.Lookup("compression").ArrayOK()
	values, err := array.Values()
	if err != nil {
		return nil
	}
	var offered []string
	for _, v := range values {
		offered = append(offered, args.Text(v))
	}
	return wire.CommonCompressors(offered)
}

// maxMetadataBytes is the maximum size of the client document, and maxAppNameBytes the maximum length of
// the application name in it.
const (
	maxMetadataBytes = 512
	maxAppNameBytes  = 128
)

// readMetadata stores the client metadata of the first handshake.
func readMetadata(c *call.Call) error {
	v := c.Body.Lookup("client")
	if v.IsZero() {
		return nil
	}
	doc, isDoc := v.DocumentOK()
	app := args.Text(doc.Lookup("application", "name"))
	switch {
	case !isDoc:
		return mongoerr.New(mongoerr.TypeMismatch,
			"The client metadata document must be a document in the hello command, not %s", args.TypeName(v.Type))
	case c.Conn.Metadata != nil && !bytes.Equal(c.Conn.Metadata, doc):
		return mongoerr.New(mongoerr.ClientMetadataCannotBeMutated,
			"The client metadata document may only be sent in the first hello")
	case len(doc) > maxMetadataBytes:
		return mongoerr.New(mongoerr.ClientMetadataDocumentTooLarge,
			"The client metadata document must be less then or equal to %d bytes", maxMetadataBytes)
	case len(app) > maxAppNameBytes:
		return mongoerr.New(mongoerr.ClientMetadataAppNameTooLarge,
			"The 'application.name' field must be less then or equal to %d bytes", maxAppNameBytes)
	}
	c.Conn.Metadata = doc
	return nil
}

// awaitChange delays an awaitable hello by maxAwaitTimeMS. It returns at once if the client has the
// topologyVersion of another process.
func awaitChange(c *call.Call) error {
	version, wait := c.Body.Lookup("topologyVersion"), c.Body.Lookup("maxAwaitTimeMS")
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
		if process, isID := doc.Lookup("processId").ObjectIDOK(); isID && process != c.Node.ProcessID {
			return nil
		}
		if counter, isLong := doc.Lookup("counter").AsInt64OK(); isLong && counter < 0 {
			return mongoerr.New(mongoerr.HelloNegativeCounter, "topologyVersion must have a non-negative counter")
		}
	}
	ctx, cancel := context.WithTimeout(c.Ctx, time.Duration(ms)*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	return nil
}

func whatsMyURI(c *call.Call) (bson.D, error) {
	return bson.D{{Key: "you", Value: c.Client.Remote}}, nil
}
