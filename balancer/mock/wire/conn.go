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
	// maxReusedReplyBytes is the maximum size of a reply buffer that is kept for reuse.
	maxReusedReplyBytes = 1 << 20
)

// conn is one client connection. A goroutine alternately reads and handles a command. While a command
// takes long, a second goroutine reads, so that the server notices when the peer disconnects. The two
// take turns, and commands stay in order. Only small messages are read ahead. A large message is read
// only after the current message is handled and its reply is sent. So a connection needs the memory of
// one message and one reply, whatever its peer sends and whether or not the peer reads the replies.
type conn struct {
	service *service
	nc      net.Conn
	client  *ClientConn
	ctx     context.Context // ends when the peer disconnects
	cancel  context.CancelCauseFunc

	// reading is held by the goroutine that reads the next message, handling by the goroutine that
	// handles one. A goroutine takes handling before it releases reading, which keeps the order.
	reading       chanLock
	in            *bufio.Reader
	scratch       [headerBytes]byte
	handling      chanLock
	replyBuffer   []byte
	writeDeadline time.Time // the deadline for replies

	state sync.Mutex
	// pending is the number of messages that were read and are not yet handled: 0, 1 or 2. admitted is
	// the number of all messages that were read.
	pending  int
	admitted uint64
	// receiving: part of a message has arrived. hasReadDeadline: the connection has one.
	receiving, hasReadDeadline bool
	closesWhenIdle             bool
	watch                      longCommandWatch
}

// chanLock is a lock. Unlike waiting for a sync.Mutex, waiting for a baton is durably blocking in a
// testing/synctest bubble, so that servers can be tested there.
type chanLock chan struct{}

func newBaton() chanLock   { return make(chanLock, 1) }
func (b chanLock) lock()   { b <- struct{}{} }
func (b chanLock) unlock() { <-b }

func newConn(s *service, nc net.Conn) *conn {
	c := &conn{
		service:  s,
		nc:       nc,
		reading:  newBaton(),
		in:       bufio.NewReaderSize(s.server.Poll.Reader(nc), readBufferBytes),
		handling: newBaton(),
	}
	c.client = &ClientConn{
		ID:     s.server.lastClientID.Add(1),
		Remote: nc.RemoteAddr().String(),
		Local:  nc.LocalAddr().String(),
	}
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	return c
}

// serve handles the connection until it is closed and none of its goroutines runs.
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
	l, ok := c.service.server.Handler.(DisconnectHandler)
	if !ok {
		return
	}
	_ = mongoerr.CatchPanic(c.service.server.log(), "the end of a connection", func() error { // logged already
		l.Leave(c.client)
		return nil
	})
}

// handshake performs the TLS handshake of a TLS connection within the time limit of a message.
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

// serveNext reads and handles one message, and reports whether more may follow. A panic outside of the
// handler closes this connection and releases its batons.
func (c *conn) serveNext() (more bool) {
	err := mongoerr.CatchPanic(c.service.server.log(), "a connection", func() error {
		m, err := c.takeMessage()
		if err != nil {
			return nil // already logged by receiveOrHangUp
		}
		defer c.handling.unlock()
		defer c.messageDone()
		if err := c.serveMessage(m); err != nil {
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

// takeMessage reads a message and takes the handling baton.
func (c *conn) takeMessage() (message, error) {
	c.reading.lock()
	defer c.reading.unlock()
	t := &handlingLock{c: c}
	defer t.end()
	m, err := c.receiveOrHangUp(t)
	if err == nil {
		t.take()
		t.passedOn = true
	}
	return m, err
}

// handlingLock is the handling baton for a message that is being read.
type handlingLock struct {
	c              *conn
	held, passedOn bool
}

func (t *handlingLock) take() {
	if !t.held {
		t.c.handling.lock()
		t.held = true
	}
}

// waitForTurn waits for the handling baton before a message takes much memory. The wait does not count
// toward the transfer limit.
func (t *handlingLock) waitForTurn() {
	if !t.held {
		t.take()
		t.c.startTransferLimit()
	}
}

// end releases the baton unless a message is to be handled.
func (t *handlingLock) end() {
	if t.held && !t.passedOn {
		t.c.handling.unlock()
	}
}

// receiveOrHangUp reads and parses a message. It closes the connection on any failure.
func (c *conn) receiveOrHangUp(t *handlingLock) (message, error) {
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

// receive reads a message. It waits indefinitely for the first byte, and for the rest up to the transfer
// limit.
func (c *conn) receive(t *handlingLock) (message, error) {
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

// isWhole reports whether the next message is completely buffered.
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
	c.receiving, c.hasReadDeadline = true, true
	c.nc.SetReadDeadline(time.Now().Add(limit)) //nolint:errcheck // a closed connection fails the next read
}

// logEnd logs why a connection ends, unless the peer disconnected or the server closed it.
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

// serveMessage handles one message and sends the reply, if one is wanted. A monitor that accepts a stream of
// replies (exhaust) gets replies until the connection or the server ends. Each is a response to the
// previous one.
func (c *conn) serveMessage(m message) error {
	answers := m.requestID
	for {
		doc := c.replyTo(m)
		if c.client.dropped {
			return errDropped
		}
		if m.noReply {
			return nil
		}
		flags := int32(0)
		if m.exhaust && isAwaitableHello(m.request) && isOK(doc) && c.service.server.drainCtx.Err() == nil {
			flags = flagMoreToCome
		}
		if flags == 0 {
			m.request.Body = nil // releases the request while the reply is being sent
		}
		id := c.service.server.requestID.Add(1)
		if err := c.send(m, id, answers, flags, doc); err != nil || flags == 0 {
			return err
		}
		answers = id
		m.request.Body = nextHello(m.request.Body, doc)
	}
}

// nextHello returns the hello that a streaming monitor would send after a reply.
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

func (c *conn) send(m message, id, responseTo, flags int32, doc bson.Raw) error {
	write := appendMsg
	if m.request.Legacy {
		write = appendQueryReply
	}
	c.replyBuffer = write(c.replyBuffer[:0], id, responseTo, flags, doc)
	if m.compressor != noCompressor {
		packed, err := c.service.server.compressors.deflate(m.compressor, nil, c.replyBuffer)
		if err != nil {
			return err
		}
		c.replyBuffer = packed
	}
	if err := c.setWriteDeadline(); err != nil {
		return err
	}
	_, err := c.nc.Write(c.replyBuffer)
	if cap(c.replyBuffer) > maxReusedReplyBytes {
		c.replyBuffer = nil
	}
	return err
}

// setWriteDeadline gives a reply the transfer limit plus up to an eighth. So one deadline serves several
// replies.
func (c *conn) setWriteDeadline() error {
	limit := c.service.server.Limits.Transfer
	if limit <= 0 {
		return nil
	}
	now := time.Now()
	if !now.Add(limit).After(c.writeDeadline) {
		return nil
	}
	c.writeDeadline = now.Add(limit + limit/8)
	return c.nc.SetWriteDeadline(c.writeDeadline)
}

func (c *conn) replyTo(m message) bson.Raw {
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

// context returns the context of the command.
func (c *conn) context(m message) (context.Context, context.CancelFunc) {
	switch {
	case m.noReply:
		// A client may send such a command and disconnect at once.
		return c.service.ctx, func() {}
	case isAwaitableHello(m.request):
		ctx, cancel := context.WithCancelCause(c.ctx)
		stop := context.AfterFunc(c.service.server.drainCtx, func() { cancel(errStopping) })
		return ctx, func() { stop(); cancel(nil) }
	}
	return c.ctx, func() {}
}

// isAwaitableHello reports whether the request is a hello that waits for a topology change or a timeout.
// The server does not wait for it when it stops.
func isAwaitableHello(r Request) bool {
	switch r.Command {
	case "hello", "isMaster", "ismaster":
		return r.Body.Lookup("maxAwaitTimeMS").Type != 0
	}
	return false
}

// handle calls the handler. If the handler panics, the command fails and the process continues.
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

// admit registers a message to be handled and stops the read deadline. It reports whether the connection
// accepts more messages.
func (c *conn) admit() bool {
	c.state.Lock()
	defer c.state.Unlock()
	if c.closesWhenIdle {
		return false
	}
	c.pending++
	c.admitted++
	c.receiving = false
	if c.hasReadDeadline {
		c.hasReadDeadline = false
		c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // a closed connection fails the next read
	}
	c.beginWatch()
	return true
}

// messageDone registers that a message was handled.
func (c *conn) messageDone() {
	c.state.Lock()
	c.pending--
	idle, retired := c.pending == 0, c.closesWhenIdle
	if idle && !retired && !c.receiving {
		c.setReadDeadline()
	}
	c.state.Unlock()
	if idle && retired {
		c.hangUp(errStopping)
	}
}

// setReadDeadline starts the idle limit of the connection. The caller holds the state lock.
func (c *conn) setReadDeadline() {
	if idle := c.service.server.Limits.Idle; idle > 0 {
		c.hasReadDeadline = true
		c.nc.SetReadDeadline(time.Now().Add(idle)) //nolint:errcheck // a closed connection fails the next read
	}
}

// closeWhenIdle closes the connection as soon as it is idle.
func (c *conn) closeWhenIdle() {
	c.state.Lock()
	c.closesWhenIdle = true
	idle := c.pending == 0
	c.state.Unlock()
	if idle {
		c.hangUp(errStopping)
	}
}

// hangUp closes the connection and cancels its command. The first cause counts.
func (c *conn) hangUp(cause error) {
	c.cancel(cause)
	c.nc.Close()
}
