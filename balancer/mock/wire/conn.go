package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mongoerr"
)

const (
	readBufferBytes = 4 << 10
	// maxReusedReplyBytes is the largest reply buffer kept for the next reply.
	maxReusedReplyBytes = 1 << 20
)

// conn is one client. A goroutine reads a command, handles it, and reads the next.
// While a command takes long, another one reads on, so that a peer that leaves in
// the middle of it is noticed; the two take turns, and commands stay in order. What
// it reads ahead is small: a large message is not taken before the one in hand is
// done with and its reply is sent, so that a connection costs one message and one
// reply, whatever its peer sends and whether it reads the replies or not.
type conn struct {
	service *service
	nc      net.Conn
	client  *Client
	ctx     context.Context // ends when the peer is gone
	cancel  context.CancelCauseFunc

	// reading is held by who reads the next message, handling by who handles
	// one. Taking handling before leaving reading is what keeps the order.
	reading  baton
	in       *bufio.Reader
	scratch  [headerBytes]byte
	handling baton
	out      []byte
	writeBy  time.Time // the deadline for replies

	state sync.Mutex
	// pending counts messages read and not done with: 0, 1 or 2; admitted counts
	// all that were read.
	pending  int
	admitted uint64
	// receiving: a message has begun to come. timed: the connection has a deadline
	// for reading.
	receiving, timed bool
	retired          bool
	watch            watch
}

// baton is a lock. Waiting for it counts as waiting in a testing/synctest
// bubble, as waiting for a sync.Mutex does not, so servers can be tested there.
type baton chan struct{}

func newBaton() baton   { return make(baton, 1) }
func (b baton) lock()   { b <- struct{}{} }
func (b baton) unlock() { <-b }

func newConn(s *service, nc net.Conn) *conn {
	c := &conn{
		service:  s,
		nc:       nc,
		reading:  newBaton(),
		in:       bufio.NewReaderSize(s.server.Poll.Reader(nc), readBufferBytes),
		handling: newBaton(),
	}
	c.client = &Client{
		ID:     s.server.clients.Add(1),
		Remote: nc.RemoteAddr().String(),
		Local:  nc.LocalAddr().String(),
	}
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	return c
}

// serve returns when the connection is closed and nothing runs for it.
func (c *conn) serve() {
	if err := mongoerr.CatchPanic(c.service.server.log(), "the TLS handshake", c.handshake); err != nil {
		c.service.server.log().Warn("connection closed: the TLS handshake failed", "client", c.client.ID, "remote",
			c.client.Remote, "error", err)
	} else {
		c.state.Lock()
		c.setReadDeadline()
		c.state.Unlock()
		c.loop()
		c.endWatch()
	}
	c.hangUp(errPeerGone)
	l, ok := c.service.server.Handler.(Leaver)
	if !ok {
		return
	}
	_ = mongoerr.CatchPanic(c.service.server.log(), "the end of a connection", func() error { // which has logged it
		l.Leave(c.client)
		return nil
	})
}

// handshake performs the TLS handshake of a TLS connection, in the time that a
// message may take.
func (c *conn) handshake() error {
	secured, ok := c.nc.(interface{ HandshakeContext(context.Context) error })
	if !ok {
		return nil
	}
	ctx := c.ctx
	if limit := c.service.server.Limits.Transfer; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return secured.HandshakeContext(ctx)
}

func (c *conn) loop() {
	for c.serveNext() {
	}
}

// serveNext reads a message and handles it, and reports whether there may be
// more. Should the program panic outside of the handler, it costs this
// connection, and nobody waits for a baton that is not given back.
func (c *conn) serveNext() (more bool) {
	err := mongoerr.CatchPanic(c.service.server.log(), "a connection", func() error {
		m, err := c.takeMessage()
		if err != nil {
			return nil // next has told
		}
		defer c.handling.unlock()
		defer c.messageDone()
		if err := c.answer(m); err != nil {
			c.service.server.log().Debug("connection closed: cannot send", "client", c.client.ID, "error", err)
			c.hangUp(errPeerGone)
		}
		more = true
		return nil
	})
	if err != nil {
		c.hangUp(err)
	}
	return more
}

// takeMessage reads a message and takes the baton for handling it.
func (c *conn) takeMessage() (message, error) {
	c.reading.lock()
	defer c.reading.unlock()
	t := &turn{c: c}
	defer t.end()
	m, err := c.next(t)
	if err == nil {
		t.take()
		t.kept = true
	}
	return m, err
}

// turn is the baton for handling a message that is being read.
type turn struct {
	c          *conn
	mine, kept bool
}

func (t *turn) take() {
	if !t.mine {
		t.c.handling.lock()
		t.mine = true
	}
}

// waitForTurn waits for the turn of a message before it takes much memory. The time
// that we do not read is not the peer's.
func (t *turn) waitForTurn() {
	if !t.mine {
		t.take()
		t.c.startTransferLimit()
	}
}

// end gives the baton back, unless there is a message to handle.
func (t *turn) end() {
	if t.mine && !t.kept {
		t.c.handling.unlock()
	}
}

// next reads and parses a message; any failure closes the connection.
func (c *conn) next(t *turn) (message, error) {
	if err := context.Cause(c.ctx); err != nil {
		return message{}, err
	}
	m, err := c.receive(t)
	if err != nil {
		c.logEnd(err)
		c.hangUp(errPeerGone)
		return message{}, err
	}
	if !c.admit() {
		return message{}, errStopping
	}
	return m, nil
}

// receive waits for the first byte of a message for as long as it takes, and
// for the rest no longer than the limit.
func (c *conn) receive(t *turn) (message, error) {
	if _, err := c.in.Peek(1); err != nil {
		return message{}, err
	}
	if !c.isWhole() {
		c.startTransferLimit()
	}
	limit := c.service.server.maxBytesFrom(c.client)
	h, payload, err := readMessage(c.in, &c.scratch, limit, t.waitForTurn)
	if err != nil {
		return message{}, err
	}
	return parseMessage(h, payload, limit, t.waitForTurn)
}

// isWhole reports whether all of the next message has come.
func (c *conn) isWhole() bool {
	b, err := c.in.Peek(c.in.Buffered())
	return err == nil && len(b) >= headerBytes && int(parseHeader(b).length) <= len(b)
}

// startTransferLimit starts the transfer limit at the first byte of a message.
func (c *conn) startTransferLimit() {
	limit := c.service.server.Limits.Transfer
	if limit <= 0 {
		return
	}
	c.state.Lock()
	defer c.state.Unlock()
	c.receiving, c.timed = true, true
	c.nc.SetReadDeadline(time.Now().Add(limit)) //nolint:errcheck // a closed connection fails the next read
}

// logEnd logs why a connection ends, unless the peer just left or we did it.
func (c *conn) logEnd(err error) {
	log := c.service.server.log()
	switch {
	case errors.Is(err, errMalformed):
		log.Warn("connection closed: the client broke the protocol", "client", c.client.ID, "remote", c.client.Remote,
			"error", err)
	case !errors.Is(err, io.EOF) && c.ctx.Err() == nil:
		log.Debug("connection closed", "client", c.client.ID, "error", err)
	}
}

// answer handles one message and sends the reply if one is wanted. A monitor
// that takes a stream of replies gets them until the connection or the server
// ends, each in answer to the one before.
func (c *conn) answer(m message) error {
	answers := m.requestID
	for {
		doc := c.reply(m)
		if c.client.dropped {
			return errDropped
		}
		if m.noReply {
			return nil
		}
		flags := int32(0)
		if m.exhaust && isAwaitableHello(m.request) && isOK(doc) && c.service.server.draining.Err() == nil {
			flags = flagMoreToCome
		}
		if flags == 0 {
			m.request.Body = nil // while the reply waits for its reader
		}
		id := c.service.server.requestID.Add(1)
		if err := c.send(m, id, answers, flags, doc); err != nil || flags == 0 {
			return err
		}
		answers = id
		m.request.Body = nextHello(m.request.Body, doc)
	}
}

// nextHello returns the hello that waits for changes after a reply.
func nextHello(hello, reply bson.Raw) bson.Raw {
	const field = "topologyVersion"
	was, is := hello.Lookup(field), reply.Lookup(field)
	if is.IsZero() || was.Equal(is) {
		return hello
	}
	elems, err := bsoncore.Document(hello).Elements()
	if err != nil {
		return hello
	}
	next := bsoncore.NewDocumentBuilder()
	for _, e := range elems {
		v := e.Value()
		if e.Key() == field {
			v = bsoncore.Value{Type: bsoncore.Type(is.Type), Data: is.Value}
		}
		next.AppendValue(e.Key(), v)
	}
	return bson.Raw(next.Build())
}

func isOK(doc bson.Raw) bool {
	n, ok := doc.Lookup("ok").DoubleOK()
	return ok && n == 1
}

func (c *conn) send(m message, id, answers, flags int32, doc bson.Raw) error {
	write := appendMsg
	if m.request.Legacy {
		write = appendLegacy
	}
	c.out = write(c.out[:0], id, answers, flags, doc)
	if m.compressor != noCompressor {
		packed, err := c.service.server.packers.deflate(m.compressor, nil, c.out)
		if err != nil {
			return err
		}
		c.out = packed
	}
	if err := c.setWriteDeadline(); err != nil {
		return err
	}
	_, err := c.nc.Write(c.out)
	if cap(c.out) > maxReusedReplyBytes {
		c.out = nil
	}
	return err
}

// setWriteDeadline gives a reply the time that it may take, and up to an eighth
// more: a deadline serves all replies of a while.
func (c *conn) setWriteDeadline() error {
	limit := c.service.server.Limits.Transfer
	if limit <= 0 {
		return nil
	}
	now := time.Now()
	if !now.Add(limit).After(c.writeBy) {
		return nil
	}
	c.writeBy = now.Add(limit + limit/8)
	return c.nc.SetWriteDeadline(c.writeBy)
}

func (c *conn) reply(m message) bson.Raw {
	if m.refusal != nil {
		return errorReply(m.refusal)
	}
	m.request.Client = c.client
	ctx, cancel := c.context(m)
	defer cancel()
	doc := c.handle(ctx, m.request)
	size, _, ok := cutInt32(doc)
	switch {
	case !ok || int(size) != len(doc) || size < minDocumentBytes:
		return errorReply(mongoerr.New(mongoerr.InternalError, "%s made no reply", m.request.Command))
	case size > maxDocumentBytes:
		return errorReply(mongoerr.New(mongoerr.BSONObjectTooLarge, "the reply of %d bytes is larger than the limit of %d",
			size, maxDocumentBytes))
	}
	return doc
}

// context returns what the command runs under.
func (c *conn) context(m message) (context.Context, context.CancelFunc) {
	switch {
	case m.noReply:
		// A client may send such a command and leave at once.
		return c.service.ctx, func() {}
	case isAwaitableHello(m.request):
		ctx, cancel := context.WithCancelCause(c.ctx)
		stop := context.AfterFunc(c.service.server.draining, func() { cancel(errStopping) })
		return ctx, func() { stop(); cancel(nil) }
	}
	return c.ctx, func() {}
}

// isAwaitableHello reports whether the request is a hello that is answered when the
// topology changes or its time is up: no work to wait for when the server
// stops.
func isAwaitableHello(r Request) bool {
	switch r.Command {
	case "hello", "isMaster", "ismaster":
		return r.Body.Lookup("maxAwaitTimeMS").Type != 0
	}
	return false
}

// handle calls the handler, and recovers if it panics: the
// command fails, the process continues.
func (c *conn) handle(ctx context.Context, r Request) (doc bson.Raw) {
	err := mongoerr.CatchPanic(c.service.server.log(), r.Command, func() error {
		doc = c.service.server.Handler.Handle(ctx, r)
		return nil
	})
	if err != nil {
		return errorReply(err)
	}
	return doc
}

func errorReply(err error) bson.Raw {
	doc, marshalErr := bson.Marshal(mongoerr.Reply(err))
	if marshalErr != nil {
		doc, _ = bson.Marshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: marshalErr.Error()}})
	}
	return doc
}

// admit notes a message that is to be handled: from now on time does not count
// against the peer. It reports whether the connection takes more of them.
func (c *conn) admit() bool {
	c.state.Lock()
	defer c.state.Unlock()
	if c.retired {
		return false
	}
	c.pending++
	c.admitted++
	c.receiving = false
	if c.timed {
		c.timed = false
		c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // a closed connection fails the next read
	}
	c.beginWatch()
	return true
}

// messageDone notes a message that has been handled.
func (c *conn) messageDone() {
	c.state.Lock()
	c.pending--
	idle, retired := c.pending == 0, c.retired
	if idle && !retired && !c.receiving {
		c.setReadDeadline()
	}
	c.state.Unlock()
	if idle && retired {
		c.hangUp(errStopping)
	}
}

// setReadDeadline starts the time that a connection may idle. The caller holds
// the state.
func (c *conn) setReadDeadline() {
	if idle := c.service.server.Limits.Idle; idle > 0 {
		c.timed = true
		c.nc.SetReadDeadline(time.Now().Add(idle)) //nolint:errcheck // a closed connection fails the next read
	}
}

// closeWhenIdle closes the connection as soon as it has nothing to do.
func (c *conn) closeWhenIdle() {
	c.state.Lock()
	c.retired = true
	idle := c.pending == 0
	c.state.Unlock()
	if idle {
		c.hangUp(errStopping)
	}
}

// hangUp ends the connection and the command that runs on it. The first cause
// counts.
func (c *conn) hangUp(cause error) {
	c.cancel(cause)
	c.nc.Close()
}
