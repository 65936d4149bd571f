package forecast

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

// Latest returns the end of the range as a time on the cluster's clock.
func (f Forecast) Latest() time.Time { return f.At.Add(f.High) }

// Headline returns the forecast in one line, without a full stop.
func (f Forecast) Headline() string {
	switch {
	case f.Done:
		return f.goalText() + ": nothing to do"
	case !f.Never:
		return fmt.Sprintf("%s in %s: done by %s%s", f.goalText(), f.RangeText(), humanize.Time(f.Latest()),
			f.windowProviso())
	}
	text := f.missedText() + " as things stand"
	if f.StuckChunks > 0 {
		text += fmt.Sprintf(", %s would stay", humanize.Count(f.StuckChunks, "chunk"))
	}
	if len(f.BlockedBy) > 0 {
		text += ": " + f.BlockedBy[0].Sentence
	} else {
		text += ": the balancer's window never opens"
	}
	switch {
	case f.High == 0:
		return text
	case f.AssumesBalancerOn:
		return fmt.Sprintf("%s; if it were on, %s", text, f.RangeText())
	}
	return fmt.Sprintf("%s; what it can move takes %s", text, f.RangeText())
}

// RangeText returns the range in words: 3h20m to 5h, likely 4h.
func (f Forecast) RangeText() string {
	low, likely, high := DurationText(f.Low), DurationText(f.Likely), DurationText(f.High)
	if low == high {
		return "about " + likely
	}
	return fmt.Sprintf("%s to %s, likely %s", low, high, likely)
}

// goalText returns the goal as the state of its object: shop.orders balanced.
func (f Forecast) goalText() string {
	about, state := f.goalState()
	return strings.TrimSpace(about + " " + state)
}

// missedText returns the negated goal: shop.orders not balanced.
func (f Forecast) missedText() string {
	about, state := f.goalState()
	return strings.TrimSpace(about + " not " + state)
}

// goalState returns the object of the goal, empty for the whole cluster, and its desired state.
func (f Forecast) goalState() (about, state string) {
	const named = 3
	of := strings.Join(f.Goal.Namespaces, ", ")
	if n := len(f.Goal.Namespaces); n > named {
		of = humanize.Count(n, "collection")
	}
	switch f.Goal.Kind {
	case plan.Drain:
		if of != "" {
			of = " of " + of
		}
		return "shard " + string(f.Goal.Shard), "empty" + of
	case plan.Zones:
		return of, "in the zones"
	case plan.Defragment:
		return of, "defragmented"
	case plan.Load:
		return of, "even in load"
	}
	return of, "balanced"
}

// windowProviso returns the condition of the forecast: an unchanged balancer window.
func (f Forecast) windowProviso() string {
	if f.HasWindow {
		return ", if the balancer window does not change"
	}
	return ""
}

// MarshalJSON returns the forecast as an object, with its times in milliseconds
// and as dates, and its headline.
func (f Forecast) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Headline string              `json:"headline"`
		Goal     plan.Goal           `json:"goal"`
		At       time.Time           `json:"at"`
		Done     bool                `json:"done"`
		Never    bool                `json:"never"`
		IfOn     bool                `json:"ifSwitchedOn"`
		Low      int64               `json:"lowMS"`
		Likely   int64               `json:"likelyMS"`
		High     int64               `json:"highMS"`
		Earliest time.Time           `json:"earliest"`
		Expected time.Time           `json:"expected"`
		Latest   time.Time           `json:"latest"`
		Moves    int                 `json:"moves"`
		Bytes    int64               `json:"bytes"`
		Left     int                 `json:"left"`
		Windowed bool                `json:"windowed"`
		Because  []diagnosis.Finding `json:"because"`
		Stuck    bool                `json:"stuck"`
		InTheWay []diagnosis.Finding `json:"obstacles"`
		Basis    []string            `json:"basis"`
	}{
		f.Headline(),
		f.Goal,
		f.At,
		f.Done,
		f.Never,
		f.AssumesBalancerOn,
		f.Low.Milliseconds(),
		f.Likely.Milliseconds(),
		f.High.Milliseconds(),
		f.At.Add(f.Low),
		f.At.Add(f.Likely),
		f.Latest(),
		f.Moves,
		f.Bytes,
		f.StuckChunks,
		f.HasWindow,
		append(
			[]diagnosis.Finding{},
			f.BlockedBy...),
		len(f.StuckObstacles()) > 0,
		append([]diagnosis.Finding{}, f.Obstacles()...),
		append([]string{}, f.Basis...),
	})
}
