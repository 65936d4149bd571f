package sh

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// snapshot reads the whole cluster, routing tables and all: what questions about
// chunks, plans and forecasts are answered from. What fails is thrown; what
// could not be read is a gap of its source.
func (sh *Helpers) snapshot(o live.ReaderOptions) *catalog.Snapshot {
	s, err := sh.read(sh.s.JS.Context(), o)
	if err != nil {
		sh.s.Gateway.Throw(err)
	}
	return s
}

// read is snapshot for those that can do without one.
func (sh *Helpers) read(ctx context.Context, o live.ReaderOptions) (*catalog.Snapshot, error) {
	conn := sh.current().Conn
	o.Source = catalog.Source{Kind: catalog.SourceLive, Name: conn.Address}
	return live.NewReader(conn.Client, o).Read(ctx)
}
