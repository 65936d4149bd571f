package wire_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// codec is a compressor as a peer has it.
type codec struct {
	name   string
	id     byte
	pack   func(testing.TB, []byte) []byte
	unpack func(testing.TB, []byte) []byte
}

func codecs() []codec {
	must := func(t testing.TB, b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return []codec{
		{"snappy", 1,
			func(_ testing.TB, b []byte) []byte { return snappy.Encode(nil, b) },
			func(t testing.TB, b []byte) []byte { out, err := snappy.Decode(nil, b); return must(t, out, err) }},
		{"zlib", 2,
			func(t testing.TB, b []byte) []byte {
				var out bytes.Buffer
				w := zlib.NewWriter(&out)
				_, err := w.Write(b)
				must(t, nil, err)
				must(t, nil, w.Close())
				return out.Bytes()
			},
			func(t testing.TB, b []byte) []byte {
				r, err := zlib.NewReader(bytes.NewReader(b))
				must(t, nil, err)
				out, err := io.ReadAll(r)
				return must(t, out, err)
			}},
		{"zstd", 3,
			func(t testing.TB, b []byte) []byte {
				w, err := zstd.NewWriter(nil)
				must(t, nil, err)
				return w.EncodeAll(b, nil)
			},
			func(t testing.TB, b []byte) []byte {
				r, err := zstd.NewReader(nil)
				must(t, nil, err)
				defer r.Close()
				out, err := r.DecodeAll(b, nil)
				return must(t, out, err)
			}},
	}
}

// compressed makes an OP_COMPRESSED that says what it is told of the message.
func compressed(op, size int32, id byte, data []byte) []byte {
	return message(opCompressed, int32s(op, size), []byte{id}, data)
}

func TestCompressedMessagesAreAnsweredInKind(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy).on("echo", func(_ context.Context, r wire.Request) bson.D {
		return bson.D{{Key: "back", Value: r.Body.Lookup("echo")}, {Key: "ok", Value: 1.0}}
	})
	serve(t, &wire.Server{Handler: h}, pipe)
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			p := dial(t, pipe)
			text := string(bytes.Repeat([]byte("shard chunk range "), 10_000))
			plain := msg(t, 0, bson.D{{Key: "echo", Value: text}, {Key: "$db", Value: "app"}})[16:]
			p.send(compressed(opMsg, int32(len(plain)), c.id, c.pack(t, plain)))
			header := make([]byte, 16+9)
			if _, err := io.ReadFull(p, header); err != nil {
				t.Fatal(err)
			}
			if op, inner, id := binary.LittleEndian.Uint32(header[12:]), binary.LittleEndian.Uint32(header[16:]),
				header[24]; op != opCompressed || inner != opMsg || id != c.id {
				t.Fatalf("reply of opcode %d in %d, compressor %d", inner, op, id)
			}
			data := make([]byte, int(binary.LittleEndian.Uint32(header))-len(header))
			if _, err := io.ReadFull(p, data); err != nil {
				t.Fatal(err)
			}
			out := c.unpack(t, data)
			if len(out) != int(binary.LittleEndian.Uint32(header[20:])) || len(data) > len(out)/5 {
				t.Errorf("%d bytes in %d", len(out), len(data))
			}
			if got := bson.Raw(out[5:]).Lookup("back").StringValue(); got != text {
				t.Errorf("%d bytes came back as %d", len(text), len(got))
			}
			p.expectPing() // what comes plain is answered so
		})
	}
}

func TestBrokenCompressionClosesItsConnectionOnly(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy), Limits: wire.Limits{MessageBytes: 1 << 20}}, pipe)
	bystander := dial(t, pipe)
	plain := msg(t, 0, command("ping"))[16:]
	size := int32(len(plain))
	for _, c := range codecs() {
		good, bomb := c.pack(t, plain), c.pack(t, make([]byte, 24<<20)) // more than may be set aside
		for name, bytes := range map[string][]byte{
			"cut short":                   message(opCompressed, int32s(opMsg, size)),
			"an unknown compressor":       compressed(opMsg, size, 9, good),
			"no compressor":               compressed(opMsg, size, 0, plain),
			"nonsense":                    compressed(opMsg, size, c.id, []byte("nonsense, not compressed")),
			"nothing":                     compressed(opMsg, size, c.id, nil),
			"half":                        compressed(opMsg, size, c.id, good[:len(good)/2]),
			"more than it says":           compressed(opMsg, size-1, c.id, good),
			"less than it says":           compressed(opMsg, size+1, c.id, good),
			"a negative size":             compressed(opMsg, -1, c.id, good),
			"a size over the limit":       compressed(opMsg, 1<<20, c.id, good),
			"an opcode that is unknown":   compressed(4242, size, c.id, good),
			"a compressed one inside":     compressed(opCompressed, size, c.id, good),
			"a bomb that says so":         compressed(opMsg, 24<<20, c.id, bomb),
			"a bomb that lies":            compressed(opMsg, 1<<19, c.id, bomb),
			"a broken message inside":     compressed(opMsg, 4, c.id, c.pack(t, []byte{0, 0, 0, 0})),
			"a message of another opcode": compressed(opQuery, size, c.id, good),
		} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				if len(bytes) > 1<<20 {
					bytes = bytes[:1<<20] // what the length limit leaves of it
					copy(bytes, int32s(1<<20))
				}
				p := dial(t, pipe)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				p.send(bytes)
				p.expectClosed()
				runtime.ReadMemStats(&after)
				if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
					t.Errorf("%d bytes were set aside", grown)
				}
			})
		}
	}
	bystander.expectPing()
}

func TestCommonCompressors(t *testing.T) {
	for _, tt := range []struct{ offered, want []string }{
		{nil, nil},
		{[]string{"lz4"}, nil},
		{[]string{"zstd", "lz4", "zlib", "snappy", "zlib"}, []string{"zstd", "zlib", "snappy"}},
	} {
		if got := wire.CommonCompressors(tt.offered); !slices.Equal(got, tt.want) {
			t.Errorf("of %v: %v, want %v", tt.offered, got, tt.want)
		}
	}
}
