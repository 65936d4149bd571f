package action

import (
	"context"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// DefaultCheckEvery is the default interval of a check with Wait.
const DefaultCheckEvery = 5 * time.Second

// Check checks the health of a cluster by the rules of a policy.
type Check struct {
	Policy *check.Policy
	// Address is the address of the cluster in the report.
	Address string
	// AdvisoriesFile is a file that adds known server faults or mutes some.
	AdvisoriesFile string
	// ReadCounts reads the numbers of shards and collections even if no rule needs them.
	ReadCounts bool
	// Wait is how long the check is repeated until all rules pass; zero checks once.
	Wait time.Duration
	// Every is the interval of repeated checks, with Wait; zero means DefaultCheckEvery.
	Every time.Duration
	// DescribeError converts an error that prevents the check into a failure of a rule. If it returns
	// false, the check ends with the error. Nil converts all errors by their text.
	DescribeError func(error) (check.ReadFailure, bool)
}

// Opener opens the cluster or snapshot to be checked. It is called before each check, until all rules
// pass.
type Opener func(ctx context.Context) (Source, error)

// Validate refuses options that do not make sense together.
func (c Check) Validate() error {
	if c.Every != 0 && c.Wait == 0 {
		return refuse("{every} needs {wait}")
	}
	_, err := LoadAdvisories(c.AdvisoriesFile)
	return err
}

// Run checks the cluster once, or until all rules pass if Wait is set. Errors that prevent the check
// are part of the report.
func (c Check) Run(ctx context.Context, open Opener, r Reporter) (check.Report, error) {
	if err := c.Validate(); err != nil {
		return check.Report{}, err
	}
	if c.Every == 0 {
		c.Every = DefaultCheckEvery
	}
	reporter := &serialReporter{next: r}
	began := time.Time{}
	for {
		report, clock, err := c.checkOnce(ctx, open, reporter)
		if err != nil || c.Wait == 0 || report.Status() == check.Passed || clock == nil || ctx.Err() != nil {
			return report, err
		}
		if began.IsZero() {
			began = clock.Now()
		}
		left := c.Wait - clock.Now().Sub(began)
		if left <= 0 {
			return report, nil
		}
		reporter.Report(CheckFailed{report, left})
		_ = clock.Sleep(ctx, min(left, c.Every)) // the next iteration detects the end of ctx
	}
}

// checkOnce checks the cluster once. It returns the clock of the cluster.
func (c Check) checkOnce(ctx context.Context, open Opener, r *serialReporter) (check.Report, apply.Clock, error) {
	source, err := open(ctx)
	var cluster check.Cluster
	if err == nil {
		source.report = r
		cluster, err = c.read(ctx, source)
	}
	if err == nil {
		err = c.Policy.CheckNamespaces(cluster.Snapshot)
	}
	if err != nil {
		report, err := c.failureReport(err)
		return report, source.Clock, err
	}
	if c.Policy.Needs().Has(check.AdvisoryData) {
		list, err := LoadAdvisories(c.AdvisoriesFile)
		if err != nil {
			return check.Report{}, source.Clock, err
		}
		cluster.Advisories = &list
	}
	cluster.OnProgress = r.newSimWatch(ctx)
	return c.Policy.Check(c.Address, cluster), source.Clock, nil
}

// failureReport returns the report for a cluster that can't be checked because of err, or the error if
// err is to end the check.
func (c Check) failureReport(err error) (check.Report, error) {
	if c.DescribeError == nil {
		return check.Report{Address: c.Address, Failure: check.ReadFailure{Name: "Error", Message: err.Error()}}, nil
	}
	trouble, described := c.DescribeError(err)
	if !described {
		return check.Report{Address: c.Address}, err
	}
	return check.Report{Address: c.Address, Failure: trouble}, nil
}

// read reads the data of the cluster that the rules need.
func (c Check) read(ctx context.Context, source Source) (cluster check.Cluster, err error) {
	if source.Snapshot != nil {
		return check.Cluster{
			Diagnosis: diagnosis.Diagnose(source.Snapshot), MetadataUnsupported: "the file does not record it",
		}, nil
	}
	needs := c.needs()
	s, err := c.snapshot(ctx, source, needs)
	if err != nil {
		return cluster, err
	}
	cluster.Diagnosis = diagnosis.Diagnose(s)
	if needs.Has(check.Metadata) {
		err = checkMetadata(ctx, live.NewCommandRunner(source.Client), &cluster)
	}
	if err == nil && needs.Has(check.Audits) {
		err = auditSampleDocuments(ctx, source, &cluster)
	}
	return cluster, err
}
