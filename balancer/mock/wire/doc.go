// Package wire implements a server for MongoDB's wire protocol. It reads messages from connections,
// passes each command to a Handler as one validated BSON document, and sends the handler's reply. It
// does not interpret commands.
//
// OP_MSG carries every command. OP_QUERY is supported only for the handshake of older clients
// (rules/03-commands §1.9), and OP_COMPRESSED for messages of both kinds. All other opcodes are
// rejected. A message that violates the protocol closes its connection.
//
// A Pipe is an in-memory listener. Its DialContext implements the driver's options.ContextDialer, so a
// client in the same process uses the same protocol as a remote one.
package wire
