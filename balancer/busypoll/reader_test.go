//go:build unix

package busypoll

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// pairs are connections of the system, whose first end is read from.
func pairs(t *testing.T) map[string][2]net.Conn {
	t.Helper()
	all := make(map[string][2]net.Conn)
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		near, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { near.Close(); far.Close() })
		all[network] = [2]net.Conn{near, far}
	}
	return all
}

// polling returns a reader that polls.
func polling(t *testing.T, nc net.Conn) *reader {
	t.Helper()
	r, ok := new(Group).Reader(nc).(*reader)
	if !ok {
		t.Skip("with a single CPU nothing polls")
	}
	r.group.lastReader.Store(r)
	return r
}

// TestAllComesAsItWas sends pieces, some of which come at once and some after the
// reader has begun to sleep.
func TestAllComesAsItWas(t *testing.T) {
	for network, ends := range pairs(t) {
		t.Run(network, func(t *testing.T) {
			sent := make([]byte, 1<<20)
			for i := range sent {
				sent[i] = byte(rand.Uint32())
			}
			var sending sync.WaitGroup
			defer sending.Wait()
			sending.Go(func() {
				defer ends[1].Close()
				for left := sent; len(left) > 0; {
					n := min(len(left), 1+rand.IntN(20_000))
					if _, err := ends[1].Write(left[:n]); err != nil {
						t.Error(err)
						return
					}
					left = left[n:]
					for pause := time.Now().Add(time.Duration(rand.IntN(int(2 * pollTime)))); time.Now().Before(pause); {
						runtime.Gosched()
					}
				}
			})
			got, err := io.ReadAll(polling(t, ends[0]))
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d of %d bytes, the same: %v, error %v", len(got), len(sent), bytes.Equal(got, sent), err)
			}
		})
	}
}

// TestReadsEndAsThoseOfConnections: errors are the connection's own, to the letter.
func TestReadsEndAsThoseOfConnections(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(near, far net.Conn)
		want error
	}{
		{"the peer leaves", func(_, far net.Conn) { far.Close() }, io.EOF},
		{"closed before", func(near, _ net.Conn) { near.Close() }, net.ErrClosed},
		{"closed meanwhile", func(near, _ net.Conn) { time.AfterFunc(time.Millisecond, func() { near.Close() }) }, net.ErrClosed},
		{"too late", func(near, _ net.Conn) { near.SetReadDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		{"late", func(near, _ net.Conn) { near.SetReadDeadline(time.Now().Add(time.Millisecond)) }, os.ErrDeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain, watched := pairs(t), pairs(t)
			for network, ends := range watched {
				c.end(plain[network][0], plain[network][1])
				_, want := plain[network][0].Read(make([]byte, 1))
				r := polling(t, ends[0])
				c.end(ends[0], ends[1])
				n, err := r.Read(make([]byte, 1))
				if n != 0 || !errors.Is(err, c.want) {
					t.Errorf("%s: %d bytes, error %v, want %v", network, n, err, c.want)
				}
				if got, want := unnamed(err, ends), unnamed(want, plain[network]); got != want {
					t.Errorf("%s: %q, of a plain connection %q", network, got, want)
				}
			}
		})
	}
}

// unnamed is an error's text without the addresses of a connection.
func unnamed(err error, ends [2]net.Conn) string {
	return strings.NewReplacer(ends[0].LocalAddr().String(), "NEAR", ends[0].RemoteAddr().String(), "FAR").
		Replace(err.Error())
}

// TestNothingLeftToRead: an empty slice reads nothing, and is not an end.
func TestNothingLeftToRead(t *testing.T) {
	for network, ends := range pairs(t) {
		if n, err := polling(t, ends[0]).Read(nil); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", network, n, err)
		}
	}
}

// TestAlone: a connection polls as long as no other one has been read from.
func TestAlone(t *testing.T) {
	ends := pairs(t)
	g := new(Group)
	for _, network := range []string{"tcp", "unix", "tcp", "tcp"} {
		r, ok := g.Reader(ends[network][0]).(*reader)
		if !ok {
			t.Skip("with a single CPU nothing polls")
		}
		if r.wasLastToRead() {
			t.Errorf("%s: nothing has been read from it", network)
		}
		if _, err := ends[network][1].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil || !r.wasLastToRead() {
			t.Errorf("%s: %d bytes, error %v, alone %v", network, n, err, r.wasLastToRead())
		}
	}
}

// TestWhatIsReadPlainly: connections that are not the system's own may read in a way of
// their own.
func TestWhatIsReadPlainly(t *testing.T) {
	ends := pairs(t)["tcp"]
	wrapped := struct{ net.Conn }{ends[0]}
	pipe, _ := net.Pipe()
	for _, nc := range []net.Conn{wrapped, pipe} {
		if got := new(Group).Reader(nc); got != io.Reader(nc) {
			t.Errorf("%T is read by %T", nc, got)
		}
	}
	if got := (*Group)(nil).Reader(ends[0]); got != io.Reader(ends[0]) {
		t.Errorf("read by %T without a group", got)
	}
}
