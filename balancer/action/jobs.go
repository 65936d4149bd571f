package action

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/consent"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// DefaultWorkFor is the default working time of a call of JobStart.
const DefaultWorkFor = 5 * time.Second

// JobVerb is a verb that can be a job: a Drain, a Balance or a Defragment.
type JobVerb interface {
	Validate() error
	// asJob returns the ID of the job, and its options.
	asJob() (id string, o jobOptions, err error)
}

// JobStart creates a job from a verb, unless the job exists, and works on it for a while. Several
// processes can work on a job one after the other: its whole state is stored in the cluster, and each
// call continues where the previous call ended or was killed.
type JobStart struct {
	Verb JobVerb
	// WorkFor is the time in which this call may start steps; 0 only creates the job. A step that is
	// running at the end of this time is left to the cluster. The default is DefaultWorkFor.
	WorkFor time.Duration
	// Replace changes the options of an existing job, and restarts a job that has ended.
	Replace bool
	// AbortContext cancels running operations; nil never ends.
	AbortContext context.Context
}

// JobStatus is the state of a job.
type JobStatus struct {
	Job       string           `json:"job"`
	Verb      string           `json:"verb"`
	State     live.JobState    `json:"state"`
	Progress  live.JobProgress `json:"progress"`
	BlockedBy []live.JobBlock  `json:"blocked_by"`
	NextSteps []string         `json:"next_steps"`
	Options   json.RawMessage  `json:"options,omitempty"`
	Error     string           `json:"error,omitzero"`
	// Worker is the process that currently works on the job.
	Worker  string    `json:"worker,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
}

// NeedsNoAction reports whether no user action is needed: the job is done, or continues with the next call.
func (s JobStatus) NeedsNoAction() bool {
	switch s.State {
	case live.JobNone, live.JobBlocked, live.JobFailed, live.JobCancelled:
		return false
	}
	return true
}

// NothingToCancel reports whether nothing is left to cancel.
func (s JobStatus) NothingToCancel() bool { return s.State == live.JobNone || s.State.Ended() }

// Validate refuses options that exclude each other.
func (s JobStart) Validate() error {
	if s.WorkFor < 0 {
		return refuse("{workFor} can't be negative: %s", s.WorkFor)
	}
	if err := s.Verb.Validate(); err != nil {
		return err
	}
	_, _, err := s.Verb.asJob()
	return err
}

// Run creates the job and works on it. Obstacles are part of the status. The error is for a cluster
// that does not answer, and for options that are refused.
func (s JobStart) Run(ctx context.Context, c Cluster, r Reporter) (JobStatus, error) {
	if err := s.Validate(); err != nil {
		return JobStatus{}, err
	}
	if err := c.refuseIfGuarded(ctx); err != nil {
		return JobStatus{}, err
	}
	id, opts, err := s.Verb.asJob()
	if err != nil {
		return JobStatus{}, err
	}
	if err := c.checkPermitted(consent.Request{Verb: opts.Verb, Namespaces: opts.Namespaces, All: opts.All}); err != nil {
		return JobStatus{}, err
	}
	e, err := opts.runOptions()
	if err != nil {
		return JobStatus{}, err
	}
	if _, err := c.limitPace(e.Pace); err != nil {
		return JobStatus{}, err
	}
	jobs := live.NewJobs(c.Client)
	job, err := jobs.Find(ctx, id)
	if err == nil && job == nil {
		err = live.CheckSharded(ctx, c.runner()) // nothing is written elsewhere
	}
	if err != nil {
		return JobStatus{}, &NoAnswerError{err}
	}
	if job == nil || s.Replace && job.State.Ended() {
		if err := c.checkTargetExists(ctx, opts); err != nil {
			return JobStatus{}, err
		}
	}
	if job == nil {
		if job, err = jobs.FindOrCreate(ctx, id, opts.Verb, opts.text()); err != nil {
			return JobStatus{}, &NoAnswerError{err}
		}
	}
	ended := job.State.Ended()
	switch {
	case s.Replace && (ended || job.Options != opts.text()):
		if job, err = jobs.SetOptions(ctx, job, opts.text()); err != nil {
			return JobStatus{}, &NoAnswerError{err}
		}
	case job.Options != opts.text():
		return c.statusOf(job), refuse("job %s exists with different options: %s; {replace} applies the new ones", id,
			optionsOf(job).flags())
	case ended:
		return c.statusOf(job), nil
	}
	if s.WorkFor == 0 {
		return c.statusOf(job), nil
	}
	call := &jobCall{Cluster: c, JobStart: s, jobs: jobs, job: job, jobOpts: opts, report: &serialReporter{next: r}}
	return call.run(ctx)
}

// refuseIfGuarded returns an error if the cluster has a guard, after the guard was asked: a job
// continues after the process ends.
func (c Cluster) refuseIfGuarded(ctx context.Context) error {
	if !c.SimulatesChanges {
		return nil
	}
	if err := c.sendFirstWrite(ctx); err != nil {
		return err
	}
	return refuse("a job can't be rehearsed: use {dryRun} without a job")
}

// JobQuery returns the state of a job. It changes nothing.
type JobQuery struct{ Verb JobVerb }

// Run reads the job.
func (j JobQuery) Run(ctx context.Context, c Cluster) (JobStatus, error) {
	id, opts, err := j.Verb.asJob()
	if err != nil {
		return JobStatus{}, err
	}
	job, err := live.NewJobs(c.Client).Find(ctx, id)
	if err != nil {
		return JobStatus{}, &NoAnswerError{err}
	}
	if job == nil {
		return c.noJobStatus(id, opts), nil
	}
	status := c.statusOf(job)
	holder, held, err := live.ReadEngineHolder(ctx, c.Client)
	if err == nil && held && holder.Doing == jobLeaseDescription(id) {
		status.Worker = holder.String()
	}
	return status, nil
}

func (c Cluster) noJobStatus(id string, o jobOptions) JobStatus {
	return JobStatus{
		Job: id, Verb: o.Verb, State: live.JobNone, BlockedBy: []live.JobBlock{},
		NextSteps: []string{c.jobCommandLine(o, "start")},
	}
}

// jobLeaseDescription returns the description of work on a job in the lease.
func jobLeaseDescription(id string) string { return live.JobDoingPrefix + id }

// JobCancel cancels a job: a running call stops before its next step, paused balancing and draining
// marks are restored. Ranges that were moved stay where they are.
type JobCancel struct {
	Verb JobVerb
	// MaxWait is the maximum wait for a running call.
	MaxWait      time.Duration
	AbortContext context.Context
}

// Run cancels the job. It can be repeated, and then completes the restoration.
func (j JobCancel) Run(ctx context.Context, c Cluster, r Reporter) (JobStatus, error) {
	if j.MaxWait < 0 {
		return JobStatus{}, refuse("{workFor} can't be negative: %s", j.MaxWait)
	}
	id, opts, err := j.Verb.asJob()
	if err != nil {
		return JobStatus{}, err
	}
	if err := c.refuseIfGuarded(ctx); err != nil {
		return JobStatus{}, err
	}
	jobs := live.NewJobs(c.Client)
	job, err := jobs.Find(ctx, id)
	switch {
	case err != nil:
		return JobStatus{}, &NoAnswerError{err}
	case job == nil:
		return c.noJobStatus(id, opts), nil
	case job.State.Ended():
		return c.statusOf(job), nil
	}
	if job, err = jobs.Cancel(ctx, job); err != nil {
		return JobStatus{}, &NoAnswerError{err}
	}
	call := &jobCall{
		Cluster: c, JobStart: JobStart{Verb: j.Verb, WorkFor: j.MaxWait, AbortContext: j.AbortContext}, jobs: jobs, job: job,
		jobOpts: optionsOf(job), report: &serialReporter{next: r},
	}
	return call.run(ctx)
}

// prepareJobUndo prepares the undo of a job that has ended. With resumed, it only continues an undo that was
// begun.
func (c Cluster) prepareJobUndo(ctx context.Context, id string, resumed bool) (*apply.Execution, error) {
	jobs := live.NewJobs(c.Client)
	job, err := jobs.Find(ctx, id)
	switch {
	case err != nil:
		return nil, &NoAnswerError{err}
	case job == nil:
		return nil, fmt.Errorf("there is no job %s", id)
	case !job.State.Ended():
		return nil, fmt.Errorf("the job %s is %s: cancel it before it is undone (%s)", id, job.State,
			c.jobCommandLine(optionsOf(job), "cancel"))
	}
	journal, h, err := jobs.OpenJournal(ctx, job)
	if err != nil {
		return nil, &NoAnswerError{err}
	}
	if h == nil {
		return nil, fmt.Errorf("the job %s: %w", id, apply.ErrNothingToUndo)
	}
	work := apply.ResumeInStore(h, journal)
	if resumed && work.Plan.Goal.Kind != plan.Undo {
		return nil, fmt.Errorf("no undo of job %s was started; to continue the job: %s", id,
			c.jobCommandLine(optionsOf(job), "start")+" --replace")
	}
	return work, work.SwitchToUndo()
}
