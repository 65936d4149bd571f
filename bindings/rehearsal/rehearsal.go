package rehearsal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/script"
)

// Options are the options of a rehearsal.
type Options struct {
	// OnChange is called with each command that changes something.
	OnChange func(database string, command bson.Raw)
	// Note shows a message of one line to the user.
	Note func(text string)
	// Clock is the program's clock until the mock starts.
	Clock script.Clock
	// ClockSpeed is the speed of the mock's clock relative to real time; with 0, the clock advances only
	// while the program waits.
	ClockSpeed float64
	Seed       uint64
}

// Rehearsal is a rehearsal of one program run, with a mock that replaces one cluster.
type Rehearsal struct {
	o     Options
	table map[string]*commands.Command

	startMu sync.Mutex                  // held as long as the cluster is read
	mock    atomic.Pointer[clusterMock] // nil before the first change
}

// New returns a Rehearsal. It sends no command.
func New(o Options) *Rehearsal { return &Rehearsal{o: o, table: commands.ByName()} }

// Close stops the mock, if it was started.
func (r *Rehearsal) Close() {
	r.startMu.Lock()
	defer r.startMu.Unlock()
	if m := r.mock.Load(); m != nil {
		m.cluster.Close()
	}
}

// Clock returns the program's clock: the mock's clock once the mock was started.
func (r *Rehearsal) Clock() script.Clock { return clock{r} }

type clock struct{ r *Rehearsal }

func (c clock) current() script.Clock {
	if m := c.r.mock.Load(); m != nil {
		return m.cluster.Clock()
	}
	return c.r.o.Clock
}

func (c clock) Now() time.Time { return c.current().Now() }

func (c clock) Sleep(ctx context.Context, d time.Duration) error { return c.current().Sleep(ctx, d) }

// startMock reads the cluster and has a mock play it, once.
func (r *Rehearsal) startMock(ctx context.Context, from *source) (*clusterMock, error) {
	r.startMu.Lock()
	defer r.startMu.Unlock()
	if m := r.mock.Load(); m != nil {
		return m, nil
	}
	s, err := from.snapshot(ctx)
	if err != nil {
		return nil, mongoerr.New(mongoerr.OperationFailed,
			"the dry run can't go on: it needs a mock of the cluster from the first change on, and the metadata can't be "+
				"read: %v", err)
	}
	cluster, err := mock.New(mock.Config{Metadata: s, ClockSpeed: r.o.ClockSpeed, Seed: r.o.Seed})
	if err != nil {
		return nil, mongoerr.New(mongoerr.OperationFailed,
			"the dry run can't continue: no mock of the cluster could be started: %v", err)
	}
	started := &clusterMock{cluster: cluster, router: router.New(cluster, nil), note: r.o.Note, snapshot: s,
		mirrorState: newState()}
	r.mock.Store(started)
	r.o.Note("Dry run: nothing is changed. From here on a mock in this process stands for the cluster, with its shards, " +
		"chunks, zones and settings; of large collections that the script changes, the mock has only what the script wrote.")
	for _, gap := range s.Parts().Source.Gaps {
		r.o.Note("Dry run: not included, as it could not be read: " + gap.What + " " + gap.Namespace + ": " + gap.Reason)
	}
	return started, nil
}

// handler handles the commands of one client, which has its own authentication.
type handler struct {
	r      *Rehearsal
	source *source
	// isRouter says that the server is a router, so that a mock can replace it. For other servers,
	// commands that change something are reported, and answered as if they had succeeded.
	isRouter bool
}

// Handle answers a command.
func (h *handler) Handle(ctx context.Context, req wire.Request) bson.Raw {
	reply, err := h.answer(ctx, req)
	if err == nil {
		return reply
	}
	var plain *mongoerr.ServerError
	if !errors.As(err, &plain) {
		err = mongoerr.New(mongoerr.HostUnreachable, "%v", err)
	}
	return marshalReply(mongoerr.Reply(err))
}

// Leave removes a connection from the mock.
func (h *handler) Leave(c *wire.ClientConn) {
	if s := h.r.mock.Load(); s != nil {
		s.router.Leave(c)
	}
}

func (h *handler) answer(ctx context.Context, req wire.Request) (bson.Raw, error) {
	s := h.r.mock.Load()
	if handle := h.connectionCommand(req); handle != nil {
		return handle(ctx, s, req)
	}
	if commands.IsReadOnly(h.r.table, req.Body) {
		return h.answerRead(ctx, s, req)
	}
	cmd := h.r.table[req.Command]
	if cmd != nil && cmd.MockOnly { // a real server rejects it
		if reply, err := h.source.runAdminCommand(ctx, "mockNow"); err != nil || isFailure(reply) {
			return reply, err
		}
	}
	if !h.isRouter || cmd != nil && cmd.Effect == commands.Interrupts {
		h.r.o.OnChange(req.Database, withoutDriverFields(req.Body))
		return marshalReply(bson.D{{Key: "ok", Value: 1.0}, {Key: "dryRun", Value: true}}), nil
	}
	s, err := h.r.startMock(ctx, h.source)
	if err != nil {
		return nil, err
	}
	if cmd == nil || s.supports(cmd) { // a command that the release lacks changes nothing
		h.r.o.OnChange(req.Database, withoutDriverFields(req.Body))
	}
	s.copyNeededData(ctx, h.source, req)
	return s.router.Handle(ctx, mockRequest(req)), nil
}

// supports reports whether the cluster's release has a command.
func (m *clusterMock) supports(cmd *commands.Command) bool {
	return cmd.Since == (catalog.Release{}) || m.cluster.Release().FCVAtLeast(cmd.Since)
}

// answerRead answers a read-only command from the cluster, or from the mock if its data
// may have changed.
func (h *handler) answerRead(ctx context.Context, s *clusterMock, req wire.Request) (bson.Raw, error) {
	if s == nil {
		return h.source.forward(ctx, req)
	}
	switch {
	case req.Command == "listDatabases":
		return s.mergedListDatabases(ctx, h.source, req)
	case s.answersRead(req):
		s.copyUsers(ctx, h.source, req)
		return s.router.Handle(ctx, mockRequest(req)), nil
	}
	return h.source.forward(ctx, req)
}

func marshalReply(doc bson.D) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil {
		raw, _ = bson.Marshal(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: err.Error()}})
	}
	return raw
}
