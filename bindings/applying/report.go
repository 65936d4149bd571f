// Package applying is what sh.apply and "shardsh apply" have in common: how the
// carrying out of a plan is told of while it runs, and at its end.
package applying

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/apply"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/server"
)

// Report is how a run ended.
type Report struct {
	Plan     string `json:"plan"`
	Finished bool   `json:"finished"`
	// A dry run has nothing done or finished: it tells whether all could be.
	DryRun   bool `json:"dryRun,omitzero"`
	Possible bool `json:"possible,omitzero"`
	// Stopped says why the run ended early without a mistake, Error with one.
	Stopped string `json:"stopped,omitzero"`
	Error   string `json:"error,omitzero"`
	// Steps are those of the plan; done ones count those of earlier runs.
	Steps     int   `json:"steps"`
	StepsDone int   `json:"stepsDone"`
	Moves     int   `json:"moves"`
	MovesDone int   `json:"movesDone"`
	Bytes     int64 `json:"bytes"`
	BytesDone int64 `json:"bytesDone"`
	// Replans is how often another plan took over.
	Replans int `json:"replans"`
	// Collections are how many chunks those of the goal had and have.
	Collections []Chunks `json:"collections,omitempty"`
	// Left is what keeps the goal from being reached, with what to do.
	Left    []string `json:"left,omitempty"`
	Journal string   `json:"journal,omitzero"`
	MS      int64    `json:"millis"`
}

// Chunks is how many chunks a collection had and has.
type Chunks struct {
	Namespace string `json:"ns"`
	Before    int64  `json:"chunksBefore"`
	After     int64  `json:"chunksAfter"`
}

// Unreached is an error that says what keeps the goal from being reached though all
// steps are done; nil when nothing does. What belongs to the end of a draining is
// told by that.
func Unreached(r apply.Result) error {
	var errs []error
	for _, text := range left(r) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

func left(r apply.Result) (list []string) {
	for _, f := range r.Left {
		if r.Finished && f.Code != diagnosis.Orphans && f.Code != diagnosis.DrainNeedsOperator &&
			f.Code != diagnosis.DrainComplete {
			list = append(list, f.Text())
		}
	}
	return list
}

// ReportOf puts together how a run ended.
func ReportOf(r apply.Result, err error, journal string, dryRun bool) Report {
	p := r.Progress
	report := Report{
		Plan: r.Plan.ID, Finished: r.Finished && err == nil, DryRun: dryRun,
		Possible: r.Possible && err == nil, Stopped: r.Stopped, Steps: p.Steps, StepsDone: p.StepsDone,
		Moves: p.Moves, MovesDone: p.MovesDone, Bytes: p.Bytes, BytesDone: p.BytesDone, Replans: r.Replans,
		Left: left(r), Journal: journal, MS: r.Ended.Sub(r.Began).Milliseconds(),
	}
	if err != nil {
		report.Error = err.Error()
	}
	return report
}

// Text is the report in a line.
func (r Report) Text() string {
	what := fmt.Sprintf("%d of %d steps are done, %d of %d moves, %s of %s", r.StepsDone, r.Steps, r.MovesDone, r.Moves,
		size(r.BytesDone), size(r.Bytes))
	if r.Finished {
		what = fmt.Sprintf("%s and %s moved in %s", counted(r.Steps, "step"), size(r.Bytes),
			humanize.Duration((time.Duration(r.MS) * time.Millisecond).Truncate(time.Second)))
	}
	if r.Replans > 0 {
		what += fmt.Sprintf(", after %s", counted(r.Replans, "new plan"))
	}
	switch {
	case r.Possible:
		return fmt.Sprintf("%s could be carried out: %s; nothing was sent.", r.Plan, counted(r.Steps-r.StepsDone, "step"))
	case r.DryRun && r.Stopped != "":
		return fmt.Sprintf("%s could not be carried out to its end: %s; nothing was sent.", r.Plan, r.Stopped)
	case r.Finished && r.Steps == 0:
		return "There was nothing to move, to split or to merge."
	case r.Finished:
		return fmt.Sprintf("%s is carried out: %s.", r.Plan, what)
	case r.Stopped != "":
		return fmt.Sprintf("%s was stopped: %s; %s.", r.Plan, r.Stopped, what)
	}
	return fmt.Sprintf("%s is not carried out: %s.", r.Plan, what)
}

func size(bytes int64) string { return plaintext.SizeText(float64(bytes)) }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Moment is what happens, in a line; empty for what progress shows.
func Moment(e apply.Event) string {
	switch e.Kind {
	case apply.Again:
		return fmt.Sprintf("Tried again: %s.", strings.TrimSuffix(e.Err.Error(), "."))
	case apply.Deleting:
		return fmt.Sprintf("Step %d waits until shard %s has deleted what it gave away of the range.",
			e.Step.Number, e.Step.To)
	case apply.Replanned:
		if e.Err == nil {
			return fmt.Sprintf("The goal is not reached yet: %s takes over, %s.", e.Plan.ID, counted(len(e.Plan.Steps), "step"))
		}
		return fmt.Sprintf("%s: %s takes over, %s.", e.Err, e.Plan.ID, counted(len(e.Plan.Steps), "step"))
	case apply.Paused:
		return fmt.Sprintf("The balancing of %s is off meanwhile.", e.Namespace)
	case apply.Restored:
		return fmt.Sprintf("The balancing of %s is on again.", e.Namespace)
	case apply.Waiting:
		return "Stopping after what is under way."
	case apply.Away:
		_, why := server.ConnectionError(e.Err)
		return fmt.Sprintf("The router does not answer (%s); waiting for it. A step under way may go on meanwhile: what "+
			"became of it is looked at before anything is sent again; show migrations tells, too.", why)
	}
	return ""
}
