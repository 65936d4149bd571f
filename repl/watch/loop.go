package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/plan"
	"shardsh/balancer/report"
)

// Clock is the time that a loop waits by.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Screen is a terminal on which frames replace each other.
type Screen interface {
	Size() Size
	Draw(lines []string) error
	// Keys are those that were pressed; closed when no more can come. Resized tells
	// that the screen has another size.
	Keys() <-chan Key
	Resized() <-chan struct{}
}

// Config is what a loop works with.
type Config struct {
	// Read reads the cluster; old is what it read before, nil at first.
	Read func(ctx context.Context, old *catalog.Snapshot) (*catalog.Snapshot, error)
	// Operations counts those a second of the shards since it was called before; nil where
	// nobody asked for them.
	Operations func(ctx context.Context, s *catalog.Snapshot) (map[catalog.ShardID]heat.Load, error)
	// Every is how often to read. A cluster that takes long to read is read less
	// often: reading takes a fifth of the time at most.
	Every time.Duration
	Clock Clock
	// Screen is where frames are drawn. Without one they are written to Out one
	// after another, Lines high, or as JSON, one line each.
	Screen Screen
	Out    io.Writer
	JSON   bool
	Color  bool
	// Width is that of frames which are written; 0 is as wide as they are by default.
	Width int
	// Once ends the loop after a frame.
	Once bool
}

const (
	// restFactor is how much longer a rest is than the reading before it.
	restFactor = 4
	// rateSpan is how far back the cluster is compared with for rates, at least.
	rateSpan = 15 * time.Second
	// minForecastAge is how long a forecast is good, at least; one that takes longer to
	// make is good for forecastFactor times as long.
	minForecastAge = 20 * time.Second
	forecastFactor = 10
)

// plainSize is that of a frame that is written and not drawn.
var plainSize = Size{Width: 100, Height: 60}

// loop is a Run under way.
type loop struct {
	Config
	view        View
	last        *catalog.Snapshot
	history     []*report.Overview // the newest last, those of the last rateSpan
	lastEventAt time.Time          // the newest event that JSON has told

	reading, forecasting bool
	read                 chan readResult
	forecastDone         chan forecastResult
	next                 <-chan time.Time // when to read again
	began                time.Time
	nextForecastAt       time.Time // until then no new forecast is made
}

// readResult is the result of a read.
type readResult struct {
	snapshot *catalog.Snapshot
	overview *report.Overview
	err      error
}

type forecastResult struct {
	forecasts []forecast.Forecast
	began     time.Time
}

// Run shows the cluster until ctx ends or somebody quits, which is not an error. A
// cluster that can't be read at the beginning is one; later it is told, and tried
// again.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &loop{Config: c, read: make(chan readResult, 1), forecastDone: make(chan forecastResult, 1)}
	l.view = View{Every: c.Every, Color: c.Color, Keys: c.Screen != nil}
	if c.Once {
		l.view.Every = 0
	}
	l.startRead(ctx)
	for {
		done, err := l.step(ctx)
		if done || err != nil {
			return err
		}
	}
}

// step waits for the next thing that happens.
func (l *loop) step(ctx context.Context) (done bool, err error) {
	var keys <-chan Key
	var resized <-chan struct{}
	if l.Screen != nil {
		keys, resized = l.Screen.Keys(), l.Screen.Resized()
	}
	select {
	case <-ctx.Done():
		return true, context.Cause(ctx)
	case key, open := <-keys:
		if !open || l.handleKey(ctx, key) {
			return true, nil
		}
		return false, l.draw()
	case <-resized:
		return false, l.draw()
	case <-l.next:
		l.next = nil
		if !l.view.Paused {
			l.startRead(ctx)
		}
		return false, nil
	case o := <-l.forecastDone:
		l.forecasting = false
		l.view.Forecasts = o.forecasts
		took := l.Clock.Now().Sub(o.began)
		l.nextForecastAt = l.Clock.Now().Add(max(minForecastAge, forecastFactor*took))
		if l.Once {
			return true, l.show()
		}
		return false, l.draw()
	case seen := <-l.read:
		return l.handleRead(ctx, seen)
	}
}

// startRead reads the cluster in the background: keys go on.
func (l *loop) startRead(ctx context.Context) {
	if l.reading {
		return
	}
	l.reading, l.began = true, l.Clock.Now()
	old := l.last
	go func() {
		var seen readResult
		err := mongoerr.CatchPanic(nil, "watching the cluster", func() (err error) {
			if seen.snapshot, err = l.Read(ctx, old); err == nil {
				seen.overview = report.NewOverview(seen.snapshot)
				l.countOperations(ctx, seen)
			}
			return err
		})
		seen.err = err
		l.read <- seen
	}()
}

// countOperations adds the operations to what was read; without them the rest is shown.
func (l *loop) countOperations(ctx context.Context, seen readResult) {
	if l.Operations == nil {
		return
	}
	counted, err := l.Operations(ctx, seen.snapshot)
	if err != nil {
		seen.overview.Untold = append(seen.overview.Untold, "the operations could not be counted: "+err.Error())
	}
	seen.overview.Operations = counted
}

// handleRead handles the result of a read.
func (l *loop) handleRead(ctx context.Context, seen readResult) (done bool, err error) {
	l.reading = false
	rest := max(l.Every-l.Clock.Now().Sub(l.began), restFactor*l.Clock.Now().Sub(l.began))
	l.next = l.Clock.After(rest)
	switch {
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case seen.err != nil && (l.last == nil || l.Once):
		return true, seen.err
	case seen.err != nil:
		l.view.Trouble = seen.err.Error()
		return false, l.draw()
	}
	l.view.Trouble = ""
	if forecastInputsChanged(l.view.Now, seen.overview) {
		l.nextForecastAt = time.Time{} // what was forecast is of another cluster
	}
	l.last, l.view.Now = seen.snapshot, seen.overview
	l.remember(seen.overview)
	l.startForecast()
	if l.Once {
		return false, nil // the forecast ends it
	}
	return false, l.show()
}

// forecastInputsChanged reports whether the inputs of a forecast have changed: the balancer's mode and
// window, and which shards drain.
func forecastInputsChanged(before, now *report.Overview) bool {
	if before == nil {
		return true
	}
	draining := func(o *report.Overview) (list []string) {
		for _, s := range o.Shards {
			if s.Draining {
				list = append(list, string(s.ID))
			}
		}
		slices.Sort(list)
		return list
	}
	return before.Balancer.Mode != now.Balancer.Mode || before.Balancer.Window != now.Balancer.Window ||
		before.Totals.NotBalanced == 0 != (now.Totals.NotBalanced == 0) || !slices.Equal(draining(before), draining(now))
}

// remember keeps overviews to compare with: the youngest that is old enough, and
// those after it.
func (l *loop) remember(o *report.Overview) {
	l.history = append(l.history, o)
	for len(l.history) > 2 && o.Time.Sub(l.history[1].Time) >= rateSpan {
		l.history = l.history[1:]
	}
	l.view.Before = nil
	if len(l.history) > 1 {
		l.view.Before = l.history[0]
	}
}

// startForecast makes forecasts in the background, where the last ones are too old.
func (l *loop) startForecast() {
	now := l.Clock.Now()
	if l.forecasting || !l.Once && now.Before(l.nextForecastAt) {
		return
	}
	l.forecasting = true
	s, shards := l.last, l.view.Now.Shards
	go func() {
		o := forecastResult{began: now}
		// What fails has no forecast: the overview tells what is missing.
		_ = mongoerr.CatchPanic(nil, "forecasting", func() error {
			o.forecasts = forecasts(s, shards)
			return nil
		})
		l.forecastDone <- o
	}()
}

// forecasts are those that a frame shows: of balance, and of the first shard that
// drains.
func forecasts(s *catalog.Snapshot, shards []report.Shard) (list []forecast.Forecast) {
	goals := []plan.Goal{{Kind: plan.Balance}}
	for _, shard := range shards {
		if shard.Draining {
			goals = append(goals, plan.Goal{Kind: plan.Drain, Shard: shard.ID})
			break
		}
	}
	for _, goal := range goals {
		if f, err := forecast.Make(s, forecast.Options{Goal: goal}); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// handleKey obeys a key, and reports whether it ends the loop.
func (l *loop) handleKey(ctx context.Context, key Key) (quit bool) {
	if key == KeyInterrupt {
		return true
	}
	if l.view.Typing {
		l.view.Offset = 0
		l.view.typeFilter(key)
		return false
	}
	if as, known := keyAliases[key]; known {
		key = as
	}
	size := l.size()
	page := max(1, size.Height-6)
	switch key {
	case KeyQuit:
		return true
	case KeyHelp:
		l.view.Help, l.view.Offset = !l.view.Help, 0
	case KeySort:
		l.view.Order, l.view.Offset = (l.view.Order+1)%orderCount, 0
	case KeyFilter:
		l.view.Typing, l.view.Filter, l.view.Offset = true, "", 0
	case KeyEnter:
		l.view.openCollection()
	case KeyEscape:
		l.view.goBack()
	case KeyPause:
		l.view.Paused = !l.view.Paused
		if !l.view.Paused && l.next == nil {
			l.startRead(ctx)
		}
	case KeyNext:
		l.view.switchTab(1)
	case KeyPrevious:
		l.view.switchTab(tabCount - 1)
	case KeyUp:
		l.view.Offset--
	case KeyDown:
		l.view.Offset++
	case KeyPageUp:
		l.view.Offset -= page
	case KeyPageDown:
		l.view.Offset += page
	}
	most := 0
	if l.view.Now != nil {
		most = l.view.Rows(size.Width) - 1
	}
	l.view.Offset = max(0, min(l.view.Offset, most))
	return false
}

func (l *loop) size() Size {
	switch {
	case l.Screen != nil:
		return l.Screen.Size()
	case l.Width > 0:
		return Size{Width: l.Width, Height: plainSize.Height}
	}
	return plainSize
}

// show draws a frame, or writes the next one.
func (l *loop) show() error {
	switch {
	case l.JSON:
		return l.writeJSON()
	case l.Screen != nil:
		return l.draw()
	}
	_, err := fmt.Fprintln(l.Out, strings.Join(Frame(l.view, l.size()), "\n")+"\n")
	return err
}

// draw draws the frame again; it does nothing where there is no screen, or
// nothing to show yet.
func (l *loop) draw() error {
	if l.Screen == nil || l.view.Now == nil {
		return nil
	}
	return l.Screen.Draw(Frame(l.view, l.Screen.Size()))
}

// writeJSON writes an overview as a line, with the events since the line before.
func (l *loop) writeJSON() error {
	o := *l.view.Now
	o.Forecasts = append([]forecast.Forecast{}, l.view.Forecasts...)
	events := o.History.Events
	o.History.Events = []report.Event{}
	for _, e := range events {
		if e.Time.After(l.lastEventAt) {
			o.History.Events = append(o.History.Events, e)
		}
	}
	if len(events) > 0 {
		l.lastEventAt = events[0].Time
	}
	encoder := json.NewEncoder(l.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(o)
}
