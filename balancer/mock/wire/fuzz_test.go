package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// everyType returns a document with a value of each BSON type.
func everyType(t testing.TB) []byte {
	t.Helper()
	inner := bson.D{{Key: "x", Value: int32(1)}}
	doc, err := bson.Marshal(bson.D{
		{Key: "insert", Value: "orders"}, {Key: "$db", Value: "app"},
		{Key: "double", Value: 1.5}, {Key: "doc", Value: inner}, {Key: "array", Value: bson.A{inner, int64(2)}},
		{Key: "bin", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}},
		{Key: "oldbin", Value: bson.Binary{Subtype: 2, Data: []byte("abc")}},
		{Key: "undefined", Value: bson.Undefined{}}, {Key: "oid", Value: bson.ObjectID{1}}, {Key: "bool", Value: true},
		{Key: "date", Value: bson.DateTime(1)}, {Key: "null", Value: nil},
		{Key: "regex", Value: bson.Regex{Pattern: "a", Options: "i"}},
		{Key: "dbp", Value: bson.DBPointer{DB: "app.orders"}}, {Key: "js", Value: bson.JavaScript("f()")},
		{Key: "symbol", Value: bson.Symbol("s")},
		{Key: "scope", Value: bson.CodeWithScope{Code: "f()", Scope: inner}}, {Key: "ts", Value: bson.Timestamp{T: 1, I: 2}},
		{Key: "dec", Value: bson.Decimal128{}}, {Key: "min", Value: bson.MinKey{}}, {Key: "max", Value: bson.MaxKey{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func seeds(t testing.TB) [][]byte {
	doc := everyType(t)
	sequence := append([]byte("documents\x00"), slices.Concat(doc, doc)...)
	section := append(append([]byte{sectionSequence}, appendInt32(nil, int32(len(sequence)+4))...), sequence...)
	build := func(op opcode, parts ...[]byte) []byte {
		return finishMessage(append(appendHeader(nil, 1, 0, op), slices.Concat(parts...)...))
	}
	flags := func(v int32) []byte { return appendInt32(nil, v) }
	summed := build(opMsg, flags(flagChecksum|flagExhaust), []byte{sectionBody}, doc, section, flags(0))
	sum := crc32.Checksum(summed[:len(summed)-checksumBytes], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(summed[len(summed)-checksumBytes:], sum)
	return [][]byte{
		build(opMsg, flags(0), []byte{sectionBody}, doc),
		build(opMsg, flags(flagMoreToCome), section, []byte{sectionBody}, doc),
		summed,
		build(opQuery, flags(0), []byte("admin.$cmd\x00"), make([]byte, 8), doc),
		build(opQuery, flags(0), []byte("admin.$cmd\x00"), make([]byte, 8), doc, doc),
		build(opCompressed, flags(2013), flags(10), []byte{1}),
		appendMsg(nil, 1, 2, 0, doc),
		appendQueryReply(nil, 1, 2, 0, doc),
	}
}

func TestEveryTypeIsTaken(t *testing.T) {
	doc := everyType(t)
	if _, rest, err := cutDocument(doc); err != nil || len(rest) > 0 {
		t.Fatalf("%d bytes left, %v", len(rest), err)
	}
	for n := range doc { // and no part of it is
		if _, _, err := cutDocument(doc[:n]); !errors.Is(err, errMalformed) {
			t.Errorf("first %d bytes: %v", n, err)
		}
	}
}

// FuzzMessages takes a stream of bytes for what a peer sends. Nothing may
// panic, and what is parsed must be safe to read.
func FuzzMessages(f *testing.F) {
	all := seeds(f)
	for _, s := range all {
		f.Add(s)
	}
	f.Add(slices.Concat(all...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var scratch [headerBytes]byte
		for r := bytes.NewReader(stream); ; {
			h, payload, err := readMessage(r, &scratch, 1<<20, func() {})
			if err != nil {
				return
			}
			if len(payload) != int(h.length)-headerBytes {
				t.Fatalf("%d bytes of payload for length %d", len(payload), h.length)
			}
			in, err := parseMessage(h, payload, 1<<20, func() {})
			if err != nil {
				if !errors.Is(err, errMalformed) {
					t.Fatalf("error without its kind: %v", err)
				}
				return
			}
			if in.refusal == nil {
				readAll(t, in.request.Body)
			}
		}
	})
}

// FuzzDocument holds our check of BSON against those who read it: what we take
// the driver can walk and decode.
func FuzzDocument(f *testing.F) {
	f.Add(everyType(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		doc, rest, err := cutDocument(b)
		if err != nil {
			return
		}
		if len(doc)+len(rest) != len(b) {
			t.Fatalf("%d and %d bytes of %d", len(doc), len(rest), len(b))
		}
		readAll(t, doc)
	})
}

func readAll(t *testing.T, doc bson.Raw) {
	if err := doc.Validate(); err != nil {
		t.Fatalf("taken, but the driver says %v", err)
	}
	if _, rest, err := cutDocument(doc); err != nil || len(rest) > 0 {
		t.Fatalf("folded into what we would not take: %v", err)
	}
	_ = doc.String()
	walk(t, bsoncore.Document(doc))
	var decoded bson.D
	if err := bson.Unmarshal(doc, &decoded); err != nil && !errors.Is(err, io.EOF) {
		// Decoding is stricter in a few places (array keys, UTF-8); it must
		// only not panic.
		return
	}
}

func walk(t *testing.T, doc bsoncore.Document) {
	elems, err := doc.Elements()
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, e := range elems {
		switch v := e.Value(); v.Type {
		case bsoncore.TypeEmbeddedDocument:
			walk(t, v.Document())
		case bsoncore.TypeArray:
			walk(t, bsoncore.Document(v.Array()))
		case bsoncore.TypeCodeWithScope:
			_, scope := v.CodeWithScope()
			walk(t, scope)
		case bsoncore.TypeBinary:
			v.Binary()
		case bsoncore.TypeString:
			_ = v.StringValue()
		case bsoncore.TypeRegex:
			v.Regex()
		case bsoncore.TypeDBPointer:
			v.DBPointer()
		}
	}
}

func FuzzPayload(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s[headerBytes:], int32(opMsg))
		f.Add(s[headerBytes:], int32(opQuery))
		f.Add(s[headerBytes:], int32(opCompressed))
	}
	f.Fuzz(func(t *testing.T, payload []byte, op int32) {
		in, err := parseMessage(header{op: opcode(op)}, payload, 1<<20, func() {})
		if err == nil && in.refusal == nil {
			readAll(t, in.request.Body)
		}
	})
}
