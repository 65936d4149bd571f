// Package proxy stands between a client and a cluster, sees each message of
// MongoDB's wire protocol in either direction, and cuts the connection, holds
// messages back for a while, or freezes: what a cable that was pulled looks like. It
// can be pointed at another address, as when a router is replaced.
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

// Proxy is a port that stands for a cluster's.
type Proxy struct {
	listener net.Listener
	rule     Rule
	read     func(io.Reader) ([]byte, error)
	served   chan struct{}
	ended    chan struct{} // closed by Close: who waits does so no longer

	mu     sync.Mutex
	to     string
	passed int // messages seen, in either direction
	open   map[net.Conn]bool
	frozen chan struct{} // closed when nothing passes any more
}

// Rule says what becomes of a message, the n-th of all, from 1. It is called for one
// message at a time.
type Rule func(n int, m Message) Verdict

// Verdict is what becomes of a message.
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

// Cut closes the message's connection in place of the message.
func Cut() Verdict { return Verdict{kind: cut} }

// Freeze lets nothing through any more, this message and all later ones, on all
// connections, and keeps them open.
func Freeze() Verdict { return Verdict{kind: freeze} }

// Delay lets the message through after a while.
func Delay(d time.Duration) Verdict { return Verdict{delay: d} }

// At gives the n-th message a verdict, and lets all others through.
func At(n int, v Verdict) Rule {
	return func(i int, _ Message) Verdict {
		if i == n {
			return v
		}
		return Pass()
	}
}

// Listen begins to stand in for an address. Without a rule all messages pass.
func Listen(to string, rule Rule) (*Proxy, error) { return listen(to, rule, readMessage) }

// ListenEncrypted is Listen where nobody can tell one message from the next: the rule
// is asked for each piece of a connection, as it comes.
func ListenEncrypted(to string, rule Rule) (*Proxy, error) { return listen(to, rule, readPiece) }

func listen(to string, rule Rule, read func(io.Reader) ([]byte, error)) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if rule == nil {
		rule = func(int, Message) Verdict { return Pass() }
	}
	p := &Proxy{
		listener: listener, rule: rule, read: read, to: to, open: map[net.Conn]bool{}, frozen: make(chan struct{}),
		served: make(chan struct{}), ended: make(chan struct{}),
	}
	go func() { defer close(p.served); p.serve() }()
	return p, nil
}

// Address is host:port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Messages returns how many messages were seen.
func (p *Proxy) Messages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

// Frozen is closed when nothing passes any more.
func (p *Proxy) Frozen() <-chan struct{} { return p.frozen }

// Hangs reports whether nothing passes any more.
func (p *Proxy) Hangs() bool {
	select {
	case <-p.frozen:
		return true
	default:
		return false
	}
}

// Retarget points the proxy at another address, and cuts what is open.
func (p *Proxy) Retarget(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
	p.closeAll()
}

// Close ends the proxy and all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	close(p.ended)
	p.mu.Lock()
	p.closeAll()
	p.mu.Unlock()
	<-p.served
	return err
}

// closeAll closes what is open. The lock is held.
func (p *Proxy) closeAll() {
	for c := range p.open {
		_ = c.Close() // the pumps see it
	}
	clear(p.open)
}

// serve ends when the listener is closed.
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

// connect carries messages both ways until one end is closed.
func (p *Proxy) connect(client net.Conn) {
	defer func() { _ = client.Close() }()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	cluster, err := net.DialTimeout("tcp", to, dialing)
	if err != nil {
		return // the client sees the end
	}
	defer func() { _ = cluster.Close() }()
	if !p.note(client, cluster) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(cluster, client, ToCluster) })
	both.Go(func() { p.pump(client, cluster, ToClient) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, cluster)
}

// dialing is how long the cluster may take to answer a call.
const dialing = 5 * time.Second

// note keeps connections to be closed at the end, which may have come already.
func (p *Proxy) note(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return false
	default:
	}
	for _, c := range conns {
		p.open[c] = true
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
			<-p.ended
			return
		default:
			if v.delay > 0 && !p.rest(v.delay) {
				return
			}
		}
		if _, err := to.Write(raw); err != nil {
			return
		}
	}
}

// rest waits, and reports whether the proxy is still at work then.
func (p *Proxy) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ended:
		return false
	}
}

func (p *Proxy) judge(m Message) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed++
	if p.Hangs() {
		return Freeze()
	}
	v := p.rule(p.passed, m)
	if v.kind == freeze {
		close(p.frozen)
	}
	return v
}

// readPiece reads what there is.
func readPiece(r io.Reader) ([]byte, error) {
	piece := make([]byte, 64<<10)
	n, err := r.Read(piece)
	return piece[:n], err
}

// largest is the size of the largest message that there is.
const largest = 64 << 20

var errSize = errors.New("no size of a message")

// readMessage reads one message: its length comes first.
func readMessage(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < headerSize || size > largest {
		return nil, fmt.Errorf("%w: %d", errSize, size)
	}
	raw := make([]byte, size)
	copy(raw, head[:])
	_, err := io.ReadFull(r, raw[len(head):])
	return raw, err
}
