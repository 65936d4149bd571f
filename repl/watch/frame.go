package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/balancer/forecast"
	"shardsh/balancer/humanize"
	"shardsh/balancer/report"
	"shardsh/bindings/plaintext"
)

// troubleText precedes the error of a read.
const troubleText = "Reading the cluster failed: "

// View is the content of a frame.
type View struct {
	// Current is the present state, and Earlier an earlier one from which rates are computed; nil at the
	// beginning.
	Current, Earlier *report.Overview
	// Forecasts are the newest forecasts; they take longer to compute than an overview.
	Forecasts []forecast.Forecast
	// Every is the interval of reads. Trouble is why the last read failed.
	Every   time.Duration
	Trouble string
	Paused  bool
	// HasKeys says that keys can be pressed, which the last line lists.
	HasKeys bool
	// Tab is the visible tab, from the row Offset on.
	Tab    Tab
	Offset int
	Color  bool
	Choice
}

// Size is the size of a screen.
type Size struct{ Width, Height int }

// The smallest screen for the layout. On a smaller one, the rest is not visible.
const (
	minWidth  = 40
	minHeight = 8
)

// Frame returns the lines of a screen, limited to its height and width.
func Frame(v View, size Size) []string {
	width, height := max(size.Width, minWidth), max(size.Height, minHeight)
	lines := v.header(width)
	footer := v.footer()
	lines = append(lines, v.body(width, height-len(lines)-len(footer))...)
	if v.HasKeys {
		for len(lines) < height-len(footer) {
			lines = append(lines, nil)
		}
	}
	lines = append(lines, footer...)
	lines = lines[:min(len(lines), max(1, size.Height))]
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.render(max(1, size.Width), v.Color)
	}
	return out
}

var severityStyles = map[string]style{"fine": green, "info": cyan, "warning": yellow, "critical": red}

func (v View) header(width int) []line {
	o := v.Current
	name, _, _ := strings.Cut(o.Source, "?")
	at := o.Time.UTC().Format("2006-01-02 15:04:05 UTC")
	every := " every " + v.Every.String()
	switch {
	case v.Paused:
		every = " paused"
	case v.Every == 0:
		every = ""
	}
	head := line{newSpan(name, bold), newSpan(" MongoDB "+o.Version, plain), newSpan(every, dim)}
	used := 0
	for _, s := range head {
		used += twwidth.Width(s.text)
	}
	head = append(head, rightCell(" "+at, max(len(at)+1, width-used), dim))
	lines := append([]line{head}, wrap(v.balancerText(), width)...)
	word := o.Verdict()
	verdict := wrap(word+": "+o.Answer.Headline(), width)
	verdict[0] = line{newSpan(word, severityStyles[word]), newSpan(strings.TrimPrefix(verdict[0][0].text, word), plain)}
	lines = append(lines, verdict...)
	for _, f := range v.Forecasts[:min(len(v.Forecasts), 2)] {
		lines = append(lines, wrap(forecastText(f, o.Time), width)...)
	}
	if v.Trouble != "" {
		lines = append(lines, line{newSpan(troubleText+v.Trouble, red)})
	}
	return lines
}

// maxWrapped is the maximum number of lines of a text in the head.
const maxWrapped = 3

// wrap breaks a text at spaces into lines of a width. The last line is truncated if necessary.
func wrap(text string, width int) (lines []line) {
	var now string
	for word := range strings.FieldsSeq(plaintext.EscapeLine(text)) {
		switch {
		case now == "":
			now = word
		case twwidth.Width(now)+1+twwidth.Width(word) <= width || len(lines) == maxWrapped-1:
			now += " " + word
		default:
			lines = append(lines, line{newSpan(now, plain)})
			now = word
		}
	}
	return append(lines, line{newSpan(now, plain)})
}

// balancerText returns the line about the balancer and the cluster as a whole.
func (v View) balancerText() string {
	b, t := v.Current.Balancer, v.Current.Totals
	text := "Balancer " + b.Mode
	if b.Mode == "" {
		text = "Balancer unknown"
	}
	if b.InRound {
		text += ", round running"
	}
	if b.Rounds > 0 {
		text += ", " + humanize.Count(b.Rounds, "round")
	}
	if b.OpeningInexact {
		text += ", window " + b.Window + " open, or opens in up to " + humanize.Duration(b.Opens.Sub(v.Current.Time))
	} else if !b.Opens.IsZero() {
		text += ", window " + b.Window + " opens in " + humanize.Duration(b.Opens.Sub(v.Current.Time))
	} else if b.Window != "" {
		text += ", window " + b.Window + " open"
	}
	text += fmt.Sprintf(". %s in %s on %s", humanize.Bytes(t.Bytes), humanize.Count(t.Chunks, "chunk"),
		humanize.Count(int64(t.Shards), "shard"))
	if t.Jumbo > 0 {
		text += fmt.Sprintf(", %d jumbo", t.Jumbo)
	}
	if t.Orphans > 0 {
		text += ", " + humanize.Count(t.Orphans, "orphan")
	}
	return text + fmt.Sprintf(", %d of %s not balanced", t.NotBalanced, humanize.Count(int64(t.Collections), "collection"))
}

// forecastText returns a forecast in one line, minus the time that has passed since.
func forecastText(f forecast.Forecast, now time.Time) string {
	what := "Balanced"
	if f.Goal.Shard != "" {
		what = string(f.Goal.Shard) + " drained"
	}
	switch {
	case f.Never && f.High > 0 && !f.AssumesBalancerOn:
		return fmt.Sprintf("%s: not possible as things stand; the moves that are possible take %s to %s", what,
			humanize.Duration(max(0, f.Low-now.Sub(f.At))), humanize.Duration(max(0, f.High-now.Sub(f.At))))
	case f.High > 0:
		left := func(d time.Duration) string { return humanize.Duration(max(0, d-now.Sub(f.At))) }
		text := fmt.Sprintf("%s in %s to %s, likely by %s, %s in %s", what, left(f.Low), left(f.High),
			f.At.Add(f.Likely).UTC().Format("Mon 15:04"), humanize.Bytes(f.Bytes),
			humanize.Count(int64(f.Moves), "move"))
		if f.AssumesBalancerOn {
			return text + ", if the balancer is turned on"
		}
		return text
	case f.Never:
		return what + ": not possible as things stand"
	}
	return what + ": nothing left to do"
}

func (v View) footer() []line {
	if !v.HasKeys {
		return nil
	}
	if v.Typing {
		return []line{
			{newSpan("filter: ", bold), newSpan(v.Filter+"▏", plain), newSpan(" (enter keeps it, esc ends it)", dim)},
		}
	}
	l := line{
		newSpan("q", bold),
		newSpan(" quit  ", dim),
		newSpan("p", bold),
		newSpan(" pause  ", dim),
		newSpan("?", bold),
		newSpan(" keys  ", dim),
	}
	for t, name := range tabNames {
		s := dim
		if Tab(t) == v.Tab {
			s = bold
		}
		l = append(l, newSpan(" "+name, s))
	}
	return []line{append(l, newSpan("  "+v.summary(), yellow))}
}
