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

// betweenProgress is how often an agent that asked for it is told how far a call is.
const betweenProgress = time.Second

// report hears what an action does: what it read and noted goes into the sources of the
// answer, how far it is to the agent.
type report struct {
	tell  func(text string)
	heard *heard
}

type heard struct {
	mu    sync.Mutex
	last  time.Time
	read  *catalog.Snapshot
	notes []string
}

func newReport(ctx context.Context, r *mcp.CallToolRequest) report {
	report := report{tell: func(string) {}, heard: new(heard)}
	token := r.Params.GetProgressToken()
	if token == nil {
		return report
	}
	told := 0.0
	report.tell = func(text string) {
		told++
		// An agent that does not listen misses nothing that the answer does not have.
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: told, Message: text,
		})
	}
	return report
}

// Report takes an event.
func (r report) Report(e action.Event) {
	r.heard.mu.Lock()
	defer r.heard.mu.Unlock()
	switch e := e.(type) {
	case action.SnapshotRead:
		r.heard.read = e.Snapshot
	case action.Note:
		r.heard.notes = append(r.heard.notes, e.Text)
	case action.ReadProgress:
		r.progress(findings.ReadingText(e.Progress))
	case action.SimulationProgress:
		r.progress(findings.SimulatingText(e.Progress))
	case action.Step:
		r.progress(fmt.Sprintf("%d of %d steps done", e.Progress.StepsDone, e.Progress.Steps))
	}
}

func (r report) progress(text string) {
	if now := time.Now(); now.Sub(r.heard.last) >= betweenProgress {
		r.heard.last = now
		r.tell(text)
	}
}

// sources says what was read, and what could not be.
func (r report) sources() []string {
	r.heard.mu.Lock()
	defer r.heard.mu.Unlock()
	if r.heard.read == nil {
		return r.heard.notes
	}
	return append(sourcesOf(r.heard.read), r.heard.notes...)
}

// sourcesOf says where a Snapshot comes from.
func sourcesOf(s *catalog.Snapshot) []string {
	from := s.Parts().Source
	return append([]string{placeOf(from, s.Time())}, catalog.GapTexts(from.Gaps)...)
}

// placeOf says where something was read, and when.
func placeOf(from catalog.Source, at time.Time) string {
	return fmt.Sprintf("%s %s: config database and statistics, read at %s", from.Kind, from.Name,
		at.UTC().Format(time.RFC3339))
}
