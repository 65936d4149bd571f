package action

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"shardsh/balancer/apply"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// RunVerifyOptions are the options for comparing the documents of the collections that a run moves: those
// before the first step with those after the end of the run, whatever the outcome.
type RunVerifyOptions struct {
	Verify bool
	// VerifyBytesPerSecond is the maximum number of bytes read per second; zero means no limit.
	VerifyBytesPerSecond int64
}

func (p RunVerifyOptions) validate() error {
	if p.VerifyBytesPerSecond < 0 {
		return refuse("{verify} can't be negative: %d", p.VerifyBytesPerSecond)
	}
	return nil
}

// digestSuffix is the suffix of a run's digest file, which is created beside the journal.
const digestSuffix = ".digest"

// runVerification is a run whose documents are compared.
type runVerification struct {
	Cluster
	report  *serialReporter
	work    *apply.Execution
	options Verify // options of the comparison
}

// startVerification makes the digest of the collections that a run moves, or takes the digest of the run that
// is resumed. It returns nil if nothing is to be compared. It takes as long as reading all documents.
func (p planRun) startVerification(
	ctx context.Context, c Cluster, work *apply.Execution, r *serialReporter,
) (*runVerification, error) {
	verb := Verify{MaxRereads: DefaultMaxRereads, RereadPause: DefaultRereadPause,
		MaxBytesPerSecond: p.VerifyBytesPerSecond, Window: p.Window}
	proof := &runVerification{Cluster: c, report: r, work: work}
	if path := work.Path(); path != "" && !strings.HasPrefix(path, live.JobPrefix) {
		verb.Output = path + digestSuffix
		if work.Plan.Goal.Kind == plan.Undo { // an undo has the journal of the original run
			verb.Output = path + ".undo" + digestSuffix
		}
	}
	if verb.Output != "" && fileExists(verb.Output) {
		if work.IsResumed() {
			verb.Output, verb.BaselineFile = "", verb.Output
			proof.options = verb
			r.note(fmt.Sprintf("At the end the documents are compared with %s.", verb.BaselineFile))
			return proof, nil
		}
		if err := os.Remove(verb.Output); err != nil { // of another journal with the same name
			return nil, err
		}
	}
	begun := verb.Output != "" && fileExists(verb.progressFile())
	if begun && !work.IsResumed() {
		if err := os.Remove(verb.progressFile()); err != nil { // of another journal, too
			return nil, err
		}
	}
	if !p.Verify && !(begun && work.IsResumed()) {
		return nil, nil //nolint:nilnil // nobody has asked for it
	}
	var err error
	if verb.Namespaces, err = p.movedNamespaces(ctx, work); err != nil {
		return nil, fmt.Errorf("determining the collections to verify: %w", err)
	}
	if len(verb.Namespaces) == 0 {
		return nil, nil //nolint:nilnil // nothing moves
	}
	if work.IsResumed() && !begun {
		r.note("Some steps were done before: the documents are compared from now on.")
	}
	r.note(fmt.Sprintf("Before the first step the documents of %s are read, to compare them at the end.",
		humanize.AbbreviateCollections(verb.Namespaces)))
	result, err := verb.Run(ctx, c, r)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the documents to verify, before the first step: %w", err)
	case result.Stopped != "":
		return nil, fmt.Errorf("reading the documents to verify, before the first step, was stopped: %s", result.Stopped)
	}
	if verb.BaselineFile = verb.Output; verb.Output == "" {
		verb.BaselineDigest = result.DigestText
	}
	verb.Output, verb.Namespaces = "", nil
	proof.options = verb
	return proof, nil
}

// movedNamespaces returns the collections whose documents a run moves.
func (p planRun) movedNamespaces(ctx context.Context, work *apply.Execution) ([]string, error) {
	names := changedNamespaces(work.Plan)
	if p.otherMovedNamespaces != nil {
		more, err := p.otherMovedNamespaces(ctx)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// compare reads the documents again, and returns whether they are unchanged. It returns nil if the run
// was interrupted, or if there is a baseline file and no step was executed.
func (p *runVerification) compare(ctx context.Context) (*VerifyResult, error) {
	if p.options.BaselineFile != "" && !p.work.HasRecords() {
		return nil, os.Remove(p.options.BaselineFile)
	}
	later := "the documents are not compared"
	if p.options.BaselineFile != "" {
		later += "; to do so: shardsh verify --against " + p.options.BaselineFile
	}
	select {
	case <-ctx.Done():
		p.report.note("The run was interrupted: " + later + ".")
		return nil, nil //nolint:nilnil // the run says why it ended
	default:
	}
	p.report.note("The run has ended: the documents are read again.")
	result, err := p.options.Run(ctx, p.Cluster, p.report)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", later, err)
	case result.Stopped != "":
		return nil, fmt.Errorf("%s: stopped: %s", later, result.Stopped)
	}
	return &result, nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
