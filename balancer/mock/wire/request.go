package wire

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Request is a command from a client.
type Request struct {
	// Database is the $db of an OP_MSG, or the part before .$cmd of an
	// OP_QUERY.
	Database string
	// Command is the unchecked name of the body's first field; empty if the body is empty.
	Command string
	// Body is the command document. All nested values are validated, and document sequences are appended
	// as arrays. The handler owns it and may keep it.
	Body bson.Raw
	// Legacy is true for a command in an OP_QUERY.
	Legacy bool
	// Client is the connection of the command. The pointer stays the same for the life of the
	// connection.
	Client *ClientConn
}

// ClientConn identifies a connection.
type ClientConn struct {
	// ID numbers the connections of a Server from 1. It is the connectionId of hello.
	ID int32
	// Remote is the peer's address.
	Remote string
	// Local is the address that the peer dialled. On a Pipe it is exactly the address given to
	// DialContext, so that one handler can serve several hosts.
	Local string
	// State is for the handler, for the life of the connection. It needs no lock, because the commands
	// of a connection run one at a time.
	State any

	dropped bool
	trusted atomic.Bool
}

// Drop closes the connection instead of sending the reply to the current command, like a server that has
// crashed. Only the handler of that command may call it.
func (c *ClientConn) Drop() { c.dropped = true }

// LiftSizeLimit lifts the limit on message size for untrusted clients.
func (c *ClientConn) LiftSizeLimit() { c.trusted.Store(true) }

// Handler executes commands.
type Handler interface {
	// Handle executes a command and returns the reply: always a complete document with an ok field, even
	// for errors (rules/03-commands §0.2).
	//
	// The commands of one connection run one at a time and in order, those of different connections
	// concurrently. ctx ends when the peer disconnects or the server stops. context.Cause(ctx) is then a
	// *mongoerr.ServerError with the reason. A command without a reply (moreToCome) outlives its
	// connection. Handle must return soon after ctx ends, because the server waits for it when it stops.
	Handle(ctx context.Context, r Request) bson.Raw
}

// DisconnectHandler is implemented by handlers that keep state for each connection, such as an authentication in
// progress.
type DisconnectHandler interface {
	// Leave is called once for each connection, after its last command.
	Leave(c *ClientConn)
}
