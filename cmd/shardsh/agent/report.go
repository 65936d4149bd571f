package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/bindings/findings"
)

// progressInterval is the interval of progress notifications to an agent that requested them.
const progressInterval = time.Second

// reporter receives an action's events. Events about reads, and notes, become the sources of the answer;
// progress is sent to the agent.
type reporter struct {
	notify func(text string)
	state  *reporterState
}

type reporterState struct {
	mu       sync.Mutex
	last     time.Time
	snapshot *catalog.Snapshot
	notes    []string
}

func newReporter(ctx context.Context, r *mcp.CallToolRequest) reporter {
	report := reporter{notify: func(string) {}, state: new(reporterState)}
	token := r.Params.GetProgressToken()
	if token == nil {
		return report
	}
	told := 0.0
	report.notify = func(text string) {
		told++
		// Errors are ignored, because the answer is complete without progress notifications.
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: told, Message: text,
		})
	}
	return report
}

// Report handles an event.
func (r reporter) Report(e action.Event) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	switch e := e.(type) {
	case action.SnapshotRead:
		r.state.snapshot = e.Snapshot
	case action.Note:
		r.state.notes = append(r.state.notes, e.Text)
	case action.ReadProgress:
		r.progress(findings.ReadingText(e.Progress))
	case action.SimulationProgress:
		r.progress(findings.SimulatingText(e.Progress))
	case action.StepEvent:
		r.progress(fmt.Sprintf("%d of %d steps done", e.Progress.StepsDone, e.Progress.Steps))
	}
}

func (r reporter) progress(text string) {
	if now := time.Now(); now.Sub(r.state.last) >= progressInterval {
		r.state.last = now
		r.notify(text)
	}
}

// sources names what was read, and what could not be read.
func (r reporter) sources() []string {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.snapshot == nil {
		return r.state.notes
	}
	return append(sourcesOf(r.state.snapshot), r.state.notes...)
}

// sourcesOf names the sources of a Snapshot.
func sourcesOf(s *catalog.Snapshot) []string {
	from := s.Parts().Source
	return append([]string{describeSource(from, s.Time())}, catalog.GapTexts(from.Gaps)...)
}

// describeSource says from where and when data was read.
func describeSource(from catalog.Source, at time.Time) string {
	return fmt.Sprintf("%s %s: config database and statistics, read at %s", from.Kind, from.Name,
		at.UTC().Format(time.RFC3339))
}
