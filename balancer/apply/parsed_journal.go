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

// ParsedJournal is the parsed content of a journal.
type ParsedJournal struct {
	// ClusterID is the ID of the journal's cluster.
	ClusterID bson.ObjectID
	// plans contains the plans in order; the last one is the current plan.
	plans []journaledPlan
	// paused are the collections whose balancing the run has switched off.
	paused []string
	// drainingShard is the shard that the run has marked as draining. shardRemoved says that the shard has
	// left the cluster.
	drainingShard catalog.ShardID
	shardRemoved  bool
	lastStepAt    time.Time // the last record of a step
	path          string
	size          int64 // bytes without an incomplete last line
}

// journaledPlan is one plan of a journal.
type journaledPlan struct {
	plan         *plan.Plan
	startedSteps []startedStep
	done         map[int]bool // by number of the step
	finished     bool
}

// startedStep is a step that was executed, at least in part, or may have been.
type startedStep struct {
	step        plan.Step
	priorChunks []priorChunk
	actualRange plan.Range    // the actual range of the step, if its bounds in the plan are estimates
	extraCuts   []catalog.Key // split points besides those of the step
	moved       []RangeAmount
	done        bool
}

// Plan returns the journal's current (last) plan.
func (h *ParsedJournal) Plan() *plan.Plan { return h.lastPlan().plan }

// Finished reports whether the last plan was executed completely.
func (h *ParsedJournal) Finished() bool { return h.lastPlan().finished }

// StepsDone returns the number of steps of the last plan that are done.
func (h *ParsedJournal) StepsDone() int { return len(h.lastPlan().done) }

// PausedCollections returns the collections whose balancing is still switched off.
func (h *ParsedJournal) PausedCollections() []string { return slices.Clone(h.paused) }

// RetainPaused removes the paused collections that are not in list, because another client has enabled
// their balancing again.
func (h *ParsedJournal) RetainPaused(list []string) {
	h.paused = slices.DeleteFunc(h.paused, func(ns string) bool { return !slices.Contains(list, ns) })
}

// MovedAmount returns the amount that the plans of the journal have moved; with includeLast
// also the last plan.
func (h *ParsedJournal) MovedAmount(includeLast bool) (moves int, sum RangeAmount) {
	chapters := h.plans
	if !includeLast {
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

// LastStepTime returns the time of the last record about a step; zero if there is none.
func (h *ParsedJournal) LastStepTime() time.Time { return h.lastStepAt }

// HasBegun reports whether a step of the last plan has begun.
func (h *ParsedJournal) HasBegun() bool { return len(h.lastPlan().startedSteps) > 0 }

// UnfinishedSteps returns the steps of the last plan that have begun and are not known to be done.
func (h *ParsedJournal) UnfinishedSteps() (steps []plan.Step) {
	for _, b := range h.lastPlan().startedSteps {
		if !b.done {
			steps = append(steps, b.step)
		}
	}
	return steps
}

func (h *ParsedJournal) lastPlan() *journaledPlan { return &h.plans[len(h.plans)-1] }

// ErrNoJournal says that a file is not the journal of a run.
var ErrNoJournal = errors.New("not a journal of shardsh apply")

// errNothingStarted is the error for a journal whose first line is incomplete.
var errNothingStarted = fmt.Errorf("%w: it ends before its plan; nothing had begun: apply the plan "+
	"with this journal", ErrNoJournal)

// ReadJournal parses a journal. It ignores an incomplete last line: the operation that the line was to
// record had not begun.
func ReadJournal(from io.Reader) (*ParsedJournal, error) {
	h := &ParsedJournal{}
	lines := bufio.NewReaderSize(from, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil { // incomplete or empty
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
	if len(h.plans) == 0 {
		return nil, errNothingStarted
	}
	return h, nil
}

// addRecord applies one record.
func (h *ParsedJournal) addRecord(r Record) error {
	if r.What == recordPlan {
		return h.addPlan(r)
	}
	if len(h.plans) == 0 {
		return fmt.Errorf("%w: it does not begin with a plan", ErrNoJournal)
	}
	c := h.lastPlan()
	if r.Step != 0 {
		h.lastStepAt = r.At
	}
	switch r.What {
	case recordBegan:
		i := slices.IndexFunc(c.plan.Steps, func(s plan.Step) bool { return s.Number == r.Step })
		if i < 0 {
			return fmt.Errorf("%w: its plan has no step %d", ErrNoJournal, r.Step)
		}
		// A step that has begun twice keeps its first layout for an undo.
		if !slices.ContainsFunc(c.startedSteps, func(b startedStep) bool { return b.step.Number == r.Step }) {
			c.startedSteps = append(c.startedSteps, startedStep{
				step: c.plan.Steps[i], priorChunks: r.Before, actualRange: plan.Range{Min: r.Min, Max: r.Max},
			})
		}
	case recordCut:
		for i, b := range c.startedSteps {
			if b.step.Number == r.Step {
				c.startedSteps[i].extraCuts = append(b.extraCuts, r.Points...)
			}
		}
	case recordMoved:
		for i, b := range c.startedSteps {
			if b.step.Number == r.Step {
				c.startedSteps[i].moved = append(b.moved, RangeAmount{r.Min, r.Max, r.Documents, r.Bytes, true})
			}
		}
	case recordEnded:
		c.done[r.Step] = true
		for i, b := range c.startedSteps {
			c.startedSteps[i].done = b.done || b.step.Number == r.Step
		}
	case recordBalancingOff:
		if !slices.Contains(h.paused, r.Namespace) {
			h.paused = append(h.paused, r.Namespace)
		}
	case recordBalancingOn:
		h.paused = slices.DeleteFunc(h.paused, func(ns string) bool { return ns == r.Namespace })
	case RecordDraining, RecordDrainStopped, RecordShardRemoved:
		h.recordShard(r.What, r.Shard)
	case recordFinished:
		c.finished = true
	case recordFailed, recordStopped, recordNeedsForce: // informational only
	default:
		return fmt.Errorf("%w: unknown entry %q", ErrNoJournal, r.What)
	}
	return nil
}

// recordShard records that a shard was marked as draining, unmarked or removed.
func (h *ParsedJournal) recordShard(what RecordKind, shard catalog.ShardID) {
	switch what {
	case RecordDraining:
		h.drainingShard = shard
	case RecordDrainStopped:
		h.drainingShard = ""
	case RecordShardRemoved:
		h.shardRemoved = true
	}
}

func (h *ParsedJournal) addPlan(r Record) error {
	p, err := plan.Read(bytes.NewReader(r.Plan))
	if err != nil {
		return fmt.Errorf("%w: its plan: %w", ErrNoJournal, err)
	}
	if len(h.plans) == 0 {
		h.ClusterID = r.Cluster
	}
	h.plans = append(h.plans, journaledPlan{plan: p, done: map[int]bool{}})
	return nil
}
