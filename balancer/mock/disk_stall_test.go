package mock_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

// stalled is a cluster whose disk takes nothing until it is released.
type stalled struct {
	*testing.T
	cluster *mock.Cluster
	router  *router.Router
	began   chan struct{} // gets something when a write to the disk begins
	release chan struct{} // closed to let the disk go on
	bytes   int           // written since the stall
}

func newStalled(t *testing.T, cfg mock.Config) *stalled {
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &stalled{
		T: t, cluster: c, router: router.New(c, nil),
		began: make(chan struct{}, 1), release: make(chan struct{}),
	}
	s.ok(t.Context(), d("insert", "c", "documents", bson.A{d("_id", 1, "v", 1)}))
	c.Intercept(func(write func([]disk.Entry) error) func([]disk.Entry) error {
		return func(entries []disk.Entry) error {
			select {
			case s.began <- struct{}{}:
			default:
			}
			<-s.release
			for _, e := range entries {
				s.bytes += len(e.Value)
			}
			return write(entries)
		}
	})
	return s
}

func (s *stalled) run(ctx context.Context, command bson.D) bson.Raw {
	body, err := bson.Marshal(command)
	if err != nil {
		s.Error(err)
		return nil
	}
	return s.router.Handle(ctx, wire.Request{
		Database: "db", Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1},
	})
}

func (s *stalled) ok(ctx context.Context, command bson.D) bson.Raw {
	s.Helper()
	reply := s.run(ctx, command)
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 {
		s.Errorf("%v: %s", command[0], reply)
	}
	return reply
}

// soon runs a command that must not wait for the disk.
func (s *stalled) soon(command bson.D) bson.Raw {
	s.Helper()
	reply := s.begin(command)
	select {
	case r := <-reply:
		return r
	case <-time.After(patience):
		s.Fatalf("%v waits for the disk", command[0])
		return nil
	}
}

// begin runs a command while others go on.
func (s *stalled) begin(command bson.D) <-chan bson.Raw {
	reply := make(chan bson.Raw, 1)
	go func() { reply <- s.ok(context.Background(), command) }()
	return reply
}

// interrupted runs a command that must wait for the disk, and gives up.
func (s *stalled) interrupted(command bson.D) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Millisecond)
	defer cancel()
	reply := s.run(ctx, command)
	if code := reply.Lookup("code").AsInt64(); mongoerr.Code(code) != mongoerr.Interrupted {
		s.Errorf("%v did not wait for the disk: %s", command[0], reply)
	}
}

func (s *stalled) version(reply bson.Raw) int64 {
	return reply.Lookup("cursor", "firstBatch", "0", "v").AsInt64()
}

func setDocField(v int) bson.D {
	return d("update", "c", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("v", v)))})
}

// While the disk stalls, who writes waits and can be interrupted, and who reads
// goes on; the lock is free. What was answered is kept.
func TestStalledDisk(t *testing.T) {
	for _, realTime := range []bool{false, true} {
		dir := t.TempDir()
		s := newStalled(t, mock.Config{DBPath: dir, RealTime: realTime})
		writer := s.begin(setDocField(2))
		<-s.began // by the writer, or by what the cluster writes for itself
		for s.version(s.soon(d("find", "c"))) != 2 {
			if t.Failed() {
				return
			}
		}
		s.soon(d("count", "c"))
		s.soon(d("serverStatus", 1))
		s.interrupted(d("find", "c", "readConcern", d("level", "majority")))
		s.interrupted(d("aggregate", "c", "pipeline", bson.A{d("$out", "other")}, "cursor", d()))
		s.interrupted(d("aggregate", "c", "pipeline", bson.A{d("$changeStream", d())}, "cursor", d()))
		s.interrupted(setDocField(2)) // changes nothing, and must not be answered before the change it found
		if len(writer) > 0 {
			t.Error("a write was answered before it was on disk")
		}
		close(s.release)
		<-writer
		s.soon(d("find", "c", "readConcern", d("level", "majority")))
		s.cluster.Close()
		s.reads(dir, 2)
	}
}

// reads opens the directory again.
func (s *stalled) reads(dir string, want int64) {
	s.Helper()
	c, err := mock.New(mock.Config{DBPath: dir})
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close()
	s.router = router.New(c, nil)
	if v := s.version(s.ok(s.Context(), d("find", "c"))); v != want {
		s.Errorf("version %d after a restart, want %d", v, want)
	}
}

// However much is written while the disk stalls, what waits for it stays
// within bounds, and nobody who waits has the lock.
func TestStalledDiskIsBounded(t *testing.T) {
	const (
		size     = 4 << 20
		versions = 40
	)
	dir := filepath.Join(t.TempDir(), "db")
	s := newStalled(t, mock.Config{DBPath: dir, RealTime: true})
	s.cluster.DontSync()
	var replies []<-chan bson.Raw
	for v := range versions {
		change := d("$set", d("v", v+2, "pad", make([]byte, size)))
		replies = append(replies, s.begin(d("update", "c", "updates", bson.A{d("q", d("_id", 1), "u", change)})))
		for s.version(s.soon(d("find", "c", "projection", d("v", 1)))) != int64(v+2) {
			if t.Failed() {
				return
			}
		}
	}
	s.soon(d("serverStatus", 1))
	close(s.release)
	for _, reply := range replies {
		select {
		case <-reply:
		case <-time.After(patience):
			t.Fatal("a write was never answered")
		}
	}
	s.cluster.Close()
	if most := 64<<20 + 3*size; s.bytes > most {
		t.Errorf("%d bytes waited for the disk, want at most %d", s.bytes, most)
	}
	s.reads(dir, versions+1)
}
