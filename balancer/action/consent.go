package action

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/audit"
	"shardsh/balancer/consent"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
)

// Consent says under which conditions runs may change the cluster.
type Consent struct {
	// Policies all have to permit a run.
	Policies []*consent.Policy
	// AuditDestination is an additional destination of the audit log, besides the destinations that policies set:
	// a file, audit.SyslogDestination or audit.ClusterDestination. Empty means none.
	AuditDestination string
}

// AuditDestinations returns the destinations of the audit log.
func (c Consent) AuditDestinations() (list []string) {
	for _, p := range c.Policies {
		list = append(list, p.AuditDestination)
	}
	list = append(list, c.AuditDestination)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(to string) bool { return to == "" })
}

// HistorySource returns the audit log that history reads by default: the first destination that can be
// read.
func (c Consent) HistorySource() string {
	for _, to := range c.AuditDestinations() {
		if to != audit.SyslogDestination {
			return to
		}
	}
	return ""
}

// checkPermitted returns an error for a run that a policy does not permit at any time.
func (c Consent) checkPermitted(o consent.Request) error {
	for _, p := range c.Policies {
		if err := p.CheckRequest(o); err != nil {
			return err
		}
	}
	return nil
}

// checkPermittedNow returns an error for a run that a policy does not permit at the current time.
func (c Cluster) checkPermittedNow(ctx context.Context, o consent.Request) error {
	if err := c.checkPermitted(o); err != nil {
		return err
	}
	for _, p := range c.Policies {
		if len(p.Hours) == 0 {
			continue
		}
		now, err := c.now(ctx)
		if err != nil {
			return &NoAnswerError{err}
		}
		if err := p.CheckHours(now); err != nil {
			return err
		}
	}
	return nil
}

// limitPace returns a pace within the limits of all policies and within their hours.
func (c Consent) limitPace(p Pace) (Pace, error) {
	var err error
	p.MaxMoves, p.movesNote, err = limitByPolicies(c.Policies, "max-moves", p.MaxMoves, DefaultMaxMoves,
		func(l consent.Limits) int { return l.Moves }, func(n int) string { return humanize.Count(n, "move") })
	if err != nil {
		return p, err
	}
	p.MaxBytes, p.bytesNote, err = limitByPolicies(c.Policies, "max-bytes", p.MaxBytes, DefaultMaxBytes,
		func(l consent.Limits) int64 { return l.Bytes }, humanize.Bytes[int64])
	if err != nil {
		return p, err
	}
	if p.DiskLimit, err = c.diskLimit(p.DiskLimit); err != nil {
		return p, err
	}
	given := p.MaxDuration
	for _, policy := range c.Policies {
		if l := policy.Limits; l.MaxDuration > 0 {
			if given > l.MaxDuration {
				return p, policy.Refusal("limits.for", "%s is more than %s", humanize.Duration(given),
					humanize.Duration(l.MaxDuration))
			}
			if given == 0 && (p.MaxDuration == 0 || l.MaxDuration < p.MaxDuration) {
				p.MaxDuration, p.durationNote = l.MaxDuration, policyNote(policy)
			}
		}
		if l := policy.Limits; l.Parallel > 0 && p.Parallel > l.Parallel {
			return p, policy.Refusal("limits.parallel", "%d is more than %d", p.Parallel, l.Parallel)
		}
		if len(policy.Hours) > 0 {
			p.policyWindows = append(slices.Clip(p.policyWindows), policy.Hours)
		}
	}
	return p, nil
}

// diskLimit returns a disk limit within the limits of all policies.
func (c Consent) diskLimit(given float64) (float64, error) {
	limit := given
	for _, policy := range c.Policies {
		policyLimit := policy.Limits.DiskShare
		if policyLimit > 0 && given > policyLimit {
			return given, policy.Refusal("limits.disk-limit", "%s is more than %s", humanize.Percent(given),
				humanize.Percent(policyLimit))
		}
		if policyLimit > 0 && (limit == 0 || policyLimit < limit) {
			limit = policyLimit
		}
	}
	return limit, nil
}

// limitByPolicies applies the policies to one limit. note says which policy has set the limit, for the
// message of a run that ends at the limit.
func limitByPolicies[T int | int64](
	policies []*consent.Policy, name string, given, usual T, of func(consent.Limits) T, text func(T) string,
) (limit T, note string, err error) {
	limit = given
	var by *consent.Policy
	for _, p := range policies {
		most := of(p.Limits)
		switch {
		case most > 0 && given == NoLimit:
			return given, "", p.Refusal("limits."+name, "without a limit is more than %s", text(most))
		case most > 0 && given > most:
			return given, "", p.Refusal("limits."+name, "%s is more than %s", text(given), text(most))
		}
		if said := of(p.Defaults); given == 0 && said > 0 && (by == nil || said < limit) {
			limit, by = said, p
		}
	}
	if given != 0 {
		return given, "", nil
	}
	for _, p := range policies {
		now := limit
		if by == nil {
			now = usual
		}
		if most := of(p.Limits); most > 0 && most < now {
			limit, by = most, p
		}
	}
	if by != nil {
		note = policyNote(by)
	}
	return limit, note, nil
}

// policyNote returns the note in the message of a run that ends at a limit set by a policy.
func policyNote(p *consent.Policy) string { return ", set by policy " + p.File }

// runStart describes a run for the audit log, before the run begins.
type runStart struct {
	verb         string
	namespaces   []string // or patterns; none means all
	planID       string
	approvedHash string
}

// beginAudited wraps the runner: every command that changes something is checked against the policies and
// written to the audit log. It first writes the start of the run; ended writes the end of the run.
// The error says that the audit log can't be written.
func (c Cluster) beginAudited(ctx context.Context, o runStart) (
	begun Cluster, ended func(stopped string, err error) error, err error) {
	if len(c.Policies) > 0 {
		c.ChangeRunner = allowedRunner{c.runner(), c.Policies}
	}
	destinations := c.AuditDestinations()
	if len(destinations) == 0 {
		return c, func(_ string, err error) error { return err }, nil
	}
	a, err := startAuditLog(ctx, c, destinations, o)
	if err != nil {
		return c, nil, err
	}
	c.ChangeRunner = auditedRunner{c.runner(), a}
	return c, a.endFunc(ctx, o.namespaces), nil
}

// allowedRunner refuses commands about collections that a policy does not permit. A new plan of a run
// may contain other collections than the first plan.
type allowedRunner struct {
	live.CommandRunner
	policies []*consent.Policy
}

// RunCommand sends a command if it is permitted, or if it restores settings that the run has switched
// off.
func (r allowedRunner) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	if len(command) > 0 && !live.IsReadCommand(command[0].Key) && !isRestoring(command) {
		var errs []error
		names := databasesAsPatterns(command[0].Key, namespacesOf(database, command))
		for _, p := range r.policies {
			errs = append(errs, p.CheckNamespaces(names))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
	}
	return r.CommandRunner.RunCommand(ctx, database, command)
}
