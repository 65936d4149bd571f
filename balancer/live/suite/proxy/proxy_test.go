package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

func through(t *testing.T, rule Rule) (*Proxy, net.Conn) {
	t.Helper()
	p, err := Listen(echo(t), rule)
	if err != nil {
		t.Fatal(err)
	}
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), p.Close() })
	return p, c
}

// message is an OP_MSG with a command.
func message(t *testing.T, command bson.D) []byte {
	t.Helper()
	doc, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, headerSize+flagsSize+1, headerSize+flagsSize+1+len(doc))
	binary.LittleEndian.PutUint32(raw[12:], opMsg)
	raw = append(raw, doc...)
	binary.LittleEndian.PutUint32(raw, uint32(len(raw)))
	return raw
}

// say sends a message and reads the answer.
func say(t *testing.T, c net.Conn, raw []byte, patience time.Duration) error {
	t.Helper()
	if _, err := c.Write(raw); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err := readMessage(c)
	return err
}

func TestCut(t *testing.T) {
	ping := message(t, bson.D{{Key: "ping", Value: 1}})
	for n := 1; n <= 4; n++ {
		p, c := through(t, At(n, Cut()))
		for i := range 2 {
			err := say(t, c, ping, time.Minute)
			if cutNow := 2*i+2 >= n; (err != nil) != cutNow {
				t.Errorf("cut at message %d: round %d ends with %v", n, i, err)
			}
		}
		again, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		if err := say(t, again, ping, time.Minute); err != nil {
			t.Errorf("a new connection: %v", err)
		}
		_ = again.Close()
	}
}

func TestFreeze(t *testing.T) {
	ping := message(t, bson.D{{Key: "ping", Value: 1}})
	p, c := through(t, At(3, Freeze()))
	if err := say(t, c, ping, time.Minute); err != nil {
		t.Fatal(err)
	}
	var late net.Error
	if err := say(t, c, ping, 50*time.Millisecond); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("frozen: %v", err)
	}
	<-p.Frozen()
}

// What is encrypted passes, and freezes, in the pieces that come.
func TestEncrypted(t *testing.T) {
	p, err := ListenEncrypted(echo(t), At(3, Freeze()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	back := make([]byte, 2)
	if _, err := c.Write([]byte("ab")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, back); err != nil || string(back) != "ab" {
		t.Fatalf("%q, %v", back, err)
	}
	if _, err := c.Write([]byte("cd")); err != nil {
		t.Fatal(err)
	}
	<-p.Frozen()
}

func TestDelay(t *testing.T) {
	const rest = 30 * time.Millisecond
	_, c := through(t, At(1, Delay(rest)))
	began := time.Now()
	if err := say(t, c, message(t, bson.D{{Key: "ping", Value: 1}}), time.Minute); err != nil || time.Since(began) < rest {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestRetarget(t *testing.T) {
	ping := message(t, bson.D{{Key: "ping", Value: 1}})
	p, c := through(t, nil)
	if err := say(t, c, ping, time.Minute); err != nil {
		t.Fatal(err)
	}
	p.Retarget(echo(t))
	if err := say(t, c, ping, time.Minute); err == nil {
		t.Error("the old connection lives on")
	}
	again, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := say(t, again, ping, time.Minute); err != nil {
		t.Error(err)
	}
}

func TestMessage(t *testing.T) {
	m := Message{Raw: message(t, bson.D{{Key: "moveRange", Value: "a.b"}, {Key: "$db", Value: "admin"}})}
	if m.Name() != "moveRange" {
		t.Errorf("name %q", m.Name())
	}
	for cut := range m.Raw {
		if _, ok := (Message{Raw: m.Raw[:cut]}).Command(); ok {
			t.Errorf("a command in %d bytes of %d", cut, len(m.Raw))
		}
	}
}
