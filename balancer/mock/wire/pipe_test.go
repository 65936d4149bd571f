package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shardsh/balancer/mock/wire"
)

// ends returns both ends of a connection over a fresh Pipe.
func ends(t rapid.TB) (client, server net.Conn) {
	t.Helper()
	pipe := wire.NewPipe()
	defer pipe.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		nc, _ := pipe.Accept()
		accepted <- nc
	}()
	client, err := pipe.DialContext(context.Background(), "tcp", "mock:27017")
	if err != nil {
		t.Fatal(err)
	}
	return client, <-accepted
}

func TestPipeKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := ends(t)
		chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 200_000), 0, 8).Draw(t, "writes")
		readSize := rapid.IntRange(1, 100_000).Draw(t, "read size")
		go func() {
			for _, c := range chunks {
				if n, err := a.Write(c); err != nil || n != len(c) {
					t.Errorf("wrote %d of %d: %v", n, len(c), err)
				}
			}
			a.Close()
		}()
		var got []byte
		buf := make([]byte, readSize)
		for {
			n, err := b.Read(buf)
			got = append(got, buf[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := bytes.Join(chunks, nil); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes in, %d out or in another order", len(want), len(got))
		}
	})
}

func TestPipeWriterNeedNotWaitForReader(t *testing.T) {
	a, b := ends(t)
	for range 100 {
		if _, err := a.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	if got, err := io.ReadAll(b); err != nil || len(got) != 500 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestPipeClose(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(here, there net.Conn) error
		want error
	}{
		{"read at the closed end", func(here, _ net.Conn) error {
			_, err := here.Read(make([]byte, 1))
			return err
		}, net.ErrClosed},
		{"write at the closed end", func(here, _ net.Conn) error {
			_, err := here.Write([]byte("x"))
			return err
		}, net.ErrClosed},
		{"deadline at the closed end", func(here, _ net.Conn) error { return here.SetDeadline(time.Now()) }, net.ErrClosed},
		{"close twice", func(here, _ net.Conn) error { return here.Close() }, nil},
		{"read at the other end", func(_, there net.Conn) error {
			_, err := there.Read(make([]byte, 1))
			return err
		}, io.EOF},
		{"write at the other end", func(_, there net.Conn) error {
			_, err := there.Write([]byte("x"))
			return err
		}, syscall.EPIPE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := ends(t)
			a.Close()
			if err := tt.do(a, b); !errors.Is(err, tt.want) {
				t.Errorf("error is %v, want %v", err, tt.want)
			}
		})
	}
}

func TestPipeCloseWakesWhoWaits(t *testing.T) {
	full := make([]byte, 1<<20)
	for _, tt := range []struct {
		name   string
		wait   func(net.Conn) error
		closer func(here, there net.Conn) net.Conn
		want   error
	}{
		{"reader, own end", func(c net.Conn) error {
			_, err := c.Read(make([]byte, 1))
			return err
		}, func(here, _ net.Conn) net.Conn { return here }, net.ErrClosed},
		{"reader, other end", func(c net.Conn) error {
			_, err := c.Read(make([]byte, 1))
			return err
		}, func(_, there net.Conn) net.Conn { return there }, io.EOF},
		{"writer, own end", func(c net.Conn) error {
			_, err := c.Write(full)
			return err
		}, func(here, _ net.Conn) net.Conn { return here }, net.ErrClosed},
		{"writer, other end", func(c net.Conn) error {
			_, err := c.Write(full)
			return err
		}, func(_, there net.Conn) net.Conn { return there }, syscall.EPIPE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := ends(t)
				done := make(chan error, 1)
				go func() { done <- tt.wait(a) }()
				synctest.Wait()
				tt.closer(a, b).Close()
				if err := <-done; !errors.Is(err, tt.want) {
					t.Errorf("error is %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ends(t)
		start := time.Now()
		timedOut := func(err error, after time.Duration) {
			t.Helper()
			ne, ok := errors.AsType[net.Error](err)
			if !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != after {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		buf := make([]byte, 1)

		a.SetReadDeadline(start.Add(time.Second))
		_, err := a.Read(buf)
		timedOut(err, time.Second)
		_, err = a.Read(buf) // and stays passed
		timedOut(err, time.Second)

		// A new one makes up for the old, in the midst of a read too.
		a.SetReadDeadline(start.Add(2 * time.Second))
		go func() {
			time.Sleep(500 * time.Millisecond)
			a.SetReadDeadline(start.Add(5 * time.Second))
		}()
		_, err = a.Read(buf)
		timedOut(err, 5*time.Second)

		a.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Second)
			b.Write([]byte("x"))
		}()
		if n, err := a.Read(buf); n != 1 || err != nil {
			t.Errorf("without a deadline: %d, %v", n, err)
		}

		a.SetWriteDeadline(start.Add(7 * time.Second))
		n, err := a.Write(make([]byte, 1<<20))
		timedOut(err, 7*time.Second)
		if got, _ := io.ReadAtLeast(b, make([]byte, 1<<20), n); got != n {
			t.Errorf("%d bytes said to be written, %d came", n, got)
		}
		a.Close()
		b.Close()
	})
}

func TestPipeDial(t *testing.T) {
	pipe := wire.NewPipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pipe.DialContext(ctx, "tcp", "mock"); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody accepts: %v", err)
	}
	pipe.Close()
	if _, err := pipe.DialContext(t.Context(), "tcp", "mock"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("closed: %v", err)
	}
	if _, err := pipe.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept on a closed pipe: %v", err)
	}
	client, server := ends(t)
	if server.LocalAddr().String() != "mock:27017" || client.RemoteAddr().String() != "mock:27017" ||
		server.RemoteAddr().String() != client.LocalAddr().String() {
		t.Errorf("addresses: %v %v %v %v", client.LocalAddr(), client.RemoteAddr(), server.LocalAddr(), server.RemoteAddr())
	}
}
