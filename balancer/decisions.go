package balancer

import (
	"context"
	"log/slog"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// reasons are what the round under way decided, and why.
type reasons struct {
	*policy.Report // nil when nobody asks
	cfg            *Config
}

// begin starts the report of a round, where one is wanted.
func (r *reasons) begin() {
	if r.cfg.Decided != nil {
		r.Report = &policy.Report{ChosenOnly: r.cfg.ChosenOnly}
	}
}

// end hands over the report of a round. One that a termination cuts short is
// dropped.
func (r *reasons) end(now time.Time) {
	if r.Report != nil {
		r.cfg.Decided(now, r.Decisions)
	}
}

// wanted reports whether somebody reads what rounds have to say of collections in
// which they choose nothing: then nothing is passed over.
func (r *reasons) wanted() bool { return r.Report != nil && !r.cfg.ChosenOnly || r.logged() }

func (r *reasons) logged() bool { return r.cfg.Logger.Enabled(context.Background(), slog.LevelError) }

// shut reports what keeps the round from choosing or moving.
func (l *Loop) shut() { policy.Shut(l.inForce(), l.now.In(l.cfg.Location), l.why.Report) }

// passedOver reports collections that the round does not come to.
func (r *reasons) passedOver(d policy.Decision, groups ...[]*catalog.Collection) {
	if !r.Wants() || !r.wanted() {
		return
	}
	for _, colls := range groups {
		for _, coll := range colls {
			if policy.Blocked(*coll, r.cfg.Version, r.Report) {
				continue
			}
			d.Namespace = coll.Namespace
			r.Add(d)
		}
	}
}

// leftOut reports a collection whose catalog entries stand in the way.
func (r *reasons) leftOut(coll catalog.Collection, err error) {
	d := policy.Decision{Code: policy.NotReadable, Namespace: coll.Namespace, Err: err}
	switch {
	case mongoerr.Is(err, mongoerr.NamespaceNotFound):
		d.Code = policy.CollectionGone
	case mongoerr.Is(err, mongoerr.IllegalOperation):
		d.Code = policy.UnalignedZones
	}
	r.Add(d)
}

// ofCollection returns a report for one collection: nil when nobody reads the log either, since
// a report costs the walk over flagged chunks that it tells of.
func (r *reasons) ofCollection() *policy.Report {
	if r.Report == nil && !r.logged() {
		return nil
	}
	return &policy.Report{EventsOnly: r.Report == nil, ChosenOnly: r.cfg.ChosenOnly}
}

// take logs what a report of one collection tells, and keeps its decisions.
func (r *reasons) take(report *policy.Report) {
	if report == nil {
		return
	}
	ctx := context.Background()
	for _, e := range report.Events {
		if r.cfg.Logger.Enabled(ctx, e.Level()) {
			r.cfg.Logger.LogAttrs(ctx, e.Level(), e.Text(), e.Attrs()...)
		}
	}
	if r.Report != nil {
		r.Decisions = append(r.Decisions, report.Decisions...)
	}
}
