package target

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// Everything that comes is read, in whatever pieces, and a deadline that has passed
// ends one read, not those after it.
func TestReadingAhead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text := strings.Repeat("0123456789abcdef", aheadBytes)
	began := make(chan struct{})
	go func() {
		peer, err := l.Accept()
		if err != nil {
			return // the test fails by itself
		}
		<-began
		_, _ = io.WriteString(peer, text)
		_ = peer.Close()
	}()
	nc, err := new(dialing).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 4)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a read after the deadline: %v", err)
	}
	if err := nc.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	close(began)
	size := make([]byte, 4)
	if _, err := io.ReadFull(nc, size); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(nc)
	if err != nil || string(size)+string(rest) != text {
		t.Errorf("%d bytes were read of %d: %v", len(size)+len(rest), len(text), err)
	}
}
