package runner

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// Catalog is the state that a round reads from the collections of the config server.
type Catalog struct {
	Settings    map[string]bson.Raw // by _id
	Shards      []catalog.Shard
	Collections []catalog.Collection // of the run
	Routings    map[string]balancer.Routing
	// FullyRead contains the collections whose chunks were all read, and not only the changed chunks.
	FullyRead map[string]bool
}

// readCatalog returns the Catalog of the current round. Of routing tables that earlier rounds have
// read, it reads only the changes.
func (r *run) readCatalog(ctx context.Context) (*Catalog, error) {
	r.mu.Lock()
	read, before := r.round.catalog, r.lastCatalog
	if read != nil {
		r.mu.Unlock()
		return read, nil
	}
	for ns := range r.forgotten {
		if before != nil {
			delete(before.Routings, ns)
		}
	}
	r.forgotten = nil
	r.mu.Unlock()
	read, err := r.cluster.ReadCatalog(ctx, r.namespaces, before)
	if err != nil {
		return nil, err
	}
	if err := r.readDisks(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.catalog, r.lastCatalog = read, read
	return read, nil
}

// noteChanged records that the chunks of a collection have changed during the round.
func (r *run) noteChanged(ns string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.round.changedCollections == nil {
		r.round.changedCollections = map[string]bool{}
	}
	r.round.changedCollections[ns] = true
}

// readRouting returns the routing of a collection in the current round, and whether the collection
// exists.
func (r *run) readRouting(ctx context.Context, ns string) (routing balancer.Routing, found bool, err error) {
	read, err := r.readCatalog(ctx)
	if err != nil {
		return routing, false, err
	}
	r.mu.Lock()
	again := r.round.changedCollections[ns]
	delete(r.round.changedCollections, ns)
	r.mu.Unlock()
	if again {
		now, err := r.cluster.ReadCatalog(ctx, []string{ns}, read)
		if err != nil {
			r.noteChanged(ns)
			return routing, false, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(read.Routings, ns)
		if routing, found = now.Routings[ns]; found {
			read.Routings[ns] = routing
		}
		return routing, found, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	routing, found = read.Routings[ns]
	return routing, found, nil
}

// forgetChunks makes the next round read all chunks of a collection, either because flags change
// without a new version, or because the cached chunks have turned out to be wrong.
func (r *run) forgetChunks(ns string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgotten == nil {
		r.forgotten = map[string]bool{}
	}
	r.forgotten[ns] = true
}

// forgetDoubtfulChunks forgets the cached chunks of collections in which a round found nothing to move
// because of flags that may have changed since they were read. It reports whether there are such
// collections.
func (r *run) forgetDoubtfulChunks(ended round) (found bool) {
	if ended.catalog == nil {
		return false
	}
	for _, d := range ended.decisions {
		flags := d.Code == policy.JumboFlag || d.Code == policy.OnlyJumboChunks
		if flags && d.Namespace != "" && !ended.catalog.FullyRead[d.Namespace] {
			r.forgetChunks(d.Namespace)
			found = true
		}
	}
	return found
}
