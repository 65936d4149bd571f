package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// balancer asks what the balancer says of itself (rules/03-commands §1.2).
func (r *reading) balancer(ctx context.Context) error {
	if !r.parts.Release.HasModes() {
		return r.balancerBefore34(ctx)
	}
	reply, err := r.run(ctx, bson.D{{Key: "balancerStatus", Value: 1}})
	if err == nil {
		r.parts.Balancer = balancerState(reply)
	}
	return r.part(ctx, catalog.Gap{What: "balancer"}, err)
}

func (r *reading) balancerBefore34(ctx context.Context) error {
	settings, err := r.documents(ctx, "settings", aboutBalancer)
	if err != nil {
		return r.part(ctx, catalog.Gap{What: "balancer"}, err)
	}
	locks, err := r.documents(ctx, "locks", aboutBalancer)
	r.parts.Balancer = stateBefore34(settings, locks)
	return r.part(ctx, catalog.Gap{What: "balancer"}, err)
}

// balancerState reads the reply of balancerStatus.
func balancerState(reply bson.Raw) catalog.BalancerState {
	return catalog.BalancerState{
		Mode: catalog.Mode(text(reply, "mode")), InRound: isSet(reply.Lookup("inBalancerRound")),
		Rounds: integer(reply, "numBalancerRounds"),
	}
}

// reach asks the router which shards it has a way to.
func (r *reading) reach(ctx context.Context) error {
	reply, err := r.run(ctx, bson.D{{Key: "connPoolStats", Value: 1}})
	if err != nil {
		return r.part(ctx, catalog.Gap{What: "reach"}, err)
	}
	reachable(r.parts.Shards, reply)
	return nil
}

// compliance asks for the server's verdict on each sharded collection, and on
// the shards that drain.
func (r *reading) compliance(ctx context.Context) error {
	if !r.options.Compliance || !r.parts.Release.JudgesCollections() { // the chunks tell as much
		return nil
	}
	err := inParallel(ctx, r.options.Parallel, r.parts.Collections,
		func(ctx context.Context, c *catalog.CollectionState) error {
			if c.Unsplittable {
				return nil
			}
			reply, err := r.run(ctx, bson.D{{Key: "balancerCollectionStatus", Value: c.Namespace}})
			if err == nil {
				c.Reported = reportedStatus(reply)
			}
			return r.part(ctx, catalog.Gap{What: "balance", Namespace: c.Namespace}, err)
		})
	if err != nil || !r.parts.Release.AtLeast(catalog.Release83) {
		return err
	}
	for i := range r.parts.Shards {
		s := &r.parts.Shards[i]
		if !s.Draining {
			continue
		}
		reply, err := r.run(ctx, DrainStatusCommand(s.ID))
		if err == nil {
			s.Reported = reportedDrain(reply)
		}
		if err := r.part(ctx, catalog.Gap{What: "draining", Shard: s.ID}, err); err != nil {
			return err
		}
	}
	return nil
}
