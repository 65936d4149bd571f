package action

import (
	"context"
	"time"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// DefaultEvery is how often a check looks again that waits, unless set otherwise.
const DefaultEvery = 5 * time.Second

// Check says whether a cluster is well, by the rules of a policy.
type Check struct {
	Policy *check.Policy
	// Address names the cluster in the report.
	Address string
	// Numbers has the numbers of shards and collections read, whether or not a rule
	// needs them.
	Numbers bool
	// Wait is how long to check again until all is well; zero checks once.
	Wait time.Duration
	// Every is how often, with Wait; zero is DefaultEvery.
	Every time.Duration
	// Trouble describes an error that keeps the cluster from being checked. False
	// ends the check with the error. Nil describes all by their text.
	Trouble func(error) (check.Trouble, bool)
}

// Opener opens what is to be checked. It is called for each look, until all is well.
type Opener func(ctx context.Context) (Source, error)

// Validate refuses options that make no sense together.
func (c Check) Validate() error {
	if c.Every != 0 && c.Wait == 0 {
		return refuse("{every} needs {wait}")
	}
	return nil
}

// Run checks the cluster, until all is well where that is waited for. What keeps the
// cluster from being checked is part of the report.
func (c Check) Run(ctx context.Context, open Opener, r Reporter) (check.Report, error) {
	if err := c.Validate(); err != nil {
		return check.Report{}, err
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	reporter := &serial{next: r}
	began := time.Time{}
	for {
		source, err := open(ctx)
		var report check.Report
		if err == nil {
			report, err = c.once(ctx, source, reporter)
		}
		if err != nil {
			described := false
			if report, described = c.trouble(err); !described {
				return report, err
			}
		}
		if c.Wait == 0 || report.Status() == check.Passed || source.Clock == nil || ctx.Err() != nil {
			return report, nil
		}
		if began.IsZero() {
			began = source.Clock.Now()
		}
		left := c.Wait - source.Clock.Now().Sub(began)
		if left <= 0 {
			return report, nil
		}
		reporter.Report(Unwell{report, left})
		_ = source.Clock.Sleep(ctx, min(left, c.Every)) // the next look finds out that it is to end
	}
}

func (c Check) trouble(err error) (report check.Report, described bool) {
	report.Address, report.Trouble, described = c.Address, check.Trouble{Name: "Error", Message: err.Error()}, true
	if c.Trouble != nil {
		report.Trouble, described = c.Trouble(err)
	}
	return report, described
}

// once looks at the cluster once.
func (c Check) once(ctx context.Context, source Source, r *serial) (check.Report, error) {
	cluster, err := c.read(ctx, source)
	if err != nil {
		return check.Report{}, err
	}
	cluster.Watch = r.watch(ctx)
	return c.Policy.Report(c.Address, cluster), nil
}

// read reads what the rules need of the cluster.
func (c Check) read(ctx context.Context, source Source) (cluster check.Cluster, err error) {
	if source.Snapshot != nil {
		return check.Cluster{
			Diagnosis: diagnosis.Of(source.Snapshot), Unasked: "the file does not record it",
		}, nil
	}
	needs := c.needs()
	commands := live.NewCommandRunner(source.Client)
	s, err := c.snapshot(ctx, source, commands, needs)
	if err != nil {
		return cluster, err
	}
	cluster.Diagnosis = diagnosis.Of(s)
	if needs.Has(check.Metadata) {
		err = askMetadata(ctx, commands, &cluster)
	}
	return cluster, err
}
