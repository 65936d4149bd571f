package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// slow is a toy with a command moveChunk that runs until it is let go or its
// context ends.
type slow struct {
	toy
	started chan struct{}
	release chan struct{}
	causes  chan error // why the command ended, nil when it was let go
}

func newSlow() *slow {
	h := &slow{started: make(chan struct{}, 10), release: make(chan struct{}), causes: make(chan error, 10)}
	h.on("moveChunk", func(ctx context.Context, _ wire.Request) bson.D {
		h.started <- struct{}{}
		select {
		case <-h.release:
			h.causes <- nil
			return bson.D{{Key: "ok", Value: 1.0}}
		case <-ctx.Done():
			h.causes <- context.Cause(ctx)
			return mongoerr.Reply(context.Cause(ctx))
		}
	})
	return h
}

func wantCode(t *testing.T, err error, want mongoerr.Code) {
	t.Helper()
	if code, _ := mongoerr.CodeOf(err); code != want {
		t.Errorf("cause is %v, want code %d", err, want)
	}
}

func TestPeerThatLeavesInterruptsItsCommand(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pipe := wire.NewPipe()
	for name, way := range map[string]struct {
		net.Listener
		dial func() (net.Conn, error)
	}{
		"pipe": {pipe, func() (net.Conn, error) { return pipe.DialContext(t.Context(), "", "mock") }},
		"tcp":  {tcp, func() (net.Conn, error) { return net.Dial("tcp", tcp.Addr().String()) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newSlow()
			serve(t, &wire.Server{Handler: h}, way.Listener)
			nc, err := way.dial()
			if err != nil {
				t.Fatal(err)
			}
			peer{t, nc}.send(msg(t, 0, command("moveChunk")))
			<-h.started
			nc.Close()
			wantCode(t, <-h.causes, mongoerr.ClientDisconnect)
		})
	}
}

func TestDriverTimeoutInterruptsTheCommand(t *testing.T) {
	h := newSlow()
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: h}, pipe)
	client := connect(t, pipe, "mock")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-h.started
		cancel()
	}()
	err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "moveChunk", Value: "app.orders"}}).Err()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("RunCommand: %v", err)
	}
	wantCode(t, <-h.causes, mongoerr.ClientDisconnect)
}

func TestBrokenMessageInterruptsTheCommandBeforeIt(t *testing.T) {
	h := newSlow()
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: h}, pipe)
	p := dial(t, pipe)
	p.send(msg(t, 0, command("moveChunk")))
	<-h.started
	p.send(make([]byte, 16))
	wantCode(t, <-h.causes, mongoerr.ClientDisconnect)
}

func TestSilentCommandOutlivesItsConnection(t *testing.T) {
	h := newSlow()
	pipe := wire.NewPipe()
	s := &wire.Server{Handler: h}
	serve(t, s, pipe)
	p := dial(t, pipe)
	p.send(msg(t, moreToCome, command("moveChunk")))
	<-h.started
	p.Close()
	close(h.release)
	if err := <-h.causes; err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

func TestShutdownLetsRunningCommandsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		pipe := wire.NewPipe()
		s := &wire.Server{Handler: h}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), pipe) }()
		busy, idle, waiting := dial(t, pipe), dial(t, pipe), dial(t, pipe)
		idle.expectPing()
		busy.send(msg(t, 0, command("moveChunk")))
		// A hello that waits for news is not waited for.
		waiting.send(msg(t, 0, bson.D{{Key: "hello", Value: 1}, {Key: "maxAwaitTimeMS", Value: 3_600_000},
			{Key: "$db", Value: "admin"}}))
		synctest.Wait()

		down := make(chan error, 1)
		go func() { down <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		idle.expectClosed()
		waiting.receive()
		waiting.expectClosed()
		if _, err := pipe.DialContext(t.Context(), "", "mock"); err == nil {
			t.Error("a connection was taken during shutdown")
		}
		select {
		case err := <-down:
			t.Fatalf("Shutdown did not wait: %v", err)
		default:
		}

		close(h.release)
		if _, doc := busy.receive(); doc.Lookup("ok").Double() != 1 {
			t.Errorf("the command that ran: %v", doc)
		}
		busy.expectClosed()
		if err := errors.Join(<-down, <-served); err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownThatRunsOutOfTimeCancelsCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newSlow()
		pipe := wire.NewPipe()
		s := &wire.Server{Handler: h}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), pipe) }()
		dial(t, pipe).send(msg(t, 0, command("moveChunk")))
		dial(t, pipe).send(msg(t, moreToCome, command("moveChunk")))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		wantCode(t, <-h.causes, mongoerr.InterruptedAtShutdown)
		wantCode(t, <-h.causes, mongoerr.InterruptedAtShutdown)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestEndOfTheServeContextEndsItsListenerOnly(t *testing.T) {
	h := newSlow()
	one, other := wire.NewPipe(), wire.NewPipe()
	s := &wire.Server{Handler: h}
	serve(t, s, other)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, one) }()
	bystander := dial(t, other)
	p := dial(t, one)
	p.send(msg(t, 0, command("moveChunk")))
	<-h.started
	cancel()
	wantCode(t, <-h.causes, mongoerr.InterruptedAtShutdown)
	if err := <-served; err != nil {
		t.Error(err)
	}
	bystander.expectPing()
}

func TestConnectionsOverTheLimitAreClosedAtOnce(t *testing.T) {
	pipe := wire.NewPipe()
	s := &wire.Server{Handler: new(toy), Limits: wire.Limits{Connections: 2}}
	serve(t, s, pipe)
	first, second := dial(t, pipe), dial(t, pipe)
	first.expectPing()
	second.expectPing()
	dial(t, pipe).expectClosed()
	first.Close()
	waitFor(t, func() bool { return s.Connections() == 1 })
	dial(t, pipe).expectPing()
}

func TestAFloodOfConnectionsIsNoFloodOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		pipe := wire.NewPipe()
		s := &wire.Server{Handler: new(toy), Limits: wire.Limits{Connections: 1},
			Logger: slog.New(slog.NewTextHandler(&log, nil))}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), pipe) }()
		dial(t, pipe).expectPing()
		for range 3 {
			for range 100 {
				dial(t, pipe).expectClosed()
			}
			time.Sleep(time.Second)
		}
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "connections refused"); n != 3 ||
			strings.Count(log.String(), "refused=100 ") != 2 {
			t.Errorf("%d lines: %s", n, log.String())
		}
	})
}

func TestMessageLimit(t *testing.T) {
	pipe := wire.NewPipe()
	whole := msg(t, 0, command("ping"))
	serve(t, &wire.Server{Handler: new(toy), Limits: wire.Limits{MessageBytes: int32(len(whole))}}, pipe)
	dial(t, pipe).expectPing()
	p := dial(t, pipe)
	p.send(msg(t, 0, append(command("ping"), bson.E{Key: "x", Value: nil})))
	p.expectClosed()
}

// Who is not trusted yet may say little at a time; nobody may say more than all.
func TestStrangersSendSmallMessages(t *testing.T) {
	pipe := wire.NewPipe()
	h := new(toy).on("login", func(_ context.Context, r wire.Request) bson.D {
		r.Client.LiftSizeLimit()
		return bson.D{{Key: "ok", Value: 1.0}}
	})
	serve(t, &wire.Server{Handler: h, Limits: wire.Limits{UntrustedBytes: 1000, MessageBytes: 10_000}}, pipe)
	large := func(n int) []byte {
		return msg(t, 0, append(command("ping"), bson.E{Key: "pad", Value: make([]byte, n)}))
	}
	stranger := dial(t, pipe)
	stranger.expectPing()
	stranger.send(large(1000))
	stranger.expectClosed()
	friend := dial(t, pipe)
	friend.send(msg(t, 0, command("login")))
	friend.receive()
	friend.send(large(1000))
	if _, doc := friend.receive(); doc.Lookup("ok").Double() != 1 {
		t.Errorf("%s", doc)
	}
	friend.send(large(10_000))
	friend.expectClosed()
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	const idle, transfer = time.Minute, 12 * time.Second
	for _, tt := range []struct {
		name string
		say  func(p peer, h *slow)
		want time.Duration // until the connection closes
	}{
		{"silent from the start", func(peer, *slow) {}, idle},
		{"after a command", func(p peer, _ *slow) {
			time.Sleep(idle / 2)
			p.expectPing()
		}, idle + idle/2},
		{"in the middle of a message", func(p peer, _ *slow) {
			time.Sleep(idle / 2)
			p.send(make([]byte, 3))
		}, idle/2 + transfer},
		{"a message that comes by the byte", func(p peer, _ *slow) {
			for _, b := range msg(p.t, 0, command("ping"))[:5] {
				p.send([]byte{b})
				time.Sleep(transfer / 6)
			}
		}, transfer},
		{"a message begun while a command runs", func(p peer, h *slow) {
			p.send(msg(p.t, 0, command("moveChunk")))
			<-h.started
			time.Sleep(transfer) // it takes long: what comes now is read at once
			p.send(make([]byte, 3))
			time.Sleep(transfer / 2)
			close(h.release)
			p.receive()
		}, 2 * transfer},
		{"a command may take longer", func(p peer, h *slow) {
			p.send(msg(p.t, 0, command("moveChunk")))
			time.Sleep(10 * idle)
			close(h.release)
			p.receive()
		}, 11 * idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newSlow()
				pipe := wire.NewPipe()
				s := &wire.Server{Handler: h, Limits: wire.Limits{Idle: idle, Transfer: transfer}}
				served := make(chan error, 1)
				go func() { served <- s.Serve(t.Context(), pipe) }()
				p := dial(t, pipe)
				start := time.Now()
				tt.say(p, h)
				p.expectClosed()
				if took := time.Since(start); took != tt.want {
					t.Errorf("closed after %v, want %v", took, tt.want)
				}
				if err := errors.Join(s.Close(), <-served); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestPeerThatTakesNoReplyIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(toy).on("flood", func(context.Context, wire.Request) bson.D {
			return bson.D{{Key: "much", Value: make([]byte, 1<<20)}}
		})
		pipe := wire.NewPipe()
		s := &wire.Server{Handler: h, Limits: wire.Limits{Transfer: time.Minute}}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), pipe) }()
		p := dial(t, pipe)
		p.send(msg(t, 0, command("flood")))
		time.Sleep(2 * time.Minute)
		if s.Connections() != 0 {
			t.Error("still there")
		}
		if _, err := io.Copy(io.Discard, p); err != nil {
			t.Error(err)
		}
		if err := errors.Join(s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}
