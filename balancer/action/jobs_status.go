package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"shardsh/balancer/apply"
	"shardsh/balancer/consent"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
	"shardsh/balancer/preflight"
)

// statusOf returns the state of a job, with the next command for the user.
func (c Cluster) statusOf(job *live.Job) JobStatus {
	o := optionsOf(job)
	s := JobStatus{
		Job: job.ID, Verb: job.Verb, State: job.State, Progress: job.Progress, BlockedBy: job.BlockedBy, Error: job.Error,
		Options: json.RawMessage(job.Options), Created: job.Created, Updated: job.Updated, NextSteps: []string{},
	}
	if s.BlockedBy == nil {
		s.BlockedBy = []live.JobBlock{}
	}
	if job.Cancel && !job.State.Ended() {
		s.NextSteps = append(s.NextSteps, c.jobCommandLine(o, "cancel"))
		return s
	}
	switch job.State {
	case live.JobDone:
	case live.JobCancelled:
		s.NextSteps = append(s.NextSteps, c.jobCommandLine(o, "start")+" --replace")
	default:
		s.NextSteps = append(s.NextSteps, c.jobCommandLine(o, "start"), c.jobCommandLine(o, "cancel"))
	}
	acted := job.Progress.StepsDone > 0 || job.Progress.MovesDone > 0
	if job.State.Ended() && acted && (job.State == live.JobCancelled || !o.Remove) {
		s.NextSteps = append(s.NextSteps, c.commandLine("shardsh apply", "--undo "+shellQuote(live.JobPrefix+job.ID)))
	}
	return s
}

// setOutcome sets the state of the job from the result of the work. It reports whether the state is to
// be saved.
func (j *jobCall) setOutcome(r apply.Result, err error) (save bool, _ error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	job := j.job
	job.BlockedBy, job.Error = nil, ""
	over, limited := errors.AsType[*pace.RunOverError](err)
	switch {
	case errors.Is(err, live.ErrJobTaken), errors.Is(err, live.ErrLeaseLost):
		job.State = live.JobRunning
		return false, nil
	case errors.Is(err, errCancelled):
		return true, nil
	case errors.As(err, new(*earlierMoveError)):
		job.State = live.JobRunning
		job.BlockedBy = []live.JobBlock{{
			What: "move", Text: err.Error(), Remedy: "wait: the next call continues when the move has ended",
		}}
	case errors.As(err, new(*goalReachedError)), err == nil && r.Finished:
		job.State = live.JobDone
	case errors.Is(err, errCallTimeOver), errors.Is(err, context.Canceled):
		job.State = live.JobRunning
		if j.waitEvent != nil {
			job.State = live.JobWaiting
			job.BlockedBy = []live.JobBlock{{What: string(j.waitEvent.Reason), Text: j.waitEvent.Text, Remedy: "wait"}}
		}
	case limited:
		job.State, job.BlockedBy = live.JobBlocked, []live.JobBlock{limitBlock(over.Why, over.FromPolicy)}
	case err == nil:
		job.State, job.BlockedBy = live.JobBlocked, []live.JobBlock{limitBlock(cmp.Or(r.Stopped, "stopped"), r.LimitIsFixed)}
	default:
		if errors.As(err, new(*mongoerr.UnansweredError)) {
			return false, &NoAnswerError{err}
		}
		var inTheWay *preflight.Error
		if errors.As(err, &inTheWay) {
			job.State, job.BlockedBy = live.JobBlocked, jobBlocks(inTheWay.Report)
			break
		}
		if block, known := blockOf(err); known {
			job.State, job.BlockedBy = live.JobBlocked, []live.JobBlock{block}
		} else {
			job.State, job.Error = live.JobFailed, err.Error()
		}
	}
	return true, nil
}

// jobBlocks returns the obstacles that the preflight has found.
func jobBlocks(report preflight.Report) (list []live.JobBlock) {
	for _, o := range report.StoppingObstacles() {
		remedy := strings.Join(o.Commands, "; ")
		if o.Option != "" {
			remedy = strings.TrimPrefix(remedy+"; "+SpellAsFlag(o.Option)+" "+o.OptionEffect, "; ")
		}
		list = append(list, live.JobBlock{What: string(o.Code), Text: o.Sentence, Remedy: remedy})
	}
	return list
}

// goalMissedError says what prevents the goal although all steps are done.
type goalMissedError struct{ error }

func (e *goalMissedError) Unwrap() error { return e.error }

// limitBlock returns the obstacle of a reached limit, with a remedy. A fixed limit is set by a policy.
func limitBlock(why string, fixed bool) live.JobBlock {
	remedy := "start it with a higher limit and --replace, or cancel it"
	if fixed {
		remedy = "cancel it, and start it again with --replace: the new run has its own limits"
	}
	return live.JobBlock{What: "limit", Text: why, Remedy: remedy}
}

// blockOf returns the obstacle that an error describes, with a remedy. It returns false for errors that
// a user can't resolve.
func blockOf(err error) (live.JobBlock, bool) {
	var (
		blocked  *apply.BlockedError
		balancer *apply.BalancerConflictError
		stays    *apply.SkippedStepsError
		changed  *apply.ChangedError
		step     *apply.StepError
		left     *unshardedLeftError
		refused  *consent.RefusedError
		ask      *pace.OperatorNeededError
		goal     *goalMissedError
		members  *live.MembersError
	)
	switch {
	case errors.As(err, &blocked):
		return live.JobBlock{What: "cluster", Text: blocked.What, Remedy: blocked.Remedy}, true
	case errors.As(err, &balancer):
		return live.JobBlock{What: "balancer", Text: balancer.Summary(),
			Remedy: strings.TrimPrefix(balancer.SpellOptions(SpellAsFlag), balancer.Summary()+": ")}, true
	case errors.As(err, &stays):
		return live.JobBlock{What: "jumbo", Text: stays.Error(), Remedy: "start it with --force-jumbo and --replace"}, true
	case errors.As(err, &refused):
		return live.JobBlock{What: "policy", Text: refused.Error()}, true
	case errors.As(err, &left):
		return live.JobBlock{What: "unsharded", Text: left.SpellOptions(SpellAsFlag),
			Remedy: "move it by hand, or start the job with that option and --replace"}, true
	case errors.As(err, &ask):
		return live.JobBlock{What: "failures", Text: ask.Error(), Remedy: policy.FailureInfoOf(ask.Err).Remedy}, true
	case errors.As(err, &step):
		return live.JobBlock{What: "step", Text: step.Error(), Remedy: policy.FailureInfoOf(step.Err).Remedy}, true
	case errors.As(err, &changed):
		return live.JobBlock{What: "changed", Text: changed.Error(), Remedy: "wait: the next call plans again"}, true
	case errors.As(err, &members):
		return live.JobBlock{What: "members", Text: members.Error()}, true
	case errors.As(err, &goal):
		return live.JobBlock{What: "goal", Text: goal.Error()}, true
	case mongoerr.Is(err, mongoerr.Unauthorized):
		return live.JobBlock{What: "privilege", Text: live.ShortenUnauthorized(err.Error()),
			Remedy: "give the user the role shardshEngine (scripts/roles.js)"}, true
	}
	return live.JobBlock{}, false
}
