package wire_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// A connection has one large message in hand at most: the next one is not taken
// before the reply to the first is sent, and the time until then is not the
// peer's. Small ones are read ahead, to see that a peer leaves.
func TestLargeMessagesAreNotReadAhead(t *testing.T) {
	for name, tt := range map[string]struct {
		bytes int
		ahead bool
	}{"large": {4 << 20, false}, "small": {4 << 10, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newSlow()
				pipe := wire.NewPipe()
				s := &wire.Server{Handler: h, Limits: wire.Limits{Transfer: time.Minute}}
				served := make(chan error, 1)
				go func() { served <- s.Serve(t.Context(), pipe) }()
				p := dial(t, pipe)
				p.send(msg(t, 0, command("moveChunk")))
				<-h.started
				sent := make(chan struct{})
				go func() {
					p.send(msg(t, 0, append(command("moveChunk"), bson.E{Key: "pad", Value: make([]byte, tt.bytes)})))
					close(sent)
				}()
				time.Sleep(10 * time.Minute)
				select {
				case <-sent:
					if !tt.ahead {
						t.Error("a large message was read ahead")
					}
				default:
					if tt.ahead {
						t.Error("a small message was not read ahead")
					}
				}
				h.release <- struct{}{}
				p.receiveWhole()
				<-h.started
				h.release <- struct{}{}
				p.receiveWhole()
				<-sent
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				<-served
			})
		})
	}
}
