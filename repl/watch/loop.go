package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
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
	// forecastRest is how long a forecast is good, at least; one that takes longer to
	// make is good for forecastFactor times as long.
	forecastRest   = 20 * time.Second
	forecastFactor = 10
)

// plainSize is that of a frame that is written and not drawn.
var plainSize = Size{Width: 100, Height: 60}

// loop is a Run under way.
type loop struct {
	Config
	view View
	last *catalog.Snapshot
	past []*report.Overview // the newest last, those of the last rateSpan
	said time.Time          // the newest event that JSON has told

	reading, forecasting bool
	read                 chan look
	foreseen             chan outlook
	next                 <-chan time.Time // when to read again
	began                time.Time
	fresh                time.Time // until then no new forecast is made
}

// look is what a reading came to.
type look struct {
	snapshot *catalog.Snapshot
	overview *report.Overview
	err      error
}

type outlook struct {
	forecasts []forecast.Forecast
	began     time.Time
}

// Run shows the cluster until ctx ends or somebody quits, which is not an error. A
// cluster that can't be read at the beginning is one; later it is told, and tried
// again.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &loop{Config: c, read: make(chan look, 1), foreseen: make(chan outlook, 1)}
	l.view = View{Every: c.Every, Color: c.Color, Keys: c.Screen != nil}
	if c.Once {
		l.view.Every = 0
	}
	l.start(ctx)
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
		if !open || key == KeyQuit {
			return true, nil
		}
		l.press(ctx, key)
		return false, l.draw()
	case <-resized:
		return false, l.draw()
	case <-l.next:
		l.next = nil
		if !l.view.Paused {
			l.start(ctx)
		}
		return false, nil
	case o := <-l.foreseen:
		l.forecasting = false
		l.view.Forecasts = o.forecasts
		took := l.Clock.Now().Sub(o.began)
		l.fresh = l.Clock.Now().Add(max(forecastRest, forecastFactor*took))
		if l.Once {
			return true, l.show()
		}
		return false, l.draw()
	case seen := <-l.read:
		return l.see(ctx, seen)
	}
}

// start reads the cluster in the background: keys go on.
func (l *loop) start(ctx context.Context) {
	if l.reading {
		return
	}
	l.reading, l.began = true, l.Clock.Now()
	old := l.last
	go func() {
		var seen look
		err := mongoerr.Guard(nil, "watching the cluster", func() (err error) {
			if seen.snapshot, err = l.Read(ctx, old); err == nil {
				seen.overview = report.Of(seen.snapshot)
			}
			return err
		})
		seen.err = err
		l.read <- seen
	}()
}

// see takes over what was read.
func (l *loop) see(ctx context.Context, seen look) (done bool, err error) {
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
	l.last, l.view.Now = seen.snapshot, seen.overview
	l.remember(seen.overview)
	l.foresee()
	if l.Once {
		return false, nil // the forecast ends it
	}
	return false, l.show()
}

// remember keeps overviews to compare with: the youngest that is old enough, and
// those after it.
func (l *loop) remember(o *report.Overview) {
	l.past = append(l.past, o)
	for len(l.past) > 2 && o.Time.Sub(l.past[1].Time) >= rateSpan {
		l.past = l.past[1:]
	}
	l.view.Before = nil
	if len(l.past) > 1 {
		l.view.Before = l.past[0]
	}
}

// foresee makes forecasts in the background, where the last ones are too old.
func (l *loop) foresee() {
	now := l.Clock.Now()
	if l.forecasting || !l.Once && now.Before(l.fresh) {
		return
	}
	l.forecasting = true
	s, shards := l.last, l.view.Now.Shards
	go func() {
		o := outlook{began: now}
		// What fails has no forecast: the overview tells what is missing.
		_ = mongoerr.Guard(nil, "forecasting", func() error {
			o.forecasts = forecasts(s, shards)
			return nil
		})
		l.foreseen <- o
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
		if f, err := forecast.Of(s, forecast.Options{Goal: goal}); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// press obeys a key.
func (l *loop) press(ctx context.Context, key Key) {
	size := l.size()
	page := max(1, size.Height-6)
	switch key {
	case KeyPause:
		l.view.Paused = !l.view.Paused
		if !l.view.Paused && l.next == nil {
			l.start(ctx)
		}
	case KeyNext:
		l.view.Tab, l.view.Offset = (l.view.Tab+1)%tabs, 0
	case KeyPrevious:
		l.view.Tab, l.view.Offset = (l.view.Tab+tabs-1)%tabs, 0
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
		if e.Time.After(l.said) {
			o.History.Events = append(o.History.Events, e)
		}
	}
	if len(events) > 0 {
		l.said = events[0].Time
	}
	encoder := json.NewEncoder(l.Out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(o)
}
