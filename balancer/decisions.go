package balancer

import (
	"context"
	"log/slog"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// roundDecisions records the decisions of the current round, with their reasons.
type roundDecisions struct {
	*policy.Report // nil if no report is requested
	cfg            *Config
}

// begin starts the report of a round, if Config.OnDecisions is set.
func (r *roundDecisions) begin() {
	if r.cfg.OnDecisions != nil {
		r.Report = &policy.Report{ChosenOnly: r.cfg.ChosenOnly}
	}
}

// end passes the report of a round to Config.OnDecisions. A round that a termination interrupts has no
// report.
func (r *roundDecisions) end(now time.Time) {
	if r.Report != nil {
		r.cfg.OnDecisions(now, r.Decisions)
	}
}

// needsAllCollections reports whether decisions about collections without migrations are requested. If so, no
// collection is skipped without a decision.
func (r *roundDecisions) needsAllCollections() bool {
	return r.Report != nil && !r.cfg.ChosenOnly || r.logEnabled()
}

func (r *roundDecisions) logEnabled() bool {
	return r.cfg.Logger.Enabled(context.Background(), slog.LevelError)
}

// reportDisabled records why the round does not choose or move anything.
func (l *Loop) reportDisabled() {
	policy.ReportDisabled(l.effectiveSettings(), l.now.In(l.cfg.Location), l.decisions.Report)
}

// reportSkipped records collections that the round does not get to.
func (r *roundDecisions) reportSkipped(d policy.Decision, groups ...[]*catalog.Collection) {
	if !r.WantsDecisions() || !r.needsAllCollections() {
		return
	}
	for _, colls := range groups {
		for _, coll := range colls {
			if policy.ReportBlocked(*coll, r.cfg.Release, r.Report) {
				continue
			}
			d.Namespace = coll.Namespace
			r.Add(d)
		}
	}
}

// reportUnreadable records a collection whose catalog entries cannot be used.
func (r *roundDecisions) reportUnreadable(coll catalog.Collection, err error) {
	d := policy.Decision{Code: policy.NotReadable, Namespace: coll.Namespace, Err: err}
	switch {
	case mongoerr.Is(err, mongoerr.NamespaceNotFound):
		d.Code = policy.CollectionGone
	case mongoerr.Is(err, mongoerr.IllegalOperation):
		d.Code = policy.UnalignedZones
	}
	r.Add(d)
}

// newCollectionReport returns a report for one collection; nil if neither report nor log is enabled, since
// a report has to walk over all jumbo chunks.
func (r *roundDecisions) newCollectionReport() *policy.Report {
	if r.Report == nil && !r.logEnabled() {
		return nil
	}
	return &policy.Report{EventsOnly: r.Report == nil, ChosenOnly: r.cfg.ChosenOnly}
}

// addReport logs the events of a collection's report and appends its decisions.
func (r *roundDecisions) addReport(report *policy.Report) {
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
