// Package wire is a server for MongoDB's wire protocol: it takes messages from
// connections, hands each command to a Handler as one validated BSON document,
// and sends the handler's document back. It knows nothing of what a command
// means.
//
// OP_MSG carries every command. OP_QUERY is understood for the handshake of
// older clients only (rules/03-commands §1.9), OP_COMPRESSED and the rest are refused. A
// message that breaks the protocol closes the connection it came on and
// nothing else.
//
// A Pipe is a listener without a network: its DialContext is what the driver's
// options.ContextDialer asks for, so a client in the same process goes the way
// a remote one would.
package wire
