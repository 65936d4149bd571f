package sh

import (
	"context"
	"errors"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/actiontext"
)

// readAction is an action that changes nothing.
type readAction[R any] interface {
	Run(ctx context.Context, source action.Source, r action.Reporter) (R, error)
}

// source returns the source for such actions: the current database's cluster.
func (h *Helpers) source() action.Source {
	conn, kind := h.current().Conn, catalog.SourceLive
	if h.host.IsMock {
		kind = catalog.SourceMock
	}
	return action.Source{
		Client: conn.Client, ReadPreference: conn.ReadPreference, ClientOptions: conn.ClientOptions, Clock: h.host.JS.Clock,
		Origin: catalog.Source{Kind: kind, Name: conn.Address},
	}
}

// runReadAction runs a read-only action for a helper and returns its result. Errors name the
// collections in about.
func runReadAction[R any](c *call, sh *Helpers, helper string, verb readAction[R], about ...string) R {
	result, err := tryReadAction(c, sh, verb)
	switch {
	case errors.As(err, new(*diagnosis.NotFoundError)):
		sh.throwUnknown(err)
	case err != nil:
		sh.throwActionError(helper, about, err, "", false)
	}
	return result
}

// tryReadAction works like runReadAction, but returns errors.
func tryReadAction[R any](c *call, sh *Helpers, verb readAction[R]) (R, error) {
	r := &actiontext.Reporter{Progress: c.host.Display.NewProgress(true), Note: c.JS.Out.Warn}
	defer r.Progress.End()
	source, cluster := sh.source(), c.cluster(sh)
	source.WritableCluster = &cluster
	return verb.Run(c.JS.Context(), source, r)
}
