package action

import (
	"context"
	"time"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
	"shardsh/balancer/safefile"
)

const (
	maxAdvisoriesBytes  = 1 << 20
	advisoryReadTimeout = 30 * time.Second
)

// LoadAdvisories returns the known server faults, with a file's additions and mutes applied; an empty name means
// no file.
func LoadAdvisories(file string) (advisory.List, error) {
	if file == "" {
		return advisory.Embedded(), nil
	}
	text, err := safefile.Read(file, maxAdvisoriesBytes, advisoryReadTimeout)
	if err != nil {
		return advisory.List{}, refuse("{advisories}: %s", err)
	}
	own, err := advisory.Parse(text)
	if err != nil {
		return advisory.List{}, refuse("{advisories}: %s: %s", file, err)
	}
	return advisory.Embedded().With(own), nil
}

// KnownFaults returns the known faults that concern a cluster, or those that concern one collection of
// it. A mock has no servers and therefore no known faults.
func KnownFaults(s *catalog.Snapshot, list advisory.List, ns string) []diagnosis.Finding {
	if isMock(s) {
		return nil
	}
	c := advisory.Cluster{Snapshot: s}
	if ns == "" {
		return advisory.Findings(list.Matching(c))
	}
	c.Namespaces = []string{ns}
	var of []diagnosis.Finding
	for _, h := range list.Matching(c) {
		if h.DependsOnCollections() {
			of = append(of, h.Finding())
		}
	}
	return of
}

// isMock reports whether a cluster is a mock, which has no servers and therefore none of their faults.
func isMock(s *catalog.Snapshot) bool {
	from := s.Parts().Source
	return from.Kind == catalog.SourceMock || from.Origin.Kind == catalog.SourceMock
}

// readMovingPrimary reads the running movePrimary commands if a known fault depends on them.
func (l *preflightReader) readMovingPrimary(ctx context.Context) {
	if !l.run.Advisories.DependsOnState(l.facts.Snapshot, advisory.MovingPrimary,
		preflight.SentCommands(l.run, l.facts.Snapshot)) {
		return
	}
	var err error
	l.facts.DatabasesMovingPrimary, err = live.ReadMovePrimaryDatabases(ctx, live.NewCommandRunner(l.Client))
	l.addUnread("movePrimary commands under way", err)
}

// noteKnownFaults reports the known faults that concern the steps of a plan.
func (p Plan) noteKnownFaults(s *catalog.Snapshot, made *plan.Plan, r *serialReporter) error {
	list, err := LoadAdvisories(p.AdvisoriesFile)
	if err != nil || len(made.Steps) == 0 {
		return err
	}
	run := preflight.Run{Plan: made, Advisories: list}
	hits := list.HitsForCommands(preflight.AdvisoryCluster(run, preflight.Facts{Snapshot: s}),
		preflight.SentCommands(run, s))
	const most = 3
	for _, h := range hits[:min(len(hits), most)] {
		r.note("Known fault: " + h.String() + ".")
	}
	if more := len(hits) - most; more > 0 {
		r.note(humanize.Count(int64(more), "milder known fault") + " may show, too.")
	}
	return nil
}
