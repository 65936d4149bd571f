package document

import (
	"bytes"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/value"
)

// FillEmptyTimestamps returns a document in which each empty top-level timestamp, Timestamp(0, 0), is replaced by
// the next timestamp. It does not change the _id and nested fields.
func FillEmptyTimestamps(doc bson.Raw, next func() bson.Timestamp) bson.Raw {
	if bytes.IndexByte(doc, byte(bson.TypeTimestamp)) < 0 || !hasEmptyTimestamp(doc) {
		return doc
	}
	b, start := Open(make([]byte, 0, len(doc)))
	for name, v := range Fields(doc) {
		if isEmptyTimestamp(name, v) {
			now := next()
			v = value.Timestamp(now.T, now.I)
		}
		b = Append(b, name, v)
	}
	return Close(b, start)
}

func hasEmptyTimestamp(doc bson.Raw) bool {
	for name, v := range Fields(doc) {
		if isEmptyTimestamp(name, v) {
			return true
		}
	}
	return false
}

func isEmptyTimestamp(name []byte, v value.Value) bool {
	return v.Type == bson.TypeTimestamp && string(name) != "_id" && binary.LittleEndian.Uint64(v.Value) == 0
}
