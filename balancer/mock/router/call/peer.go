package call

import (
	"crypto/sha256"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// ConnState is the router's state of a connection.
type ConnState struct {
	User         *access.User
	Conversation *Conversation
	// Metadata is the client document of the handshake.
	Metadata bson.Raw
}

// Conversation is an authentication in progress with its id.
type Conversation struct {
	*access.Conversation
	ID       int32
	Database string
}

// peerOf returns the state of a connection. A request without a client gets a new state.
func peerOf(c *wire.ClientConn) *ConnState {
	if c == nil {
		return &ConnState{}
	}
	if p, ok := c.State.(*ConnState); ok {
		return p
	}
	p := &ConnState{}
	c.State = p
	return p
}

// RequireLogin rejects commands that require authentication on an unauthenticated connection.
func (n *Node) RequireLogin(cmd *Command, c *Call) error {
	if !n.AuthRequired || cmd.NoAuth || n.User(c.Conn) != nil {
		return nil
	}
	return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", cmd.Name)
}

// UserDigest returns the uid of a session id, which separates the sessions of different users.
func (p *ConnState) UserDigest() [sha256.Size]byte { return sha256.Sum256([]byte(p.UserName())) }

// UserName returns the user of a connection as name@db, empty if it is not authenticated.
func (p *ConnState) UserName() string {
	if p.User == nil {
		return ""
	}
	return p.User.Name + "@" + p.User.Database
}
