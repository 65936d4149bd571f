package live

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// balancer asks what the balancer says of itself (spec 03 §1.2).
func (r *reading) balancer(ctx context.Context) error {
	reply, err := r.run(ctx, bson.D{{Key: "balancerStatus", Value: 1}})
	if err == nil {
		mode, _ := reply.Lookup("mode").StringValueOK()
		inRound, _ := reply.Lookup("inBalancerRound").BooleanOK()
		r.parts.Balancer = catalog.BalancerState{Mode: catalog.Mode(mode), InRound: inRound, Rounds: number(reply, "numBalancerRounds")}
	}
	return r.part(ctx, catalog.Gap{What: "balancer"}, err)
}

// compliance asks for the server's verdict on each sharded collection, and on
// the shards that drain.
func (r *reading) compliance(ctx context.Context) error {
	if !r.options.Compliance {
		return nil
	}
	err := inParallel(ctx, r.options.Parallel, r.parts.Collections, func(ctx context.Context, c *catalog.CollectionState) error {
		if c.Unsplittable {
			return nil
		}
		reply, err := r.run(ctx, bson.D{{Key: "balancerCollectionStatus", Value: c.Namespace}})
		if err == nil {
			c.Reported = reported(reply)
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
		reply, err := r.run(ctx, bson.D{{Key: "shardDrainingStatus", Value: string(s.ID)}})
		if err == nil {
			s.Reported = reportedDrain(reply)
		}
		if err := r.part(ctx, catalog.Gap{What: "draining", Shard: s.ID}, err); err != nil {
			return err
		}
	}
	return nil
}

// reported reads the reply of balancerCollectionStatus (spec 03 §1.2).
func reported(reply bson.Raw) *catalog.ReportedStatus {
	s := &catalog.ReportedStatus{}
	s.Compliant, _ = reply.Lookup("balancerCompliant").BooleanOK()
	s.Violation, _ = reply.Lookup("firstComplianceViolation").StringValueOK()
	s.ChunkSizeMB, _ = reply.Lookup("chunkSize").AsFloat64OK()
	s.Phase, _ = reply.Lookup("details", "currentPhase").StringValueOK()
	if s.Phase == "" {
		return s
	}
	s.RemainingChunks = -1
	if n, ok := reply.Lookup("details", "progress", "remainingChunksToProcess").AsInt64OK(); ok {
		s.RemainingChunks = n
	}
	return s
}

// reportedDrain reads the reply of shardDrainingStatus (spec 03 §1.5).
func reportedDrain(reply bson.Raw) *catalog.ReportedDrain {
	d := &catalog.ReportedDrain{
		Chunks: number(reply, "remaining", "chunks"), Jumbo: number(reply, "remaining", "jumboChunks"),
		Databases: texts(reply.Lookup("dbsToMove")), Collections: texts(reply.Lookup("collectionsToMove")),
	}
	d.State, _ = reply.Lookup("state").StringValueOK()
	return d
}

// texts are the strings of an array.
func texts(v bson.RawValue) []string {
	array, _ := v.ArrayOK()
	values, err := array.Values()
	if err != nil {
		return nil
	}
	var list []string
	for _, v := range values {
		if text, ok := v.StringValueOK(); ok {
			list = append(list, text)
		}
	}
	return list
}
