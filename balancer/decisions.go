package balancer

import (
	"context"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// tellDecisions ends the report of a round. One that a termination cuts short is
// not told.
func (l *Loop) tellDecisions() {
	if l.why != nil {
		l.cfg.Decided(l.now, l.why.Decisions)
	}
}

// shut reports what keeps the round from choosing or moving.
func (l *Loop) shut() { policy.Shut(l.inForce(), l.now.In(l.cfg.Location), l.why) }

// passedOver reports collections that the round does not come to.
func (l *Loop) passedOver(d policy.Decision, groups ...[]*catalog.Collection) {
	if !l.why.Wants() || !l.talks() {
		return
	}
	for _, colls := range groups {
		for _, coll := range colls {
			if policy.Blocked(*coll, l.cfg.Version, l.why) {
				continue
			}
			d.Namespace = coll.Namespace
			l.why.Add(d)
		}
	}
}

// leftOut reports a collection whose catalog entries stand in the way.
func (l *Loop) leftOut(coll catalog.Collection, err error) {
	d := policy.Decision{Code: policy.NotReadable, Namespace: coll.Namespace, Err: err}
	switch {
	case mongoerr.Is(err, mongoerr.NamespaceNotFound):
		d.Code = policy.CollectionGone
	case mongoerr.Is(err, mongoerr.IllegalOperation):
		d.Code = policy.UnalignedZones
	}
	l.why.Add(d)
}

// report is that of one collection: nil when nobody reads the log either, since
// a report costs the walk over flagged chunks that it tells of.
func (l *Loop) report() *policy.Report {
	if l.why == nil && !l.logs() {
		return nil
	}
	return &policy.Report{EventsOnly: l.why == nil, ChosenOnly: l.cfg.ChosenOnly}
}

// take logs what a report of one collection tells, and keeps its decisions.
func (l *Loop) take(report *policy.Report) {
	if report == nil {
		return
	}
	ctx := context.Background()
	for _, e := range report.Events {
		if l.cfg.Logger.Enabled(ctx, e.Level()) {
			l.cfg.Logger.LogAttrs(ctx, e.Level(), e.Text(), e.Attrs()...)
		}
	}
	if l.why != nil {
		l.why.Decisions = append(l.why.Decisions, report.Decisions...)
	}
}
