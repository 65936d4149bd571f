package wire

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Request is one command as it came from a client.
type Request struct {
	// Database is the $db of an OP_MSG, or the part before .$cmd of an
	// OP_QUERY.
	Database string
	// Command is the name of the body's first field, unchecked; empty when the
	// body has none.
	Command string
	// Body is the command document, validated to the last nested value, with
	// document sequences folded in as arrays after its own fields. It belongs
	// to the handler, which may keep it.
	Body bson.Raw
	// Legacy is true for a command that came by OP_QUERY.
	Legacy bool
	// Client is the connection the command came on: the same pointer for as
	// long as the connection lives.
	Client *Client
}

// Client tells connections apart.
type Client struct {
	// ID counts connections of one Server from 1: the connectionId of hello.
	ID int32
	// Remote is the peer's address.
	Remote string
	// Local is the address the peer dialled. On a Pipe it is the very text
	// given to DialContext, so one handler can play several hosts.
	Local string
	// State is the handler's own, for as long as the connection lives. Commands
	// of a connection come one at a time, so it needs no lock.
	State any

	dropped bool
	trusted atomic.Bool
}

// Drop closes the connection in place of the reply to the command that is
// being handled, as a server does that is gone. Only its handler may call it.
func (c *Client) Drop() { c.dropped = true }

// Trust lifts the limit on message size for untrusted clients.
func (c *Client) Trust() { c.trusted.Store(true) }

// Handler answers commands.
type Handler interface {
	// Handle returns the reply, always a whole document with its ok field;
	// failures are documents too (rules/03-commands §0.2).
	//
	// Commands of one connection come one at a time and in order, those of
	// different connections at the same time. ctx ends when the peer is gone or
	// the server stops; context.Cause(ctx) is then a *mongoerr.ServerError that
	// says which. A command that wants no reply (moreToCome) outlives its
	// connection. Handle must return soon after ctx ends: stopping the server
	// waits for it.
	Handle(ctx context.Context, r Request) bson.Raw
}

// Leaver is for handlers that keep something for each connection, such as the
// conversation of an authentication.
type Leaver interface {
	// Leave is called once for each connection, after its last command.
	Leave(c *Client)
}
