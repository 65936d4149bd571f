package proxy

import (
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Direction is the direction of a message.
type Direction int

// Directions of messages.
const (
	ToCluster Direction = iota
	ToClient
)

// Message is one message of the wire protocol.
type Message struct {
	Direction Direction
	Raw       []byte
}

// These constants describe the layout of messages: length, id, id of the request and opcode; in OP_MSG
// followed by flags and sections, of which the first is the command.
const (
	headerSize = 16
	flagsSize  = 4
	opMsg      = 2013
)

// Command returns the document of a command or of a reply, without bulk data such as documents to
// insert. It returns false for messages of the oldest type, with which connections begin, and for
// compressed messages.
func (m Message) Command() (bson.Raw, bool) {
	const kindAt = headerSize + flagsSize
	if len(m.Raw) < kindAt+5 || binary.LittleEndian.Uint32(m.Raw[12:]) != opMsg || m.Raw[kindAt] != 0 {
		return nil, false
	}
	doc := m.Raw[kindAt+1:]
	size := binary.LittleEndian.Uint32(doc)
	if uint64(size) > uint64(len(doc)) {
		return nil, false
	}
	raw := bson.Raw(doc[:size])
	return raw, raw.Validate() == nil
}

// Name returns the name of a command; empty if the message is not a command.
func (m Message) Name() string {
	command, ok := m.Command()
	if !ok || m.Direction != ToCluster {
		return ""
	}
	first, err := command.IndexErr(0)
	if err != nil {
		return ""
	}
	return first.Key()
}

// ID returns the request ID of the message.
func (m Message) ID() int32 { return int32(binary.LittleEndian.Uint32(m.Raw[4:])) }

// InReplyTo returns the request ID of the message to which this message is the reply.
func (m Message) InReplyTo() int32 { return int32(binary.LittleEndian.Uint32(m.Raw[8:])) }
