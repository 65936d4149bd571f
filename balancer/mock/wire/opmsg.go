package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mongoerr"
)

// Flags of OP_MSG. A receiver must reject unknown flags among the lower 16 bits and ignore unknown flags
// among the upper 16 bits.
const (
	flagChecksum     = 1 << 0
	flagMoreToCome   = 1 << 1
	flagExhaust      = 1 << 16
	requiredFlagBits = 0xffff

	checksumBytes = 4
)

const (
	sectionBody     = 0
	sectionSequence = 1

	// sequenceDepth is the nesting depth of a sequence's documents: they become elements of an array in
	// the body.
	sequenceDepth = 2
)

const codeMissingDatabase mongoerr.Code = 40571

// sequence is a section of kind 1: documents that become an array in the body.
type sequence struct {
	field string
	docs  []byte // concatenated and validated
}

// parseMsg parses the payload of an OP_MSG: flags, sections, and an optional checksum.
func parseMsg(h header, payload []byte) (message, error) {
	flags, rest, ok := cutInt32(payload)
	if !ok {
		return message{}, malformed("OP_MSG without flags")
	}
	if unknown := flags & requiredFlagBits &^ (flagChecksum | flagMoreToCome); unknown != 0 {
		return message{}, malformed("OP_MSG flags %#x", unknown)
	}
	if flags&flagChecksum != 0 {
		if len(rest) < checksumBytes {
			return message{}, malformed("OP_MSG without its checksum")
		}
		if !checksumMatches(h, payload) {
			return message{}, malformed("OP_MSG checksum does not match contents")
		}
		rest = rest[:len(rest)-checksumBytes]
	}
	in := message{noReply: flags&flagMoreToCome != 0, exhaust: flags&flagExhaust != 0}
	body, sequences, tooLarge, err := parseSections(rest)
	if errors.Is(err, errTooDeep) {
		in.refusal = err
		return in, nil
	}
	if err != nil {
		return message{}, err
	}
	in.refusal = tooLarge
	if in.request.Body, err = foldSequences(body, sequences); err != nil {
		return message{}, err
	}
	in.request.Command = firstField(body)
	db, ok := bsoncore.Document(body).Lookup("$db").StringValueOK()
	if !ok && in.refusal == nil {
		in.refusal = mongoerr.New(codeMissingDatabase, "an OP_MSG request needs a $db field that is a string")
	}
	in.request.Database = db
	return in, nil
}

// checksumMatches reports whether the CRC-32C at the end of a message matches the message, including the
// header.
func checksumMatches(h header, payload []byte) bool {
	at := len(payload) - checksumBytes
	head := appendInt32(nil, h.length)
	head = appendInt32(appendInt32(appendInt32(head, h.requestID), h.responseTo), int32(h.op))
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, payload[:at])
	return sum == binary.LittleEndian.Uint32(payload[at:])
}

func parseSections(b []byte) (body bson.Raw, sequences []sequence, sizeErr, err error) {
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		switch kind {
		case sectionBody:
			if body != nil {
				return nil, nil, nil, malformed("OP_MSG with two bodies")
			}
			if body, b, err = cutDocument(b); err != nil {
				return nil, nil, nil, err
			}
			sizeErr = cmp.Or(sizeErr, checkSize(len(body)))
		case sectionSequence:
			var (
				s     sequence
				large error
			)
			if s, b, large, err = cutSequence(b); err != nil {
				return nil, nil, nil, err
			}
			sequences = append(sequences, s)
			sizeErr = cmp.Or(sizeErr, large)
		default:
			return nil, nil, nil, malformed("OP_MSG section of kind %d", kind)
		}
	}
	if body == nil {
		return nil, nil, nil, malformed("OP_MSG without a body")
	}
	return body, sequences, sizeErr, nil
}

// cutSequence splits a sequence off the front: its size (including the size field), its field name and
// its documents.
func cutSequence(b []byte) (s sequence, rest []byte, sizeErr, err error) {
	size, _, ok := cutInt32(b)
	if !ok || size < 4 || int(size) > len(b) {
		return s, nil, nil, malformed("document sequence of %d bytes", size)
	}
	inside, rest := b[4:size], b[size:]
	if s.field, inside, ok = cutCString(inside); !ok {
		return s, nil, nil, malformed("document sequence without a name")
	}
	s.docs = inside
	for len(inside) > 0 {
		var doc bson.Raw
		if doc, inside, err = cutNested(inside, sequenceDepth); err != nil {
			return s, nil, nil, err
		}
		sizeErr = cmp.Or(sizeErr, checkSize(len(doc)))
	}
	return s, rest, sizeErr, nil
}

func checkSize(n int) error {
	if n <= maxDocumentBytes {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge, "a document of %d bytes is larger than the limit of %d", n,
		maxDocumentBytes)
}

// foldSequences appends each sequence as an array to the fields of the body. Without sequences it
// returns the body unchanged.
func foldSequences(body bson.Raw, sequences []sequence) (bson.Raw, error) {
	if len(sequences) == 0 {
		return body, nil
	}
	size := len(body)
	for _, s := range sequences {
		// Each document needs a type byte and an index in addition.
		size += len(s.field) + len(s.docs) + len(s.docs)/8 + 16
	}
	out := append(make([]byte, 0, size), body[:len(body)-1]...)
	for i, s := range sequences {
		if _, err := bsoncore.Document(body).LookupErr(s.field); err == nil {
			return nil, malformed("field %q is both in the body and a document sequence", s.field)
		}
		for _, earlier := range sequences[:i] {
			if earlier.field == s.field {
				return nil, malformed("two document sequences %q", s.field)
			}
		}
		out = appendArray(out, s)
	}
	out = append(out, 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return out, nil
}

func appendArray(dst []byte, s sequence) []byte {
	dst = append(dst, byte(bson.TypeArray))
	dst = append(append(dst, s.field...), 0)
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	docs := s.docs
	for i := 0; len(docs) > 0; i++ {
		size := binary.LittleEndian.Uint32(docs)
		dst = append(dst, byte(bson.TypeEmbeddedDocument))
		dst = append(strconv.AppendInt(dst, int64(i), 10), 0)
		dst = append(dst, docs[:size]...)
		docs = docs[size:]
	}
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// firstField returns the name of the first field of a validated document.
func firstField(doc bson.Raw) string {
	if len(doc) <= minDocumentBytes {
		return ""
	}
	name, _, _ := cutCString(doc[5:])
	return name
}

// appendMsg appends the reply to an OP_MSG to dst, which is empty.
func appendMsg(dst []byte, requestID, responseTo, flags int32, doc bson.Raw) []byte {
	dst = appendHeader(dst, requestID, responseTo, opMsg)
	dst = appendInt32(dst, flags)
	dst = append(dst, sectionBody)
	return finishMessage(append(dst, doc...))
}
