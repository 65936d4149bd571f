package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// readBalancer reads the state of the balancer (rules/03-commands §1.2).
func (r *reading) readBalancer(ctx context.Context) error {
	if !r.parts.Release.HasConfigServerBalancer() {
		return r.readBalancerBefore34(ctx)
	}
	reply, err := r.source.run(ctx, "admin", bson.D{{Key: "balancerStatus", Value: int32(1)}})
	if err == nil {
		r.parts.Balancer = catalog.BalancerState{
			Mode: catalog.Mode(text(reply, "mode")), InRound: catalog.IsTruthyInJS(reply.Lookup("inBalancerRound")),
			Rounds: integer(reply, "numBalancerRounds"),
		}
	}
	return err
}

// balancerLock is the id of the balancer's lock in config.locks, and of its document in
// config.settings. Config servers up to 5.0 hold the lock permanently.
const balancerLock = "balancer"

// readBalancerBefore34 reads the state of the balancer in releases without balancerStatus: each mongos
// has a balancer, which uses config.settings and holds a lock during a round (rules/01-selection §9.5).
// The number of rounds is unknown.
func (r *reading) readBalancerBefore34(ctx context.Context) error {
	filter := bson.D{{Key: "_id", Value: balancerLock}}
	settings, err := r.source.list(ctx, findQuery("settings", filter))
	if err != nil {
		return err
	}
	locks, err := r.source.list(ctx, findQuery("locks", filter))
	if err != nil {
		return err
	}
	state := catalog.BalancerState{Mode: catalog.ModeFull}
	for _, doc := range settings {
		if catalog.IsTruthyInJS(doc.Lookup("stopped")) {
			state.Mode = catalog.ModeOff
		}
	}
	for _, doc := range locks {
		state.InRound = integer(doc, "state") > 0
	}
	r.parts.Balancer = state
	return nil
}

var errNoStatus = errors.New("servers before 4.4 do not report whether a collection is balanced")

// MaxStatusCollections is the maximum number of collections for which the server is asked whether they
// are balanced, if the policies can decide that instead. The command makes all shards measure the
// collection.
const MaxStatusCollections = 200

// selectedCollections returns the sharded collections that WantsDetails selects.
func (r *reading) selectedCollections() []*catalog.CollectionState {
	return slices.DeleteFunc(slices.Clone(r.parts.Collections), func(c *catalog.CollectionState) bool {
		return c.Unsplittable || r.options.WantsDetails != nil && !r.options.WantsDetails(c.Namespace)
	})
}

// policiesSuffice reports whether the policies can decide for all collections, so that the server need not
// be asked.
func (r *reading) policiesSuffice() bool {
	return len(r.selectedCollections()) > MaxStatusCollections && r.wants(Chunks) && r.wants(Sizes) &&
		!slices.ContainsFunc(r.gaps, func(g catalog.Gap) bool { return g.What == "sizes" || g.What == "chunks" })
}

// readStatuses reads whether the server considers each sharded collection balanced.
func (r *reading) readStatuses(ctx context.Context) error {
	if r.policiesSuffice() && (r.options.Required&BalanceStatuses == 0 || r.options.WantsTable != nil) {
		return nil
	}
	list := r.selectedCollections()
	if n := len(list); n > MaxStatusCollections && r.options.Required&BalanceStatuses == 0 {
		if list = list[:MaxStatusCollections]; !r.wants(Chunks) { // the policies can decide instead
			list = nil
		}
		r.addGap(catalog.Gap{What: "balance"}, fmt.Errorf("the server was asked about %d of %d collections only",
			MaxStatusCollections, n))
	}
	var skipped atomic.Pointer[ShardTimeoutError]
	defer func() {
		if why := skipped.Load(); why != nil {
			r.addGap(catalog.Gap{What: "balance"}, why) // one gap for all collections that were not asked
		}
	}()
	return inParallel(ctx, r.options.Parallel, list,
		func(ctx context.Context, c *catalog.CollectionState) error {
			gap := catalog.Gap{What: "balance", Namespace: c.Namespace}
			if !r.parts.Release.ReportsCollectionStatus() && r.options.Required&BalanceStatuses == 0 {
				if !r.wants(Chunks) { // the policies can decide instead
					r.addGap(gap, errNoStatus)
				}
				return nil
			}
			reply, err := r.askShards(ctx, "admin", bson.D{{Key: "balancerCollectionStatus", Value: c.Namespace}})
			if err == nil {
				c.ReportedStatus = parseStatus(reply)
			}
			if why, ok := errors.AsType[*ShardTimeoutError](err); ok && why.Limit == 0 &&
				r.options.Required&BalanceStatuses == 0 {
				skipped.Store(why)
				return nil
			}
			return r.gapOrError(ctx, BalanceStatuses, gap, err)
		})
}

// parseStatus parses the reply of balancerCollectionStatus (rules/01-selection §7).
func parseStatus(reply bson.Raw) *catalog.ReportedStatus {
	r := &catalog.ReportedStatus{
		Compliant: catalog.IsTruthyInJS(reply.Lookup("balancerCompliant")),
		Violation: text(reply, "firstComplianceViolation"),
		Phase:     text(reply, "details", "currentPhase"), RemainingChunks: -1,
	}
	r.ChunkSizeMB, _ = reply.Lookup("chunkSize").AsFloat64OK()
	if left, err := reply.LookupErr("details", "progress", "remainingChunksToProcess"); err == nil {
		if n, ok := left.AsInt64OK(); ok {
			r.RemainingChunks = n
		}
	}
	return r
}
