package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// DefaultMessageBytes is the maximum message size of a server: maxMessageSizeBytes of hello
// (rules/03-commands §1.9).
const DefaultMessageBytes = 48_000_000

const (
	headerBytes = 16
	// firstReadBytes is the maximum size of the allocation that a message header causes before the
	// payload arrives.
	firstReadBytes = 64 << 10
	// maxReadAheadBytes is the maximum size of a message, compressed and uncompressed, that is read
	// while the previous one is being handled.
	maxReadAheadBytes = 256 << 10
)

type opcode int32

const (
	opReply      opcode = 1
	opQuery      opcode = 2004
	opCompressed opcode = 2012
	opMsg        opcode = 2013
)

func (o opcode) isKnown() bool {
	switch o {
	case opQuery, opCompressed, opMsg:
		return true
	}
	return false
}

// errMalformed is the reason for closing a connection whose peer violated the protocol.
var errMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
}

// header is the header of every message: 16 bytes, little endian.
type header struct {
	length     int32 // of the whole message, including the header
	requestID  int32
	responseTo int32
	op         opcode
}

func parseHeader(b []byte) header {
	return header{
		length:     int32(binary.LittleEndian.Uint32(b)),
		requestID:  int32(binary.LittleEndian.Uint32(b[4:])),
		responseTo: int32(binary.LittleEndian.Uint32(b[8:])),
		op:         opcode(binary.LittleEndian.Uint32(b[12:])),
	}
}

// appendHeader appends a header with length 0, which finishMessage sets.
func appendHeader(dst []byte, requestID, responseTo int32, op opcode) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = appendInt32(dst, requestID)
	dst = appendInt32(dst, responseTo)
	return appendInt32(dst, int32(op))
}

// finishMessage sets the length of a message that begins at dst[0].
func finishMessage(dst []byte) []byte {
	binary.LittleEndian.PutUint32(dst, uint32(len(dst)))
	return dst
}

func appendInt32(dst []byte, v int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(v))
}

// readMessage reads one message. The payload, which is everything after the header, is a new slice.
// io.EOF means that the peer disconnected between messages. readMessage calls beforeLarge before it reads a
// message that takes much memory.
func readMessage(r io.Reader, scratch *[headerBytes]byte, limit int32, beforeLarge func()) (header, []byte, error) {
	if _, err := io.ReadFull(r, scratch[:]); err != nil {
		return header{}, nil, err
	}
	h := parseHeader(scratch[:])
	if h.length < headerBytes || h.length > limit {
		return h, nil, malformed("length %d is outside %d to %d", h.length, headerBytes, limit)
	}
	// Check the opcode before the payload arrives: a client of another protocol, such as TLS, would
	// never send the rest.
	if !h.op.isKnown() {
		return h, nil, malformed("opcode %d", h.op)
	}
	if h.length > maxReadAheadBytes {
		beforeLarge()
	}
	payload, err := readPayload(r, int(h.length)-headerBytes)
	if err != nil {
		return h, nil, fmt.Errorf("message cut short: %w", err)
	}
	return h, payload, nil
}

// readPayload reads n bytes and allocates memory only as they arrive. Otherwise a client could cause an
// allocation of 48 MB by sending just a header.
func readPayload(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, firstReadBytes))
	for have := 0; ; {
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if len(b) == n {
			return b, nil
		}
		have = len(b)
		grown := make([]byte, min(n, 4*have))
		copy(grown, b)
		b = grown
	}
}

// message is a parsed message.
type message struct {
	requestID int32
	request   Request
	// noReply: the client wants no reply.
	noReply bool
	// exhaust: the client accepts a stream of replies.
	exhaust bool
	// compressor is the compressor of the message and of its reply.
	compressor compressor
	// refusal is the reply to a message that is well formed but cannot be passed to the handler.
	refusal error
}

func parseMessage(h header, payload []byte, limit int32, beforeLarge func()) (message, error) {
	var (
		in  message
		by  compressor
		err error
	)
	if h.op == opCompressed {
		if inflatedBytes(payload) > maxReadAheadBytes {
			beforeLarge()
		}
		if h, payload, by, err = inflate(h, payload, limit); err != nil {
			return in, err
		}
	}
	switch h.op {
	case opMsg:
		in, err = parseMsg(h, payload)
	case opQuery:
		in, err = parseQuery(payload)
	default:
		err = malformed("opcode %d", h.op)
	}
	in.requestID, in.compressor = h.requestID, by
	return in, err
}

// cutCString splits a zero-terminated string off the front.
func cutCString(b []byte) (s string, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), b[i+1:], true
		}
	}
	return "", nil, false
}

func cutInt32(b []byte) (v int32, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	return int32(binary.LittleEndian.Uint32(b)), b[4:], true
}
