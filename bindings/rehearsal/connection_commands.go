package rehearsal

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

var okReply = bson.D{{Key: "ok", Value: 1.0}}

// connectionCommand returns the handler of a command about connections, sessions and
// cursors; nil for others.
func (h *handler) connectionCommand(
	req wire.Request,
) func(context.Context, *clusterMock, wire.Request) (bson.Raw, error) {
	switch req.Command {
	case "hello", "isMaster", "ismaster":
		return h.hello
	case "getMore":
		return h.getMore
	case "killCursors":
		return h.killCursors
	case "endSessions", "refreshSessions", "killSessions", "commitTransaction":
		return func(context.Context, *clusterMock, wire.Request) (bson.Raw, error) { return marshalReply(okReply), nil }
	case "abortTransaction":
		return h.abortTransaction
	}
	return nil
}

// connectionFields are the fields of hello that describe a single connection to the server.
var connectionFields = map[string]bool{"topologyVersion": true, "connectionId": true, "compression": true,
	"saslSupportedMechs": true, "speculativeAuthenticate": true, "serviceId": true}

// hello returns the server's reply to hello, with the time of the rehearsal.
func (h *handler) hello(ctx context.Context, s *clusterMock, req wire.Request) (bson.Raw, error) {
	reply, err := h.source.runAdminCommand(ctx, req.Command)
	if err != nil {
		return nil, err
	}
	return editFields(reply, func(e bson.RawElement) (any, bool) {
		switch {
		case connectionFields[e.Key()]:
			return nil, false
		case e.Key() == "localTime" && s != nil:
			return s.cluster.Clock().Now().Truncate(time.Millisecond), true
		}
		return e.Value(), true
	}), nil
}

func (h *handler) getMore(ctx context.Context, s *clusterMock, req wire.Request) (bson.Raw, error) {
	id, _ := req.Body.Lookup("getMore").AsInt64OK()
	if s == nil || h.source.ownsCursor(id) {
		return h.source.forward(ctx, req)
	}
	return s.router.Handle(ctx, mockRequest(req)), nil
}

func (h *handler) killCursors(ctx context.Context, s *clusterMock, req wire.Request) (bson.Raw, error) {
	ids, _ := req.Body.Lookup("cursors").ArrayOK()
	values, err := ids.Values()
	if err != nil {
		return nil, err
	}
	forward := s == nil
	for _, v := range values {
		if id, _ := v.AsInt64OK(); h.source.ownsCursor(id) {
			defer h.source.forgetCursor(ctx, id)
			forward = true
		}
	}
	if forward {
		return h.source.forward(ctx, req)
	}
	return s.router.Handle(ctx, mockRequest(req)), nil
}

// abortTransaction adds a note about a limitation: the mock carries out each write of a transaction at once.
func (h *handler) abortTransaction(context.Context, *clusterMock, wire.Request) (bson.Raw, error) {
	h.r.o.Note("Dry run: the transaction is aborted, but its writes stay in the rehearsal.")
	return marshalReply(okReply), nil
}

// editFields returns a document with fields changed or removed.
func editFields(doc bson.Raw, change func(e bson.RawElement) (value any, keep bool)) bson.Raw {
	elems, err := doc.Elements()
	if err != nil {
		return doc
	}
	var d bson.D
	for _, e := range elems {
		if v, keep := change(e); keep {
			d = append(d, bson.E{Key: e.Key(), Value: v})
		}
	}
	return marshalReply(d)
}
