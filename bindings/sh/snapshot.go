package sh

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// snapshot reads the whole cluster, routing tables and all: what questions about
// chunks, plans and forecasts are answered from. What fails is thrown; what
// could not be read is a gap of its source.
func (sh *Helpers) snapshot(o live.ReaderOptions) *catalog.Snapshot {
	conn := sh.current().Conn
	o.Source = catalog.Source{Kind: catalog.SourceLive, Name: conn.Address}
	s, err := live.NewReader(conn.Client, o).Read(sh.s.JS.Context())
	if err != nil {
		sh.s.Gateway.Throw(err)
	}
	return s
}
