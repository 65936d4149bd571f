// Package proxy is a TCP proxy between a client and a cluster. It sees each message of MongoDB's wire
// protocol in both directions, and can cut the connection, delay messages, or freeze, like an unplugged
// cable. It can be pointed at another address, as if a router was replaced.
package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy is a local port that forwards to a cluster.
type Proxy struct {
	listener net.Listener
	rule     Rule
	read     func(io.Reader) ([]byte, error)
	served   chan struct{}
	closed   chan struct{} // closed by Close: ends all waits

	mu          sync.Mutex
	target      string
	seen        int // number of messages in both directions
	connections map[net.Conn]bool
	frozen      chan struct{} // closed when no message passes any more
}

// Rule decides what to do with the n-th message, counted from 1. It is not called concurrently.
type Rule func(n int, m Message) Verdict

// Verdict is the decision of a Rule about a message.
type Verdict struct {
	kind  verdictKind
	delay time.Duration
}

type verdictKind int

const (
	pass verdictKind = iota
	cut
	freeze
)

// Pass lets the message through.
func Pass() Verdict { return Verdict{} }

// Cut closes the message's connection instead of forwarding the message.
func Cut() Verdict { return Verdict{kind: cut} }

// Freeze forwards neither this message nor any later message, on all connections, and keeps the
// connections open.
func Freeze() Verdict { return Verdict{kind: freeze} }

// Delay forwards the message after a time.
func Delay(d time.Duration) Verdict { return Verdict{delay: d} }

// At returns a Rule that applies a verdict to the n-th message, and lets all others through.
func At(n int, v Verdict) Rule {
	return func(i int, _ Message) Verdict {
		if i == n {
			return v
		}
		return Pass()
	}
}

// Listen starts a proxy for an address. Without a rule all messages pass.
func Listen(target string, rule Rule) (*Proxy, error) { return listen(target, rule, readMessage) }

// ListenEncrypted is Listen for encrypted connections, whose message boundaries are not visible: the
// rule is called for each piece of data as it is read.
func ListenEncrypted(target string, rule Rule) (*Proxy, error) {
	return listen(target, rule, readAvailable)
}

func listen(target string, rule Rule, read func(io.Reader) ([]byte, error)) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if rule == nil {
		rule = func(int, Message) Verdict { return Pass() }
	}
	p := &Proxy{
		listener: listener, rule: rule, read: read, target: target, connections: map[net.Conn]bool{},
		frozen: make(chan struct{}),
		served: make(chan struct{}), closed: make(chan struct{}),
	}
	go func() { defer close(p.served); p.serve() }()
	return p, nil
}

// Address returns the host:port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Messages returns how many messages were seen.
func (p *Proxy) Messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Frozen returns a channel that is closed when no message passes any more.
func (p *Proxy) Frozen() <-chan struct{} { return p.frozen }

// IsFrozen reports whether no message passes any more.
func (p *Proxy) IsFrozen() bool {
	select {
	case <-p.frozen:
		return true
	default:
		return false
	}
}

// Retarget points the proxy at another address, and closes the open connections.
func (p *Proxy) Retarget(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = to
	p.closeAll()
}

// Close closes the proxy and all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	close(p.closed)
	p.mu.Lock()
	p.closeAll()
	p.mu.Unlock()
	<-p.served
	return err
}

// closeAll closes the open connections. The lock is held.
func (p *Proxy) closeAll() {
	for c := range p.connections {
		_ = c.Close() // the pumps see it
	}
	clear(p.connections)
}

// serve accepts connections until the listener is closed.
func (p *Proxy) serve() {
	var pumps sync.WaitGroup
	defer pumps.Wait()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		pumps.Go(func() { p.connect(client) })
	}
}

// connect forwards messages in both directions until one end is closed.
func (p *Proxy) connect(client net.Conn) {
	defer func() { _ = client.Close() }()
	p.mu.Lock()
	to := p.target
	p.mu.Unlock()
	cluster, err := net.DialTimeout("tcp", to, dialTimeout)
	if err != nil {
		return // the client sees the end of the connection
	}
	defer func() { _ = cluster.Close() }()
	if !p.track(client, cluster) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(cluster, client, ToCluster) })
	both.Go(func() { p.pump(client, cluster, ToClient) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.connections, client)
	delete(p.connections, cluster)
}

// dialTimeout limits how long connecting to the cluster may take.
const dialTimeout = 5 * time.Second

// track registers connections to be closed by Close; false if Close was called already.
func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return false
	default:
	}
	for _, c := range conns {
		p.connections[c] = true
	}
	return true
}

// pump copies messages until one side ends or a verdict ends it.
func (p *Proxy) pump(to, from net.Conn, d Direction) {
	defer func() { _, _ = to.Close(), from.Close() }()
	for {
		raw, err := p.read(from)
		if err != nil {
			return
		}
		switch v := p.judge(Message{Direction: d, Raw: raw}); v.kind {
		case cut:
			return
		case freeze:
			<-p.closed
			return
		default:
			if v.delay > 0 && !p.sleep(v.delay) {
				return
			}
		}
		if _, err := to.Write(raw); err != nil {
			return
		}
	}
}

// sleep sleeps for d, and reports whether the proxy is still open.
func (p *Proxy) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.closed:
		return false
	}
}

func (p *Proxy) judge(m Message) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	if p.IsFrozen() {
		return Freeze()
	}
	v := p.rule(p.seen, m)
	if v.kind == freeze {
		close(p.frozen)
	}
	return v
}

// readAvailable reads the data that are available.
func readAvailable(r io.Reader) ([]byte, error) {
	piece := make([]byte, 64<<10)
	n, err := r.Read(piece)
	return piece[:n], err
}

// maxMessageSize is the maximum size of a message.
const maxMessageSize = 64 << 20

var errInvalidSize = errors.New("no size of a message")

// readMessage reads one message, which begins with its length.
func readMessage(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < headerSize || size > maxMessageSize {
		return nil, fmt.Errorf("%w: %d", errInvalidSize, size)
	}
	raw := make([]byte, size)
	copy(raw, head[:])
	_, err := io.ReadFull(r, raw[len(head):])
	return raw, err
}
