package clients

import (
	"crypto/sha256"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func sessionHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"startSession":      startSession,
		"endSessions":       endSessions,
		"refreshSessions":   refreshSessions,
		"killSessions":      killSessions,
		"killAllSessions":   killAllSessions,
		"commitTransaction": rejectTransaction,
		"abortTransaction":  rejectTransaction,
	}
}

// readSessionIDs reads the array of session ids in the command's value.
func readSessionIDs(c *call.Call) ([]call.SessionID, error) {
	v, ok := c.Args[c.InvokedAs]
	if !ok {
		return nil, nil
	}
	docs, err := args.Documents(v)
	if err != nil {
		return nil, err
	}
	var ids []call.SessionID
	for _, doc := range docs {
		id, err := c.ReadSessionID("KillSessionsCmd."+c.InvokedAs, call.DocumentValue(doc))
		if err != nil {
			return nil, err
		}
		ids = append(ids, *id)
	}
	return ids, nil
}

func startSession(c *call.Call) (bson.D, error) {
	id := c.Cluster.IDs().NewUUID()
	made := call.SessionID{ID: [16]byte(id.Data), User: c.Conn.UserDigest()}
	if _, err := c.Node.Sessions.Use(made, c.Conn.UserName()); err != nil {
		return nil, err
	}
	return bson.D{
		{Key: "id", Value: bson.D{{Key: "id", Value: id}}},
		{Key: "timeoutMinutes", Value: int32(call.SessionTimeout / time.Minute)},
	}, nil
}

// endSessions removes sessions. Their cursors time out later.
func endSessions(c *call.Call) (bson.D, error) {
	ids, err := readSessionIDs(c)
	if err != nil {
		return nil, err
	}
	c.Node.Sessions.End(ids)
	return bson.D{}, nil
}

func refreshSessions(c *call.Call) (bson.D, error) {
	ids, err := readSessionIDs(c)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := c.Node.Sessions.Use(id, c.Conn.UserName()); err != nil {
			return nil, err
		}
	}
	return bson.D{}, nil
}

// killSessions ends sessions with their operations and cursors. Without ids it ends the sessions of the
// connection's user.
func killSessions(c *call.Call) (bson.D, error) {
	ids, err := readSessionIDs(c)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		mine := c.Conn.UserDigest()
		killWhere(c, func(id call.SessionID) bool { return id.User == mine })
		return bson.D{}, nil
	}
	killWhere(c, func(id call.SessionID) bool { return slices.Contains(ids, id) })
	return bson.D{}, nil
}

// killAllSessions ends the sessions of the given users. An empty array selects all users.
func killAllSessions(c *call.Call) (bson.D, error) {
	docs, err := args.Documents(c.Body.Lookup(c.InvokedAs))
	if err != nil {
		return nil, err
	}
	var whose [][sha256.Size]byte
	for _, doc := range docs {
		user, db := args.Text(doc.Lookup("user")), args.Text(doc.Lookup("db"))
		if user == "" || db == "" {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse,
				"BSON field 'KillAllSessionsCmd.killAllSessions' takes documents {user, db}")
		}
		whose = append(whose, sha256.Sum256([]byte(user+"@"+db)))
	}
	killWhere(c, func(id call.SessionID) bool { return len(whose) == 0 || slices.Contains(whose, id.User) })
	return bson.D{}, nil
}

func killWhere(c *call.Call, isSelected func(call.SessionID) bool) {
	c.Node.Sessions.EndWhere(isSelected)
	// The running operations hold the cluster's lock and release it soon after.
	c.Node.Operations.KillWhere(isSelected)
	c.Cluster.Lock()
	defer c.Cluster.Unlock()
	c.Node.Cursors.KillWhere(isSelected)
}

// sessionsStage generates the documents of $listSessions and $listLocalSessions. The mock's router knows
// all sessions and writes none to the config database.
func sessionsStage(c *call.Call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	options, isDoc := spec.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"$listSessions options must be specified in an object, but found: %s", args.TypeName(spec.Type))
	}
	all, mine := c.Node.Sessions.List(), c.Conn.UserDigest()
	if args.IsTrueOrNonzero(options.Lookup("allUsers")) {
		return all, nil
	}
	return slices.DeleteFunc(all, func(doc bson.Raw) bool {
		_, uid, _ := doc.Lookup("_id", "uid").BinaryOK()
		return !slices.Equal(uid, mine[:])
	}), nil
}

func rejectTransaction(*call.Call) (bson.D, error) {
	return nil, mongoerr.New(mongoerr.NoSuchTransaction, "Transaction isn't in progress")
}
