package wire

import (
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mongoerr"
)

const (
	commandSuffix = ".$cmd"
	// flagAwaitCapable of OP_REPLY is always set by the server.
	flagAwaitCapable = 8
)

// isHandshakeCommand reports whether a client may send the command in an OP_QUERY (rules/03-commands
// §1.9).
func isHandshakeCommand(name string) bool {
	switch name {
	case "hello", "isMaster", "ismaster", "_isSelf", "authenticate",
		"buildInfo", "buildinfo", "saslStart", "saslContinue":
		return true
	}
	return false
}

// parseQuery parses the payload of an OP_QUERY: flags, full collection name, skip, limit, the query, and
// an optional field selector.
func parseQuery(payload []byte) (message, error) {
	_, rest, ok := cutInt32(payload)
	if !ok {
		return message{}, malformed("OP_QUERY without flags")
	}
	namespace, rest, ok := cutCString(rest)
	if !ok || len(rest) < 8 {
		return message{}, malformed("OP_QUERY cut short")
	}
	in := message{request: Request{Legacy: true}}
	query, rest, err := cutDocument(rest[8:])
	if errors.Is(err, errTooDeep) {
		in.refusal = err
		return in, nil
	}
	if err != nil {
		return message{}, err
	}
	if len(rest) > 0 {
		if _, rest, err = cutDocument(rest); err != nil || len(rest) > 0 {
			return message{}, malformed("OP_QUERY with %d bytes too many", len(rest))
		}
	}
	db, isCommand := strings.CutSuffix(namespace, commandSuffix)
	if !isCommand {
		in.refusal = unsupportedQuery("find on " + namespace)
		return in, nil
	}
	query = unwrapQuery(query)
	in.request.Database, in.request.Command, in.request.Body = db, firstField(query), query
	if !isHandshakeCommand(in.request.Command) {
		in.refusal = unsupportedQuery(in.request.Command)
	}
	return in, nil
}

// unwrapQuery returns the command in {$query: {...}, $readPreference: ...}, the format in which older
// clients send options next to it.
func unwrapQuery(query bson.Raw) bson.Raw {
	if name := firstField(query); name != "$query" && name != "query" {
		return query
	}
	inner, ok := bsoncore.Document(query).Index(0).Value().DocumentOK()
	if !ok {
		return query
	}
	return bson.Raw(inner)
}

func unsupportedQuery(what string) error {
	return mongoerr.New(mongoerr.UnsupportedOpQueryCommand,
		"OP_QUERY is for the handshake only and does not take: %s. The client may need a newer driver", what)
}

// appendQueryReply appends the OP_REPLY to an OP_QUERY to dst, which is empty.
func appendQueryReply(dst []byte, requestID, responseTo, _ int32, doc bson.Raw) []byte {
	dst = appendHeader(dst, requestID, responseTo, opReply)
	dst = appendInt32(dst, flagAwaitCapable)
	dst = append(dst, make([]byte, 8)...) // cursor id
	dst = appendInt32(dst, 0)             // starting from
	dst = appendInt32(dst, 1)             // documents
	return finishMessage(append(dst, doc...))
}
