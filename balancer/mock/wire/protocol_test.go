package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

const (
	opReply      = 1
	opInsert     = 2002
	opQuery      = 2004
	opCompressed = 2012
	opMsg        = 2013

	moreToCome = 1 << 1
)

func document(t testing.TB, d bson.D) []byte {
	t.Helper()
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func int32s(vs ...int32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// message puts a header before the parts; the request id is 7.
func message(op int32, parts ...[]byte) []byte {
	payload := slices.Concat(parts...)
	return append(int32s(int32(16+len(payload)), 7, 0, op), payload...)
}

func bodySection(doc []byte) []byte { return append([]byte{0}, doc...) }

func sequenceSection(field string, docs ...[]byte) []byte {
	inside := append(append([]byte(field), 0), slices.Concat(docs...)...)
	return append(append([]byte{1}, int32s(int32(4+len(inside)))...), inside...)
}

func msg(t testing.TB, flags int32, d bson.D) []byte {
	return message(opMsg, int32s(flags), bodySection(document(t, d)))
}

func command(name string) bson.D {
	return bson.D{{Key: name, Value: int32(1)}, {Key: "$db", Value: "admin"}}
}

func query(t testing.TB, namespace string, d bson.D) []byte {
	return message(opQuery, int32s(0), append([]byte(namespace), 0), int32s(0, -1), document(t, d))
}

// peer is a client that says what it is told to.
type peer struct {
	t testing.TB
	net.Conn
}

func dial(t testing.TB, p *wire.Pipe) peer {
	t.Helper()
	nc, err := p.DialContext(context.Background(), "", "mock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return peer{t, nc}
}

func (p peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.Write(b); err != nil {
		p.t.Fatalf("sending: %v", err)
	}
}

// receive reads one reply and takes off what comes before its document.
func (p peer) receive() (op int32, doc bson.Raw) {
	p.t.Helper()
	header := make([]byte, 16)
	if _, err := io.ReadFull(p, header); err != nil {
		p.t.Fatalf("no reply: %v", err)
	}
	payload := make([]byte, binary.LittleEndian.Uint32(header)-16)
	if _, err := io.ReadFull(p, payload); err != nil {
		p.t.Fatalf("reply cut short: %v", err)
	}
	if to := binary.LittleEndian.Uint32(header[8:]); to != 7 {
		p.t.Errorf("reply to %d", to)
	}
	op = int32(binary.LittleEndian.Uint32(header[12:]))
	before := map[int32]int{opMsg: 5, opReply: 20}[op]
	return op, bson.Raw(payload[before:])
}

// expectClosed wants the end of the connection and no reply before it.
func (p peer) expectClosed() {
	p.t.Helper()
	if n, err := p.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		p.t.Errorf("%d bytes and error %v instead of a closed connection", n, err)
	}
}

func (p peer) expectPing() {
	p.t.Helper()
	p.send(msg(p.t, 0, command("ping")))
	if _, doc := p.receive(); doc.Lookup("ok").Double() != 1 {
		p.t.Errorf("ping: %v", doc)
	}
}

func nested(depth int) []byte {
	var b []byte
	for range depth {
		b = append(append([]byte{3, 'a', 0}, int32s(int32(len(b)+5))...), append(b, 0)...)
	}
	return append(append(int32s(int32(len(b)+5)), b...), 0)
}

func TestBrokenMessagesCloseTheirConnectionOnly(t *testing.T) {
	ping := document(t, command("ping"))
	noFinalZero := slices.Clone(ping)
	noFinalZero[len(noFinalZero)-1] = 1
	field := func(kind byte, value ...byte) []byte {
		return message(opMsg, int32s(0),
			bodySection(slices.Concat(int32s(int32(8+len(value))), []byte{kind, 'a', 0}, value, []byte{0})))
	}
	length := func(n int32) []byte {
		b := slices.Clone(msg(t, 0, command("ping")))
		copy(b, int32s(n))
		return b
	}
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	bystander := dial(t, pipe)

	for name, bytes := range map[string][]byte{
		"length below the header":        length(15),
		"length zero":                    length(0),
		"length negative":                length(-1),
		"length over the limit":          length(wire.DefaultMessageBytes + 1),
		"unknown opcode":                 message(4242),
		"an opcode of long ago":          message(opInsert, int32s(0), []byte("app.orders\x00"), ping),
		"a reply as a request":           message(opReply, int32s(0, 0, 0, 0, 1), ping),
		"no flags":                       message(opMsg, []byte{0, 0}),
		"unknown required flag":          msg(t, 1<<5, command("ping")),
		"no section":                     message(opMsg, int32s(0)),
		"checksum announced and missing": message(opMsg, int32s(1)),
		"section of unknown kind":        message(opMsg, int32s(0), []byte{2}, ping),
		"two bodies":                     message(opMsg, int32s(0), bodySection(ping), bodySection(ping)),
		"sequence and no body":           message(opMsg, int32s(0), sequenceSection("documents", ping)),
		"sequence of negative size":      message(opMsg, int32s(0), bodySection(ping), []byte{1}, int32s(-5)),
		"sequence larger than the rest":  message(opMsg, int32s(0), bodySection(ping), []byte{1}, int32s(500)),
		"sequence without a name":        message(opMsg, int32s(0), bodySection(ping), []byte{1}, int32s(6), []byte("ab")),
		"sequence with half a document": message(opMsg, int32s(0), bodySection(ping),
			sequenceSection("d", ping[:len(ping)-3])),
		"sequence named as a field": message(opMsg, int32s(0), bodySection(ping), sequenceSection("ping", ping)),
		"two sequences of a name": message(opMsg, int32s(0), bodySection(ping), sequenceSection("d", ping),
			sequenceSection("d", ping)),
		"document longer than message":    message(opMsg, int32s(0), []byte{0}, int32s(500), ping[4:]),
		"document of negative length":     message(opMsg, int32s(0), []byte{0}, int32s(-1), ping[4:]),
		"document without final zero":     message(opMsg, int32s(0), bodySection(noFinalZero)),
		"field name without end":          message(opMsg, int32s(0), bodySection(append(int32s(8), 10, 'a', 'b', 0)[:8])),
		"unknown BSON type":               field(0x42),
		"boolean of 2":                    field(8, 2),
		"int32 cut short":                 field(16, 1, 2),
		"string longer than its document": field(2, 100, 0, 0, 0, 'a', 0),
		"string of length zero":           field(2, 0, 0, 0, 0),
		"string without final zero":       field(2, 1, 0, 0, 0, 'a'),
		"binary of negative length":       field(5, 255, 255, 255, 255, 0),
		"old binary, lengths at odds":     field(5, 5, 0, 0, 0, 2, 9, 0, 0, 0, 1),
		"regular expression, one text":    field(11, 'a', 0),
		"code with scope, too small":      field(15, 3, 0, 0, 0),
		"nested document cut short":       field(3, 20, 0, 0, 0, 0),
		"OP_QUERY without a namespace":    message(opQuery, int32s(0), []byte("admin.$cmd")),
		"OP_QUERY without a document":     message(opQuery, int32s(0), []byte("admin.$cmd\x00"), int32s(0, -1)),
		"OP_QUERY with more than fields": message(opQuery, int32s(0), []byte("admin.$cmd\x00"), int32s(0, -1), ping, ping,
			ping),
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, pipe)
			p.send(bytes)
			p.expectClosed()
		})
	}
	bystander.expectPing()
}

func TestTruncatedMessageThenCloseIsForgotten(t *testing.T) {
	pipe := wire.NewPipe()
	handled := make(chan string, 100)
	h := new(toy).on("ping", func(context.Context, wire.Request) bson.D {
		handled <- "ping"
		return bson.D{{Key: "ok", Value: 1.0}}
	})
	s := &wire.Server{Handler: h}
	serve(t, s, pipe)
	whole := msg(t, 0, command("ping"))
	for n := range whole {
		p := dial(t, pipe)
		p.send(whole[:n])
		p.Close()
	}
	waitFor(t, func() bool { return s.Connections() == 0 })
	if len(handled) > 0 {
		t.Error("a message cut short was handled")
	}
}

func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("it never happened")
		}
	}
}

func TestNestingUpToTheLimitIsTaken(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	p := dial(t, pipe)
	p.send(message(opMsg, int32s(0), bodySection(nested(200))))
	if _, doc := p.receive(); doc.Lookup("code").Int32() != 40571 {
		t.Errorf("%v", doc)
	}
}

// What wants no reply gets none, refused or not.
func TestRefusedMessagesWithoutReply(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	p := dial(t, pipe)
	p.send(message(opMsg, int32s(moreToCome), bodySection(nested(201))))
	p.send(msg(t, moreToCome, bson.D{{Key: "ping", Value: 1}}))
	p.expectPing()
}

func TestSequencesBecomeArraysAfterTheBody(t *testing.T) {
	got := make(chan wire.Request, 1)
	h := new(toy).on("bulkWrite", func(_ context.Context, r wire.Request) bson.D {
		got <- r
		return bson.D{{Key: "ok", Value: 1.0}}
	})
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: h}, pipe)
	p := dial(t, pipe)
	one, two := document(t, bson.D{{Key: "a", Value: int32(1)}}), document(t, bson.D{{Key: "a", Value: int32(2)}})
	// The body may come after the sequences; exhaustAllowed and flags that a
	// receiver need not know are passed over.
	p.send(message(opMsg, int32s(1<<16|1<<20),
		sequenceSection("ops", one, two),
		bodySection(document(t, command("bulkWrite"))),
		sequenceSection("nsInfo")))
	p.receive()
	r := <-got
	want := `{"bulkWrite": {"$numberInt":"1"},"$db": "admin","ops": [{"a": {"$numberInt":"1"}},{"a": ` +
		`{"$numberInt":"2"}}],"nsInfo": []}`
	if r.Body.String() != want {
		t.Errorf("body is %s", r.Body)
	}
	if err := r.Body.Validate(); err != nil {
		t.Error(err)
	}
	if r.Database != "admin" || r.Command != "bulkWrite" {
		t.Errorf("%+v", r)
	}
}

// The checksum is the CRC-32C of all that is before it; one that is wrong
// closes the connection.
func TestChecksums(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	for _, flip := range []uint32{0, 1} {
		p := dial(t, pipe)
		m := message(opMsg, int32s(1), bodySection(document(t, command("ping"))), int32s(0))
		sum := crc32.Checksum(m[:len(m)-4], crc32.MakeTable(crc32.Castagnoli))
		binary.LittleEndian.PutUint32(m[len(m)-4:], sum^flip)
		p.send(m)
		if flip != 0 {
			p.expectClosed()
			continue
		}
		if _, doc := p.receive(); doc.Lookup("ok").Double() != 1 {
			t.Errorf("answered %s", doc)
		}
	}
}

func TestRefusalsAreReplies(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	find := bson.D{{Key: "find", Value: "orders"}}
	for _, tt := range []struct {
		name    string
		message []byte
		op      int32
		code    mongoerr.Code
	}{
		{"OP_MSG without $db", msg(t, 0, bson.D{{Key: "ping", Value: 1}}), opMsg, 40571},
		{"OP_MSG with a $db that is not a string", msg(t, 0, bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: 1}}), opMsg,
			40571},
		{"OP_QUERY of another command", query(t, "app.$cmd", find), opReply, mongoerr.UnsupportedOpQueryCommand},
		{"OP_QUERY of no command", query(t, "app.$cmd", bson.D{}), opReply, mongoerr.UnsupportedOpQueryCommand},
		{"OP_QUERY that finds", query(t, "app.orders", bson.D{}), opReply, mongoerr.UnsupportedOpQueryCommand},
		{"OP_MSG nested too deep", message(opMsg, int32s(0), bodySection(nested(201))), opMsg, mongoerr.Overflow},
		{"OP_MSG nested beyond reason", message(opMsg, int32s(0), bodySection(nested(3000))), opMsg, mongoerr.Overflow},
		{"OP_MSG with a sequence nested too deep", message(opMsg, int32s(0), bodySection(document(t, command("ping"))),
			sequenceSection("d", nested(199))), opMsg, mongoerr.Overflow},
		{"OP_QUERY nested too deep", message(opQuery, int32s(0), append([]byte("app.$cmd"), 0), int32s(0, -1), nested(201)),
			opReply, mongoerr.Overflow},
		{"OP_MSG with a document too large",
			msg(t, 0, append(command("ping"), bson.E{Key: "pad", Value: make([]byte, 16<<20+16<<10)})), opMsg,
			mongoerr.BSONObjectTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := dial(t, pipe)
			p.send(tt.message)
			op, doc := p.receive()
			if op != tt.op || doc.Lookup("ok").Double() != 0 || doc.Lookup("code").Int32() != int32(tt.code) {
				t.Errorf("opcode %d: %v", op, doc)
			}
			p.expectPing()
		})
	}
}

func TestHandshakeByOpQuery(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy)
	for _, name := range []string{"hello", "isMaster", "ismaster", "_isSelf", "authenticate", "buildInfo", "buildinfo",
		"saslStart", "saslContinue"} {
		h.on(name, func(_ context.Context, r wire.Request) bson.D {
			return bson.D{{Key: "said", Value: r.Command + " to " + r.Database}, {Key: "legacy", Value: r.Legacy}}
		})
	}
	serve(t, &wire.Server{Handler: h}, pipe)
	p := dial(t, pipe)
	for name := range h.commands {
		plain := bson.D{{Key: name, Value: 1}}
		for _, q := range []bson.D{plain, {{Key: "$query", Value: plain}, {Key: "$readPreference", Value: bson.D{}}}} {
			p.send(query(t, "admin.$cmd", q))
			op, doc := p.receive()
			if op != opReply || doc.Lookup("said").StringValue() != name+" to admin" || !doc.Lookup("legacy").Boolean() {
				t.Errorf("%s: opcode %d, %v", name, op, doc)
			}
		}
	}
}

func TestCommandsOfAConnectionStayInOrder(t *testing.T) {
	pipe := wire.NewPipe()
	var order []int32 // no lock: one at a time is the promise, and -race looks
	h := new(toy).on("note", func(_ context.Context, r wire.Request) bson.D {
		order = append(order, r.Body.Lookup("note").Int32())
		return bson.D{{Key: "ok", Value: 1.0}}
	})
	serve(t, &wire.Server{Handler: h}, pipe)
	p := dial(t, pipe)
	var all []byte
	const n = 500
	for i := range int32(n) {
		all = append(all, msg(t, moreToCome, bson.D{{Key: "note", Value: i}, {Key: "$db", Value: "app"}})...)
	}
	p.send(all)
	p.expectPing()
	if len(order) != n || !slices.IsSorted(order) {
		t.Errorf("handled in the order %v", order)
	}
}

func TestReplyOfNothingIsAnError(t *testing.T) {
	for name, reply := range map[string]bson.Raw{"nil": nil, "empty": {}, "half": {20, 0, 0, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			pipe := wire.NewPipe()
			serve(t, &wire.Server{Handler: &constant{reply: reply}}, pipe)
			p := dial(t, pipe)
			p.send(msg(t, 0, command("pong")))
			if _, doc := p.receive(); doc.Lookup("code").Int32() != 1 ||
				!strings.Contains(doc.Lookup("errmsg").StringValue(), "pong") {
				t.Errorf("%v", doc)
			}
			p.expectPing()
		})
	}
}

func TestListenerThatFails(t *testing.T) {
	broken := errors.New("out of order")
	s := &wire.Server{Handler: new(toy)}
	if err := s.Serve(context.Background(), brokenListener{broken}); !errors.Is(err, broken) {
		t.Errorf("Serve: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Serve(context.Background(), wire.NewPipe()); !errors.Is(err, wire.ErrStopped) {
		t.Errorf("Serve after Close: %v", err)
	}
}

type brokenListener struct{ err error }

func (l brokenListener) Accept() (net.Conn, error) { return nil, l.err }
func (l brokenListener) Close() error              { return nil }
func (l brokenListener) Addr() net.Addr            { return &net.TCPAddr{} }
