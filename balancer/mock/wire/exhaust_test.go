package wire_test

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

const exhaustAllowed = 1 << 16

// reply is one message as a peer reads it, header included.
type reply struct {
	id, to, flags int32
	doc           bson.Raw
}

func (p peer) receiveWhole() reply {
	p.t.Helper()
	header := make([]byte, 16)
	if _, err := io.ReadFull(p, header); err != nil {
		p.t.Fatalf("no reply: %v", err)
	}
	field := func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }
	payload := make([]byte, field(header)-16)
	if _, err := io.ReadFull(p, payload); err != nil {
		p.t.Fatalf("reply cut short: %v", err)
	}
	return reply{id: field(header[4:]), to: field(header[8:]), flags: field(payload), doc: payload[5:]}
}

func version(counter int64) bson.D {
	return bson.D{{Key: "processId", Value: bson.ObjectID{1}}, {Key: "counter", Value: counter}}
}

func awaitable(since int64) bson.D {
	return append(command("hello"), bson.E{Key: "topologyVersion", Value: version(since)},
		bson.E{Key: "maxAwaitTimeMS", Value: int64(10_000)})
}

// A monitor that takes a stream gets a reply each time its hello is due, each
// in answer to the one before, and each hello knows what the last reply told.
func TestMonitorsGetAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int64
		h := new(toy).on("hello", func(ctx context.Context, r wire.Request) bson.D {
			asked = append(asked, r.Body.Lookup("topologyVersion", "counter").Int64())
			reply := hello(ctx, r)
			for i := range reply {
				if reply[i].Key == "topologyVersion" {
					reply[i].Value = version(5)
				}
			}
			return reply
		})
		pipe := wire.NewPipe()
		s := &wire.Server{Handler: h}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), pipe) }()
		p := dial(t, pipe)
		start := time.Now()
		p.send(msg(t, exhaustAllowed, awaitable(0)))
		last := int32(7)
		for i := 1; i <= 3; i++ {
			r := p.receiveWhole()
			if r.to != last || r.flags != moreToCome {
				t.Errorf("reply %d answers %d with flags %d, want %d and %d", i, r.to, r.flags, last, moreToCome)
			}
			if took := time.Since(start); took != time.Duration(i)*10*time.Second {
				t.Errorf("reply %d came after %v", i, took)
			}
			last = r.id
		}
		stopped := make(chan error, 1)
		go func() { stopped <- s.Shutdown(context.Background()) }()
		if r := p.receiveWhole(); r.flags != 0 {
			t.Errorf("the last reply has flags %d", r.flags)
		}
		p.expectClosed()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if len(asked) != 4 || asked[0] != 0 || asked[1] != 5 || asked[3] != 5 {
			t.Errorf("hello asked since %v", asked)
		}
	})
}

// A stream is for hellos that wait: anything else is answered once.
func TestOtherCommandsAreAnsweredOnce(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe)
	p := dial(t, pipe)
	for _, d := range []bson.D{command("ping"), command("hello"), command("nonsense")} {
		p.send(msg(t, exhaustAllowed, d))
		if r := p.receiveWhole(); r.to != 7 || r.flags != 0 {
			t.Errorf("%v: answers %d with flags %d", d, r.to, r.flags)
		}
	}
}

func TestPeerThatLeavesAStreamEndsIt(t *testing.T) {
	pipe := wire.NewPipe()
	serve(t, &wire.Server{Handler: new(toy)}, pipe) // which looks for goroutines left behind
	p := dial(t, pipe)
	p.send(msg(t, exhaustAllowed, awaitable(0)))
	p.Close()
}
