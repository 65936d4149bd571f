package router

import (
	"crypto/sha256"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

func authenticationHandlers() map[string]handler {
	return map[string]handler{
		"saslStart":        saslStart,
		"saslContinue":     saslContinue,
		"logout":           logout,
		"connectionStatus": connectionStatus,
	}
}

// peer is what the router knows of a connection.
type peer struct {
	user         *access.User
	conversation *conversation
	// metadata is the client document of the handshake.
	metadata bson.Raw
}

// conversation is an authentication under way and its number.
type conversation struct {
	*access.Conversation
	id       int32
	database string
}

// peerOf returns a connection's state. A request without a client is one of its
// own.
func peerOf(c *wire.Client) *peer {
	if c == nil {
		return &peer{}
	}
	if p, ok := c.State.(*peer); ok {
		return p
	}
	p := &peer{}
	c.State = p
	return p
}

// authorize refuses what a connection may not ask before it has said who it
// is.
func (n *node) authorize(cmd *command, c *call) error {
	if !n.authRequired || cmd.Anyone || n.user(c.peer) != nil {
		return nil
	}
	return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", cmd.Name)
}

// conversationID is the number of every conversation: a connection has one at
// a time.
const conversationID = 1

func saslStart(c *call) (bson.D, error) {
	c.peer.conversation = nil
	mechanism, err := c.text("mechanism")
	if err != nil {
		return nil, err
	}
	payload, err := c.payload()
	if err != nil {
		return nil, err
	}
	inner, err := c.node.users.Begin(access.Mechanism(mechanism), c.db,
		args.Truth(c.body.Lookup("options", "skipEmptyExchange")))
	if err != nil {
		return nil, err
	}
	c.peer.conversation = &conversation{Conversation: inner, id: conversationID, database: c.db}
	return converse(c, payload)
}

func saslContinue(c *call) (bson.D, error) {
	under := c.peer.conversation
	if under == nil {
		return nil, mongoerr.New(mongoerr.ProtocolError, "No SASL session state found")
	}
	if id, ok := c.body.Lookup("conversationId").AsInt64OK(); !ok || id != int64(under.id) {
		return nil, mongoerr.New(mongoerr.ProtocolError, "sasl: Mismatched conversation id")
	}
	if c.db != under.database {
		return nil, mongoerr.New(mongoerr.ProtocolError, "Attempt to switch database target during SASL authentication.")
	}
	payload, err := c.payload()
	if err != nil {
		return nil, err
	}
	return converse(c, payload)
}

// converse takes the conversation a step further.
func converse(c *call, payload []byte) (bson.D, error) {
	under := c.peer.conversation
	answer, done, err := under.Step(payload)
	if err != nil {
		c.peer.conversation = nil
		c.node.logger.Warn("authentication failed", "client", c.client.ID, "remote", c.client.Remote,
			"user", under.Who(), "db", under.database, "reason", under.Why())
		return nil, err
	}
	if done {
		c.peer.conversation = nil
		if err := c.peer.become(under.User()); err != nil {
			return nil, err
		}
		c.client.Trust()
		c.node.logger.Debug("authenticated", "client", c.client.ID, "user", under.User().Name, "db", under.database)
	}
	return bson.D{
		{Key: "conversationId", Value: under.id},
		{Key: "done", Value: done},
		{Key: "payload", Value: bson.Binary{Data: answer}},
	}, nil
}

// become makes a user the connection's only one.
func (p *peer) become(u *access.User) error {
	if was := p.user; was != nil && !was.Is(u) {
		return mongoerr.New(mongoerr.AlreadyAuthenticated,
			"Each client connection may only be authenticated once. Previously authenticated as: %s@%s", was.Name, was.Database)
	}
	p.user = u
	return nil
}

// payload reads the message of a SASL step: bytes, or base64 in text, which no
// driver has sent for long.
func (c *call) payload() ([]byte, error) {
	v := c.body.Lookup("payload")
	_, data, ok := v.BinaryOK()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '%s.payload' is the wrong type '%s', expected type 'binData'", c.invoked, args.TypeName(v.Type))
	}
	return data, nil
}

// speculate returns the first step of an authentication that came with hello.
// What fails there is left out of the reply: the client then begins anew.
func speculate(c *call) bson.D {
	start, isDoc := c.body.Lookup("speculativeAuthenticate").DocumentOK()
	if !isDoc {
		return nil
	}
	db, ok := start.Lookup("db").StringValueOK()
	if !ok {
		db = c.db
	}
	inner := c.inner(db, "saslStart", start)
	reply, err := saslStart(inner)
	if err != nil {
		return nil
	}
	return reply
}

// mechanismsOf answers saslSupportedMechs, also for a user that is not there:
// who may not ask for the users can't find them out one by one.
func mechanismsOf(c *call) (bson.A, error) {
	v := c.body.Lookup("saslSupportedMechs")
	if v.IsZero() {
		return nil, nil
	}
	full, isText := v.StringValueOK()
	if !isText {
		return nil, mongoerr.New(mongoerr.BadValue, "saslSupportedMechs must be a string \"db.user\"")
	}
	db, name, ok := cutUserName(full)
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "UserName must contain a '.' separated database.user pair")
	}
	list := bson.A{}
	for _, m := range c.node.users.Advertised(db, name) {
		list = append(list, string(m))
	}
	return list, nil
}

// cutUserName takes "db.user" apart. Database names have no dot, and drivers
// leave the database empty where none was given.
func cutUserName(full string) (db, name string, ok bool) {
	db, name, ok = strings.Cut(full, ".")
	return db, name, ok
}

func logout(c *call) (bson.D, error) {
	if c.peer.user != nil && c.peer.user.Database == c.db {
		c.peer.user = nil
	}
	return bson.D{}, nil
}

func connectionStatus(c *call) (bson.D, error) {
	names, roles := bson.A{}, []access.Role{}
	if u := c.node.user(c.peer); u != nil {
		names = append(names, bson.D{{Key: "user", Value: u.Name}, {Key: "db", Value: u.Database}})
		roles = c.node.users.Inherited(u.Roles)
	}
	info := bson.D{{Key: "authenticatedUsers", Value: names}, {Key: "authenticatedUserRoles",
		Value: access.RoleDocuments(roles)}}
	if args.Truth(c.body.Lookup("showPrivileges")) {
		info = append(info, bson.E{Key: "authenticatedUserPrivileges",
			Value: access.PrivilegeDocuments(c.node.grants(c.peer).Privileges())})
	}
	return bson.D{{Key: "authInfo", Value: info}}, nil
}

// digest tells the sessions of one user from those of another: the uid of a
// session's id.
func (p *peer) digest() [sha256.Size]byte {
	if p.user == nil {
		return sha256.Sum256(nil)
	}
	return sha256.Sum256([]byte(p.user.Name + "@" + p.user.Database))
}
