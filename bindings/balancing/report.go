package balancing

import (
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
	"shardsh/balancer/runner"
	"shardsh/bindings/plaintext"
)

// Report is how a run ended: the last document of its JSON, and what sh.balance
// returns.
type Report struct {
	Event   string `json:"event"` // "result"
	Reached bool   `json:"reached"`
	// Stopped says why the run ended early without a mistake, Error with one.
	Stopped    string   `json:"stopped,omitzero"`
	Error      string   `json:"error,omitzero"`
	Namespaces []string `json:"namespaces"`
	Moves      int      `json:"moves"`
	Bytes      int64    `json:"bytes"`
	Failed     int      `json:"failed"`
	Splits     int      `json:"splits"`
	Rounds     int      `json:"rounds"`
	Left       []Left   `json:"left"`
	MS         int64    `json:"millis"`
}

// Left is something that stays as it is, and why.
type Left struct {
	Code      policy.Code `json:"code"`
	Namespace string      `json:"ns,omitzero"`
	Text      string      `json:"text"`
}

// ReportOf puts together how a run ended.
func ReportOf(r runner.Result, err error) Report {
	report := Report{
		Event: "result", Reached: r.Reached && err == nil, Stopped: r.Stopped, Namespaces: r.Namespaces,
		Moves: r.Done.Moves, Bytes: r.Done.Bytes, Failed: r.Failed, Splits: r.Splits, Rounds: r.Rounds, Left: []Left{},
		MS: r.Ended.Sub(r.Began).Milliseconds(),
	}
	if report.Namespaces == nil {
		report.Namespaces = []string{}
	}
	for _, left := range r.Left {
		report.Left = append(report.Left, Left(left))
	}
	if err != nil {
		report.Error = err.Error()
	}
	return report
}

// Text is the report in lines.
func (r Report) Text() string {
	how := "Balanced"
	switch {
	case r.Stopped != "":
		how = "Stopped: " + r.Stopped
	case !r.Reached:
		how = "Not balanced"
	case len(r.Left) > 0:
		how = "Nothing more can be moved"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; %s, %s in %s", how, counted(r.Moves, "move"), size(r.Bytes),
		humanize.Duration((time.Duration(r.MS) * time.Millisecond).Truncate(time.Second)))
	if r.Failed > 0 {
		fmt.Fprintf(&text, ", %d failed", r.Failed)
	}
	text.WriteString(".")
	for _, left := range r.Left {
		fmt.Fprintf(&text, "\nLeft: %s", left.Text)
		if remedy := left.Code.Info().Remedy; remedy != "" && remedy != "Nothing." && left.Code != policy.JumboFlag {
			fmt.Fprintf(&text, " %s", remedy)
		}
	}
	return text.String()
}

func size(bytes int64) string { return plaintext.SizeText(float64(bytes)) }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Moment is an event as a document of JSON.
type Moment struct {
	Event     runner.Kind     `json:"event"`
	At        time.Time       `json:"at"`
	Number    int             `json:"number,omitzero"`
	Namespace string          `json:"ns,omitzero"`
	Min       *catalog.Key    `json:"min,omitempty"`
	Max       *catalog.Key    `json:"max,omitempty"`
	From      catalog.ShardID `json:"from,omitzero"`
	To        catalog.ShardID `json:"to,omitzero"`
	Reason    policy.Reason   `json:"reason,omitzero"`
	Bytes     int64           `json:"bytes,omitzero"`
	MS        int64           `json:"millis,omitzero"`
	Points    int             `json:"points,omitzero"`
	Why       string          `json:"why,omitzero"`
	Error     string          `json:"error,omitzero"`
	Then      string          `json:"then,omitzero"`
	Moves     int             `json:"moves"` // so far
	Moved     int64           `json:"movedBytes"`
}

// MomentOf makes a document of an event.
func MomentOf(e runner.Event) Moment {
	m := Moment{
		Event: e.Kind, At: e.At.UTC(), Number: e.Move.Number, Namespace: e.Namespace, From: e.Move.From, To: e.Move.To,
		Reason: e.Move.Reason, Bytes: e.Move.Bytes, MS: e.Move.Took.Milliseconds(), Points: e.Points, Why: e.Why,
		Moves: e.Done.Moves, Moved: e.Done.Bytes,
	}
	lower := e.Min
	if e.Move.Number > 0 {
		m.Namespace, lower = e.Move.Namespace, e.Move.Min
	}
	if !lower.IsZero() {
		m.Min = &lower
	}
	if upper := e.Move.Max; !upper.IsZero() {
		m.Max = &upper
	}
	if e.Kind == runner.Waiting {
		m.MS = e.For.Milliseconds()
	}
	if e.Err != nil {
		m.Error = e.Err.Error()
	}
	if e.Kind == runner.Failed {
		m.Then = e.Then.String()
	}
	return m
}
