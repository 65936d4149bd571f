package reads

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/failpoint"
	"shardsh/balancer/mongoerr"
)

// checkSession fails unless the cursor was created in the session of the call.
func checkSession(c *call.Call, id int64, open *call.Cursor) error {
	switch {
	case open.LSID == nil && c.LSID == nil || open.LSID != nil && c.LSID != nil && *open.LSID == *c.LSID:
		return nil
	case open.LSID == nil:
		return mongoerr.New(mongoerr.GetMoreForeignSession,
			"Cannot run getMore on cursor %d, which was not created in a session, in session %s", id, c.Body.Lookup("lsid"))
	case c.LSID == nil:
		return mongoerr.New(mongoerr.GetMoreWithoutSession,
			"Cannot run getMore on cursor %d, which was created in session %s, without an lsid", id,
			bson.D{{Key: "id", Value: open.LSID.Doc()[0].Value}})
	}
	return mongoerr.New(mongoerr.GetMoreOtherSession,
		"Cannot run getMore on cursor %d, which was created in session %s, in session %s", id,
		bson.D{{Key: "id", Value: open.LSID.Doc()[0].Value}}, c.Body.Lookup("lsid"))
}

func getMore(c *call.Call) (bson.D, error) {
	id := c.Args["getMore"].Int64()
	open := c.Node.Cursors.Open[id]
	coll := c.Args.Text("collection")
	switch {
	case coll == "":
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot be empty")
	case !catalog.ValidCollectionName(coll):
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: '%s'", coll)
	}
	if open == nil {
		if c.Node.Member == nil {
			return nil, mongoerr.New(mongoerr.CursorNotFound, "Cursor not found (id: %d).", id)
		}
		return nil, mongoerr.New(mongoerr.CursorNotFound, "cursor id %d not found", id)
	}
	if open.NS != c.DB+"."+coll {
		return nil, mongoerr.New(mongoerr.Unauthorized,
			"Requested getMore on namespace '%s.%s', but cursor belongs to a different namespace %s", c.DB, coll, open.NS)
	}
	if c.Node.AuthRequired && !c.Conn.IsLoggedInAs(open.Owner) {
		return nil, mongoerr.New(mongoerr.Unauthorized, "cursor id %d was not created by the authenticated user", id)
	}
	if err := checkSession(c, id, open); err != nil {
		return nil, err
	}
	if err := applyFailPoint(open, c); err != nil {
		return nil, err
	}
	if !c.Body.Lookup("maxTimeMS").IsZero() && !open.Awaits() {
		return nil, mongoerr.New(mongoerr.BadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor")
	}
	size := -1
	if n, _ := args.Number(c.Args["batchSize"]); n > 0 {
		size = int(n)
	}
	if open.Busy {
		return nil, mongoerr.New(mongoerr.CursorInUse, "cursor id %d is already in use", id)
	}
	if err := open.CheckCollection(c); err != nil {
		c.Node.Cursors.Kill(id)
		return nil, err
	}
	batch, err := open.Read(c, id, size)
	if err != nil {
		return nil, err
	}
	if open.IsExhausted() {
		c.Node.Cursors.Kill(id)
		id = 0
	}
	return bson.D{{Key: "cursor", Value: withResumeToken(open, batch, bson.D{
		{Key: "nextBatch", Value: batch},
		{Key: "id", Value: id},
		{Key: "ns", Value: open.NS},
	})}}, nil
}

func killCursors(c *call.Call) (bson.D, error) {
	values, err := c.Args["cursors"].Array().Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for i, v := range values {
		if err := (args.Required(strconv.Itoa(i), args.Long)).Check("killCursors.cursors", v); err != nil {
			return nil, err
		}
	}
	killed, notFound := bson.A{}, bson.A{}
	for _, v := range values {
		id := v.Int64()
		if open := c.Node.Cursors.Open[id]; open != nil && c.Node.AuthRequired && !c.Conn.IsLoggedInAs(open.Owner) &&
			!c.Node.Grants(c.Conn).Allows(access.ClusterResource(), "killAnyCursor") {
			return nil, c.UnauthorizedError()
		}
		if c.Node.Cursors.Kill(id) {
			killed = append(killed, id)
		} else {
			notFound = append(notFound, id)
		}
	}
	return bson.D{
		{Key: "cursorsKilled", Value: killed},
		{Key: "cursorsNotFound", Value: notFound},
		{Key: "cursorsAlive", Value: bson.A{}},
		{Key: "cursorsUnknown", Value: bson.A{}},
	}, nil
}

// applyFailPoint applies the getMore fail point to a cursor.
func applyFailPoint(open *call.Cursor, c *call.Call) error {
	f := call.TakeFailure(&c.Node.FailPoints.GetMore, c.Node.Table()["getMore"], c)
	switch {
	case f == nil:
		return nil
	case f.CloseConnection:
		c.DropConnection()
		return call.ErrConnectionClosed()
	}
	err := mongoerr.New(f.Code, "Hit the '%s' failpoint", failpoint.GetMore)
	if open.HasChangeEvents() && call.IsResumable(f.Code) {
		err.Extra = bson.D{{Key: "errorLabels", Value: bson.A{"ResumableChangeStreamError"}}}
	}
	return err
}
