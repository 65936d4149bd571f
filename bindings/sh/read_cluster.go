package sh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// shellRunner runs the commands of a cluster reader like all commands of the shell: through its guard,
// in its session, on the connection of a database.
type shellRunner struct {
	gateway       *server.Gateway
	admin, config *server.Database
}

func (s shellRunner) request(ctx context.Context, database string, command bson.D) server.Request {
	if deadline, limited := ctx.Deadline(); limited && !server.HasField(command, "maxTimeMS") {
		left := max(1, time.Until(deadline).Milliseconds())
		command = append(slices.Clip(command), bson.E{Key: "maxTimeMS", Value: left})
	}
	d := s.admin.Sibling(database)
	if database == "config" {
		d = s.config
	}
	return d.Request(command, server.Repeatable)
}

// RunCommand sends a command. The shell's own context limits it; servers respect the deadline of ctx.
func (s shellRunner) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	return s.gateway.Send(s.request(ctx, database, command))
}

// RunCursorCommand returns all documents of a cursor.
func (s shellRunner) RunCursorCommand(ctx context.Context, database string, command bson.D) ([]bson.Raw, error) {
	return s.gateway.TryReadAll(s.request(ctx, database, command))
}

// commandRunner returns the runner for the connection of the current database.
func (h *Helpers) commandRunner() shellRunner {
	return shellRunner{h.host.Gateway, h.current().Sibling("admin"), h.config()}
}

// clusterView is a Snapshot of parts of a cluster, with documents that Snapshots do not contain.
type clusterView struct {
	*catalog.Snapshot
	raw map[string][]bson.Raw
}

// hasSizes reports whether the server has reported data sizes, as it does from 6.0.3 on.
func (c *clusterView) hasSizes() bool { return c.raw["shardedDataDistribution"] != nil }

// The parts that a helper requires: all except those that many users may not read, or that many servers
// don't have. The lenient set also omits the balancer's status.
const (
	strictParts  = live.AllParts &^ (live.Sizes | live.RunningMigrations | live.RunningReshardings)
	lenientParts = strictParts &^ (live.Balancer | live.BalanceStatuses)
)

// readCluster reads parts of a database's cluster; another config database may replace the cluster's
// own. It throws errors.
func (h *Host) readCluster(d, config *server.Database, o live.ReaderOptions) *clusterView {
	o.Required = cmp.Or(o.Required, strictParts)
	seen, err := h.tryReadCluster(d, config, o)
	var part *live.ReadError
	switch {
	case errors.As(err, &part):
		h.Gateway.Throw(part.Err)
	case err != nil:
		h.Gateway.Throw(err)
	}
	return seen
}

// tryReadCluster works like readCluster, but requires no parts and returns errors.
func (h *Host) tryReadCluster(d, config *server.Database, o live.ReaderOptions) (*clusterView, error) {
	o.Now = h.JS.Clock.Now()
	seen := &clusterView{raw: map[string][]bson.Raw{}}
	o.OnDocuments = func(of string, docs []bson.Raw) { seen.raw[of] = append([]bson.Raw{}, docs...) }
	read := func() (err error) {
		seen.Snapshot, err = live.NewCommandReader(shellRunner{h.Gateway, d.Sibling("admin"), config}, o).Read(h.JS.Context())
		return err
	}
	err := read()
	if o.Parts&live.Balancer == 0 || o.Release != (catalog.Release{}) || !lacksBalancerCommand(seen, err) {
		return seen, err
	}
	old, known := catalog.ReleaseOf(d.Conn.Version().String())
	if !known || old.HasConfigServerBalancer() {
		return seen, err
	}
	o.Release = old // the data of this release is elsewhere
	return seen, read()
}

// lacksBalancerCommand reports whether the server has no command that reports on the balancer.
func lacksBalancerCommand(seen *clusterView, err error) bool {
	if err != nil {
		return server.CodeOf(err) == mongoerr.CommandNotFound
	}
	return slices.ContainsFunc(seen.Parts().Source.Gaps, func(g catalog.Gap) bool {
		return g.What == "balancer" && g.Code == mongoerr.CommandNotFound
	})
}

// ReadSnapshot reads parts of a database's cluster. It throws errors.
func (h *Host) ReadSnapshot(d *server.Database, o live.ReaderOptions) *catalog.Snapshot {
	return h.readCluster(d, d.Sibling("config"), o).Snapshot
}

func (h *Helpers) readCluster(o live.ReaderOptions) *clusterView {
	return h.host.readCluster(h.current(), h.config(), o)
}

// release returns the release of the server, and reports whether its version could be read.
func (h *Helpers) release() (r catalog.Release, known bool) {
	v := h.version()
	return catalog.ReleaseOf(fmt.Sprintf("%d.%d", v.Major, v.Minor))
}

// configDocument returns a document of a small config collection that was read, by its _id; nil if
// there is none.
func configDocument(seen *clusterView, collection, id string) bson.Raw {
	for _, doc := range seen.Parts().Config[collection] {
		if rawdoc.Text(doc, "_id") == id {
			return doc
		}
	}
	return nil
}

// unreadReason returns why a part was not read; empty if it was read.
func unreadReason(seen *clusterView, what string) string {
	for _, gap := range seen.Parts().Source.Gaps {
		if gap.What == what {
			return gap.Reason
		}
	}
	return ""
}
