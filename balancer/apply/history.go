package apply

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
)

// History is the parsed content of a journal.
type History struct {
	// Cluster is the one that it is of.
	Cluster bson.ObjectID
	// chapters are the plans, one after another; the last one is under way.
	chapters []chapter
	// paused are the collections whose balancing is off because of it.
	paused []string
	// marked is the shard that it has marked as draining; removed tells that it is gone.
	marked     catalog.ShardID
	removed    bool
	lastStepAt time.Time // the last record of a step
	path       string
	size       int64 // bytes without a last line that was not written whole
}

// chapter is one plan of a journal.
type chapter struct {
	plan         *plan.Plan
	startedSteps []startedStep
	done         map[int]bool // numbers of steps
	finished     bool
}

// startedStep is a step that was, or may have been, carried out.
type startedStep struct {
	step        plan.Step
	priorChunks []priorChunk
	span        plan.Range    // what it is about, where only the cluster could say that
	cuts        []catalog.Key // besides those of the step
	moved       []Moved
	done        bool
}

// Plan returns the journal's current (last) plan.
func (h *History) Plan() *plan.Plan { return h.lastChapter().plan }

// Finished reports whether that plan was carried out to its end.
func (h *History) Finished() bool { return h.lastChapter().finished }

// StepsDone returns how many of its steps are done.
func (h *History) StepsDone() int { return len(h.lastChapter().done) }

// Paused returns the collections whose balancing is still switched off.
func (h *History) Paused() []string { return slices.Clone(h.paused) }

// KeepPaused forgets the paused collections that are not among those of a list: somebody
// has enabled their balancing again since.
func (h *History) KeepPaused(list []string) {
	h.paused = slices.DeleteFunc(h.paused, func(ns string) bool { return !slices.Contains(list, ns) })
}

// Moved returns what the plans of the journal have moved; last includes the last plan.
func (h *History) Moved(last bool) (moves int, sum Moved) {
	chapters := h.chapters
	if !last {
		chapters = chapters[:len(chapters)-1]
	}
	for _, c := range chapters {
		for _, b := range c.startedSteps {
			switch {
			case b.step.Kind != plan.Move:
			case len(b.moved) == 0 && b.done:
				moves, sum.Bytes, sum.Documents = moves+1, sum.Bytes+b.step.Bytes, sum.Documents+b.step.Documents
			}
			for _, m := range b.moved {
				moves, sum.Bytes, sum.Documents = moves+1, sum.Bytes+m.Bytes, sum.Documents+m.Documents
			}
		}
	}
	return moves, sum
}

// LastStepTime returns when a step was last written about; zero before the first one.
func (h *History) LastStepTime() time.Time { return h.lastStepAt }

// HasBegun reports whether a step of the last plan has begun.
func (h *History) HasBegun() bool { return len(h.lastChapter().startedSteps) > 0 }

// UnfinishedSteps returns the steps of the last plan that have begun and are not known to be done.
func (h *History) UnfinishedSteps() (steps []plan.Step) {
	for _, b := range h.lastChapter().startedSteps {
		if !b.done {
			steps = append(steps, b.step)
		}
	}
	return steps
}

func (h *History) lastChapter() *chapter { return &h.chapters[len(h.chapters)-1] }

// ErrNoJournal says that a file is not the journal of a run.
var ErrNoJournal = errors.New("not a journal of shardsh apply")

// errNothingStarted is of a journal whose first line was not written whole.
var errNothingStarted = fmt.Errorf("%w: it ends before its plan; nothing had begun: apply the plan "+
	"with this journal", ErrNoJournal)

// ReadJournal reads a journal. A last line that was not written whole is left
// out: what it was about to say had not begun.
func ReadJournal(from io.Reader) (*History, error) {
	h := &History{}
	lines := bufio.NewReaderSize(from, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil { // torn, or nothing
			break
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			if number > 1 && bytes.IndexByte(line, '{') != 0 {
				err = errors.New("it was overwritten, or another program wrote it")
			}
			return nil, fmt.Errorf("%w: line %d: %w", ErrNoJournal, number, err)
		}
		if err := h.addRecord(r); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		h.size += int64(len(line))
	}
	if len(h.chapters) == 0 {
		return nil, errNothingStarted
	}
	return h, nil
}

// addRecord applies one record.
func (h *History) addRecord(r Record) error {
	if r.What == recordPlan {
		return h.beginChapter(r)
	}
	if len(h.chapters) == 0 {
		return fmt.Errorf("%w: it does not begin with a plan", ErrNoJournal)
	}
	c := h.lastChapter()
	if r.Step != 0 {
		h.lastStepAt = r.At
	}
	switch r.What {
	case recordBegan:
		i := slices.IndexFunc(c.plan.Steps, func(s plan.Step) bool { return s.Number == r.Step })
		if i < 0 {
			return fmt.Errorf("%w: its plan has no step %d", ErrNoJournal, r.Step)
		}
		// A step that was begun twice has its first layout to go back to.
		if !slices.ContainsFunc(c.startedSteps, func(b startedStep) bool { return b.step.Number == r.Step }) {
			c.startedSteps = append(c.startedSteps, startedStep{
				step: c.plan.Steps[i], priorChunks: r.Before, span: plan.Range{Min: r.Min, Max: r.Max},
			})
		}
	case recordCut:
		for i, b := range c.startedSteps {
			if b.step.Number == r.Step {
				c.startedSteps[i].cuts = append(b.cuts, r.Points...)
			}
		}
	case recordMoved:
		for i, b := range c.startedSteps {
			if b.step.Number == r.Step {
				c.startedSteps[i].moved = append(b.moved, Moved{r.Min, r.Max, r.Documents, r.Bytes, true})
			}
		}
	case recordEnded:
		c.done[r.Step] = true
		for i, b := range c.startedSteps {
			c.startedSteps[i].done = b.done || b.step.Number == r.Step
		}
	case recordPausing:
		if !slices.Contains(h.paused, r.Namespace) {
			h.paused = append(h.paused, r.Namespace)
		}
	case recordResumed:
		h.paused = slices.DeleteFunc(h.paused, func(ns string) bool { return ns == r.Namespace })
	case RecordMarked:
		h.marked = r.Shard
	case RecordUnmarked:
		h.marked = ""
	case RecordRemoved:
		h.removed = true
	case recordFinished:
		c.finished = true
	case recordFailed, recordStopped, recordStays: // for people
	default:
		return fmt.Errorf("%w: unknown entry %q", ErrNoJournal, r.What)
	}
	return nil
}

func (h *History) beginChapter(r Record) error {
	p, err := plan.Read(bytes.NewReader(r.Plan))
	if err != nil {
		return fmt.Errorf("%w: its plan: %w", ErrNoJournal, err)
	}
	if len(h.chapters) == 0 {
		h.Cluster = r.Cluster
	}
	h.chapters = append(h.chapters, chapter{plan: p, done: map[int]bool{}})
	return nil
}
