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

// Clock is the clock of a loop.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Screen is a terminal on which frames replace each other.
type Screen interface {
	Size() Size
	Draw(lines []string) error
	// Keys returns the pressed keys; the channel is closed at the end of the input. Resized signals
	// that the size of the screen has changed.
	Keys() <-chan Key
	Resized() <-chan struct{}
}

// Config is the configuration of a loop.
type Config struct {
	// Read reads the cluster; old is the result of the previous read, nil at first.
	Read func(ctx context.Context, old *catalog.Snapshot) (*catalog.Snapshot, error)
	// ReadOperationRates returns the operations a second of each shard since its last call; nil if they were
	// not requested.
	ReadOperationRates func(ctx context.Context, s *catalog.Snapshot) (map[catalog.ShardID]heat.Load, error)
	// Every is the interval of reads. A cluster that takes long to read is read less often: reads take
	// at most a fifth of the time.
	Every time.Duration
	Clock Clock
	// Screen is the screen for frames. Without a screen, frames of 60 lines are written to Out one after
	// another, or as JSON, one line each.
	Screen Screen
	Out    io.Writer
	// Errors is where errors of reading are written if there is no screen.
	Errors io.Writer
	JSON   bool
	Color  bool
	// Width is the width of written frames; 0 is the default width.
	Width int
	// Once ends the loop after one frame.
	Once bool
}

const (
	// restFactor is how much longer the pause after a read is than the read.
	restFactor = 4
	// rateSpan is the minimum period over which rates are computed.
	rateSpan = 15 * time.Second
	// minForecastAge is the minimum time for which a forecast is valid. A forecast that takes longer to
	// compute is valid for forecastAgeFactor times as long.
	minForecastAge    = 20 * time.Second
	forecastAgeFactor = 10
)

// plainSize is the size of frames that are written rather than drawn.
var plainSize = Size{Width: 100, Height: 60}

// loop is the state of Run.
type loop struct {
	Config
	view            View
	last            *catalog.Snapshot
	history         []*report.Overview // the newest last; see remember
	writtenEventIDs map[string]bool    // in the JSON output, those of the last overview with events

	reading, forecasting bool
	read                 chan readResult
	forecastDone         chan forecastResult
	nextRead             <-chan time.Time // fires when the next read is due
	readBegan            time.Time
	nextForecastAt       time.Time // no new forecast before this time
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

// Run shows the cluster until ctx ends or the user quits, which is not an error. It returns an error if
// the cluster can't be read at the beginning. Later errors are shown, and the read is retried.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &loop{Config: c, read: make(chan readResult, 1), forecastDone: make(chan forecastResult, 1)}
	l.view = View{Every: c.Every, Color: c.Color, HasKeys: c.Screen != nil}
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

// step waits for the next event and handles it.
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
	case <-l.nextRead:
		l.nextRead = nil
		if !l.view.Paused {
			l.startRead(ctx)
		}
		return false, nil
	case o := <-l.forecastDone:
		l.forecasting = false
		l.view.Forecasts = o.forecasts
		took := l.Clock.Now().Sub(o.began)
		l.nextForecastAt = l.Clock.Now().Add(max(minForecastAge, forecastAgeFactor*took))
		if l.Once {
			return true, l.show()
		}
		return false, l.draw()
	case seen := <-l.read:
		return l.handleRead(ctx, seen)
	}
}

// startRead reads the cluster in the background, so that keys still work.
func (l *loop) startRead(ctx context.Context) {
	if l.reading {
		return
	}
	l.reading, l.readBegan = true, l.Clock.Now()
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

// countOperations adds the operations to the result of a read. Without them, the other data is shown.
func (l *loop) countOperations(ctx context.Context, seen readResult) {
	if l.ReadOperationRates == nil {
		return
	}
	counted, err := l.ReadOperationRates(ctx, seen.snapshot)
	if err != nil {
		seen.overview.Unread = append(seen.overview.Unread, "the operations could not be counted: "+err.Error())
	}
	seen.overview.Operations = counted
}

// handleRead handles the result of a read.
func (l *loop) handleRead(ctx context.Context, seen readResult) (done bool, err error) {
	l.reading = false
	rest := max(l.Every-l.Clock.Now().Sub(l.readBegan), restFactor*l.Clock.Now().Sub(l.readBegan))
	l.nextRead = l.Clock.After(rest)
	switch {
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case seen.err != nil && (l.last == nil || l.Once):
		return true, seen.err
	case seen.err != nil:
		return false, l.showReadError(seen.err.Error())
	}
	l.view.Trouble = ""
	if forecastInputsChanged(l.view.Current, seen.overview) {
		l.nextForecastAt = time.Time{} // the forecast was for a different state
	}
	l.last, l.view.Current = seen.snapshot, seen.overview
	l.remember(seen.overview)
	l.startForecast()
	if l.Once {
		return false, nil // the running forecast ends it
	}
	return false, l.show()
}

// showReadError shows why a read failed. Without a screen, the same text is written once.
func (l *loop) showReadError(text string) error {
	before := l.view.Trouble
	l.view.Trouble = text
	if l.Screen == nil && text != before {
		_, err := fmt.Fprintln(l.Errors, troubleText+text)
		return err
	}
	return l.draw()
}

// forecastInputsChanged reports whether the inputs of a forecast have changed: the balancer's mode and
// window, which shards drain, and whether anything is unbalanced.
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

// remember keeps overviews for computing rates: the newest one that is at least rateSpan old, and all
// later ones.
func (l *loop) remember(o *report.Overview) {
	l.history = append(l.history, o)
	for len(l.history) > 2 && o.Time.Sub(l.history[1].Time) >= rateSpan {
		l.history = l.history[1:]
	}
	l.view.Earlier = nil
	if len(l.history) > 1 {
		l.view.Earlier = l.history[0]
	}
}

// startForecast computes forecasts in the background if the last ones are too old.
func (l *loop) startForecast() {
	now := l.Clock.Now()
	if l.forecasting || !l.Once && now.Before(l.nextForecastAt) {
		return
	}
	l.forecasting = true
	s, shards := l.last, l.view.Current.Shards
	go func() {
		o := forecastResult{began: now}
		// A failed forecast is left out; the overview says what is missing.
		_ = mongoerr.CatchPanic(nil, "forecasting", func() error {
			o.forecasts = forecasts(s, shards)
			return nil
		})
		l.forecastDone <- o
	}()
}

// forecasts returns the forecasts in a frame: for balance, and for the first draining shard.
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

// handleKey handles a key, and reports whether it ends the loop.
func (l *loop) handleKey(ctx context.Context, key Key) (quit bool) {
	if key == KeyInterrupt {
		return true
	}
	if l.view.Typing {
		l.view.Offset = 0
		l.view.handleFilterKey(key)
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
		if !l.view.Paused && l.nextRead == nil {
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
	if l.view.Current != nil {
		most = l.view.RowCount(size.Width) - 1
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

// draw draws the frame again. It does nothing without a screen, or before the first read.
func (l *loop) draw() error {
	if l.Screen == nil || l.view.Current == nil {
		return nil
	}
	return l.Screen.Draw(Frame(l.view, l.Screen.Size()))
}

// writeJSON writes an overview as a line, with the events that the previous lines do not have. Entries of
// a log may arrive late, so their times do not tell which are new.
func (l *loop) writeJSON() error {
	o := *l.view.Current
	o.Forecasts = append([]forecast.Forecast{}, l.view.Forecasts...)
	events := o.History.Events
	o.History.Events = []report.Event{}
	for _, e := range events {
		if !l.writtenEventIDs[e.ID] {
			o.History.Events = append(o.History.Events, e)
		}
	}
	if len(events) > 0 {
		l.writtenEventIDs = make(map[string]bool, len(events))
	}
	for _, e := range events {
		l.writtenEventIDs[e.ID] = true
	}
	encoder := json.NewEncoder(l.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(o)
}
