package clients

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mongoerr"
)

func authenticationHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"saslStart":        saslStart,
		"saslContinue":     saslContinue,
		"logout":           logout,
		"connectionStatus": connectionStatus,
	}
}

// conversationID is the id of every conversation: a connection has one at a time.
const conversationID = 1

func saslStart(c *call.Call) (bson.D, error) {
	c.Conn.Conversation = nil
	mechanism, err := c.RequiredText("mechanism")
	if err != nil {
		return nil, err
	}
	payload, err := payload(c)
	if err != nil {
		return nil, err
	}
	inner, err := c.Node.Users.BeginConversation(access.Mechanism(mechanism), c.DB,
		args.IsTrueOrNonzero(c.Body.Lookup("options", "skipEmptyExchange")))
	if err != nil {
		return nil, err
	}
	c.Conn.Conversation = &call.Conversation{Conversation: inner, ID: conversationID, Database: c.DB}
	return converse(c, payload)
}

func saslContinue(c *call.Call) (bson.D, error) {
	under := c.Conn.Conversation
	if under == nil {
		return nil, mongoerr.New(mongoerr.ProtocolError, "No SASL session state found")
	}
	if id, ok := c.Body.Lookup("conversationId").AsInt64OK(); !ok || id != int64(under.ID) {
		return nil, mongoerr.New(mongoerr.ProtocolError, "sasl: Mismatched conversation id")
	}
	if c.DB != under.Database {
		return nil, mongoerr.New(mongoerr.ProtocolError, "Attempt to switch database target during SASL authentication.")
	}
	payload, err := payload(c)
	if err != nil {
		return nil, err
	}
	return converse(c, payload)
}

// converse executes the next step of the conversation.
func converse(c *call.Call, payload []byte) (bson.D, error) {
	under := c.Conn.Conversation
	answer, done, err := under.Step(payload)
	if err != nil {
		c.Conn.Conversation = nil
		c.Node.Logger.Warn("authentication failed", "client", c.Client.ID, "remote", c.Client.Remote,
			"user", under.UserName(), "db", under.Database, "reason", under.FailureReason())
		return nil, err
	}
	if done {
		c.Conn.Conversation = nil
		if err := setUser(c.Conn, under.User()); err != nil {
			return nil, err
		}
		c.Client.LiftSizeLimit()
		c.Node.Logger.Debug("authenticated", "client", c.Client.ID, "user", under.User().Name, "db", under.Database)
	}
	return bson.D{
		{Key: "conversationId", Value: under.ID},
		{Key: "done", Value: done},
		{Key: "payload", Value: bson.Binary{Data: answer}},
	}, nil
}

// setUser authenticates the connection as u. It fails if the connection is authenticated as another
// user.
func setUser(p *call.ConnState, u *access.User) error {
	if current := p.User; current != nil && !current.SameAs(u) {
		return mongoerr.New(mongoerr.AlreadyAuthenticated,
			"Each client connection may only be authenticated once. Previously authenticated as: %s@%s", current.Name,
			current.Database)
	}
	p.User = u
	return nil
}

// payload reads the message of a SASL step.
func payload(c *call.Call) ([]byte, error) {
	v := c.Body.Lookup("payload")
	_, data, ok := v.BinaryOK()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.payload' is the wrong type '%s', expected type 'binData'", c.InvokedAs, args.TypeName(v.Type))
	}
	return data, nil
}

// speculate returns the first step of an authentication that the client sent with hello. If the step
// fails, the reply has no such field and the client starts over.
func speculate(c *call.Call) bson.D {
	start, isDoc := c.Body.Lookup("speculativeAuthenticate").DocumentOK()
	if !isDoc {
		return nil
	}
	db, ok := start.Lookup("db").StringValueOK()
	if !ok {
		db = c.DB
	}
	inner := c.NewInner(db, "saslStart", start)
	reply, err := saslStart(inner)
	if err != nil {
		return nil
	}
	return reply
}

// mechanismsOf returns saslSupportedMechs. It also answers for unknown users, so that an unauthenticated
// client cannot find out which users exist.
func mechanismsOf(c *call.Call) (bson.A, error) {
	v := c.Body.Lookup("saslSupportedMechs")
	if v.IsZero() {
		return nil, nil
	}
	full, isText := v.StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.BadValue, "saslSupportedMechs must be a string \"db.user\"")
	}
	db, name, ok := strings.Cut(full, ".") // database names have no dot
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "UserName must contain a '.' separated database.user pair")
	}
	list := bson.A{}
	for _, m := range c.Node.Users.AdvertisedMechanisms(db, name) {
		list = append(list, string(m))
	}
	return list, nil
}

func logout(c *call.Call) (bson.D, error) {
	if c.Conn.User != nil && c.Conn.User.Database == c.DB {
		c.Conn.User = nil
	}
	return bson.D{}, nil
}

func connectionStatus(c *call.Call) (bson.D, error) {
	names, roles := bson.A{}, []access.Role{}
	if u := c.Node.User(c.Conn); u != nil {
		names = append(names, bson.D{{Key: "user", Value: u.Name}, {Key: "db", Value: u.Database}})
		roles = c.Node.Users.WithInherited(u.Roles)
	}
	info := bson.D{{Key: "authenticatedUsers", Value: names}, {Key: "authenticatedUserRoles",
		Value: access.RoleDocuments(roles)}}
	if args.IsTrueOrNonzero(c.Body.Lookup("showPrivileges")) {
		info = append(info, bson.E{Key: "authenticatedUserPrivileges",
			Value: access.PrivilegeDocuments(c.Node.Grants(c.Conn).Privileges())})
	}
	return bson.D{{Key: "authInfo", Value: info}}, nil
}
