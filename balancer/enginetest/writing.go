package enginetest

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

func (s *suite) logAction() {
	log := func(c balancer.Cluster) error {
		return c.LogAction(s.ctx, "balancer.round", bson.D{{Key: "chunksMoved", Value: int32(7)}})
	}
	if !s.isSupported("LogAction", log) {
		return
	}
	if err := s.errOf(log); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("entries", s.countEntries("actionlog", bson.D{{Key: "details.chunksMoved", Value: 7}}), 1)
}

func (s *suite) logChange() {
	log := func(c balancer.Cluster) error { return c.LogChange(s.ctx, "autoMerge.start") }
	if !s.isSupported("LogChange", log) {
		return
	}
	before := s.countEntries("changelog", bson.D{{Key: "what", Value: "autoMerge.start"}})
	if err := s.errOf(log); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("entries", s.countEntries("changelog", bson.D{{Key: "what", Value: "autoMerge.start"}}), before+1)
}

func (s *suite) setEstimate() {
	r := s.routingOf("app.even")
	set := func(min, max int) func(balancer.Cluster) error {
		return func(c balancer.Cluster) error {
			return c.SetEstimate(s.ctx, "app.even", r.Collection.UUID, policy.Measurement{
				Min: s.key(r, min), Max: s.key(r, max), Size: catalog.NewEstimate(12345),
			})
		}
	}
	if !s.isSupported("SetEstimate", set(100, 200)) {
		return
	}
	if err := s.errOf(set(100, 200)); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("estimate", s.routingOf("app.even").Table.Find(s.key(r, 100)).Estimate, catalog.NewEstimate(12345))
	if err := s.errOf(set(100, 150)); err == nil {
		s.Error("an estimate was stored with no chunk")
	}
}

func (s *suite) setPhase() {
	r := s.routingOf("app.even")
	set := func(ns string) func(balancer.Cluster) error {
		return func(c balancer.Cluster) error {
			return c.SetDefragmentationPhase(s.ctx, ns, r.Collection.UUID, policy.PhaseMoveAndMerge)
		}
	}
	if !s.isSupported("SetDefragmentationPhase", set("app.even")) {
		return
	}
	if err := s.errOf(set("app.even")); err != nil {
		s.Fatal(err)
	}
	s.wantEqual("phase", s.routingOf("app.even").Collection.DefragmentationPhase, string(policy.PhaseMoveAndMerge))
	s.wantCode("no collection", s.errOf(set("app.none")), mongoerr.NamespaceNotFound)
	s.wantCode("another collection", s.errOf(set("app.huge")), mongoerr.NamespaceNotFound)
}

func (s *suite) endDefragmentation() {
	r := s.routingOf("app.even")
	end := func(c balancer.Cluster) error { return c.EndDefragmentation(s.ctx, "app.even", r.Collection.UUID) }
	if !s.isSupported("EndDefragmentation", end) {
		return
	}
	if s.Release.Defragments() {
		s.command("admin", bson.D{{Key: "configureCollectionBalancing", Value: "app.even"},
			{Key: "defragmentCollection", Value: true}})
		s.wantEqual("flag before", s.routingOf("app.even").Collection.Defragment, true)
	}
	err := s.errOf(func(c balancer.Cluster) error {
		return c.SetEstimate(s.ctx, "app.even", r.Collection.UUID, policy.Measurement{
			Min: s.key(r, 100), Max: s.key(r, 200), Size: catalog.NewEstimate(1),
		})
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := s.errOf(end); err != nil {
		s.Fatal(err)
	}
	after := s.routingOf("app.even")
	s.wantEqual("flag", after.Collection.Defragment, false)
	s.wantEqual("phase", after.Collection.DefragmentationPhase, "")
	s.wantEqual("estimate", after.Table.Find(s.key(r, 100)).Estimate.Known(), false)
}
