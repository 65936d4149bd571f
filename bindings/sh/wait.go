package sh

import (
	"cmp"
	"fmt"
	"time"

	"shardsh/balancer/humanize"
	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
)

// How long the waiting helpers wait and how often they look, by default.
const (
	longWait  = 24 * time.Hour
	longPause = 5 * time.Second
)

// waitOptions are the options all waiting helpers have, in signatures.
const waitOptions = "timeout,interval,progress,keepWaiting"

// wait is a wait for work that others do: the balancer, or a resharding.
type wait struct {
	s                 *Host
	goesOn            string // what goes on when the user stops waiting
	how               string // to look at it, as a clause
	timeout, interval time.Duration
	patience          time.Duration // with nobody who answers; 0 is that of the timeout
	progress          *display.Progress
	away              bool      // nobody answered the last time
	told              bool      // that somebody was away, or what else took its place
	answered          time.Time // the last time that somebody did
	// outlook says how long it takes, and whether it comes at all; nil where unknown.
	outlook *outlook
	// keep: wait on for what can't come as things stand, which is said once.
	keep   bool
	warned map[string]bool // of what
}

// workState is how the work stood when it was looked at.
type workState struct {
	done bool
	// what is going on, for progress; why where it is empty.
	what string
	// why says what is missing, for the error of a timeout.
	why string
	// amount measures the work; nil when that is unknown. It is asked only
	// when it is to be shown.
	amount func() *display.Amount
	// stuck says why it can't come as things stand, and what has to be done.
	stuck string
	// lost is why nobody could be asked; the rest is zero then.
	lost *goja.Exception
}

// wait is a wait as the options of a helper say; goesOn is what goes on without
// it, and how says where one sees how far that is.
func (h helperOptions) wait(goesOn, how string) *wait {
	return &wait{
		s: h.c.s, goesOn: goesOn, how: how,
		timeout: h.duration("timeout", longWait), interval: max(h.duration("interval", longPause), time.Millisecond),
		progress: h.c.s.Display.Progress(h.flag("progress", true)),
		keep:     h.flag("keepWaiting", false),
	}
}

// until looks again and again until the work is done, and returns how long that
// took. It throws when time is over, and when nobody does the work as things stand. Ctrl-C
// ends the waiting, not the work.
func (w *wait) until(look func() workState) time.Duration {
	began := w.s.JS.Clock.Now()
	w.answered = began
	defer w.leave()
	for {
		now := w.look(look)
		waited := w.s.JS.Clock.Now().Sub(began)
		if now.done {
			return waited
		}
		if now.lost != nil && w.lostPatience() {
			w.giveUp(now.lost)
		}
		if waited >= w.timeout {
			w.progress.End()
			if now.lost != nil {
				w.giveUp(now.lost)
			}
			w.s.JS.Throw(script.RuntimeError, "after %s: %s", humanize.Duration(w.timeout), now.why)
		}
		if now.lost == nil {
			w.foresee(now)
			if w.progress.Due() {
				w.tell(now)
			}
		}
		w.s.JS.Sleep(min(w.interval, w.timeout-waited))
	}
}

// look asks how the work stands. A router that does not answer may come back: one
// line says that it is waited for, each time that it goes.
func (w *wait) look(ask func() workState) (now workState) {
	ex := w.s.JS.Runtime.Try(func() { now = ask() })
	if ex == nil {
		w.away, w.answered = false, w.s.JS.Clock.Now()
		return now
	}
	e, _ := ex.Value().(*goja.Object)
	if e == nil || !server.Passing(script.OptionalText(e.Get("name")), errorCode(e)) {
		panic(ex)
	}
	if !w.away {
		w.away, w.told = true, true
		w.progress.End()
		w.s.JS.Out.Warn(fmt.Sprintf("The router does not answer (%s); waiting for it. Meanwhile %s; %s.",
			script.OptionalText(e.Get("message")), w.goesOn, w.how))
	}
	return workState{lost: ex}
}

func (w *wait) lostPatience() bool {
	return w.patience > 0 && w.s.JS.Clock.Now().Sub(w.answered) >= w.patience
}

// giveUp throws what kept anybody from answering, with what goes on all the same
// and how to look at it.
func (w *wait) giveUp(lost *goja.Exception) {
	if e, isObject := lost.Value().(*goja.Object); isObject {
		script.Define(e, "message", w.s.JS.Runtime.ToValue(fmt.Sprintf("%s; no answer for %s. Meanwhile %s; %s.",
			script.OptionalText(e.Get("message")), humanize.Duration(w.s.JS.Clock.Now().Sub(w.answered)), w.goesOn, w.how)))
	}
	panic(lost)
}

// insist sends what ends the work that was waited for. Where the answer is lost,
// done reports whether it is to be sent again.
func (w *wait) insist(send func(), done func() bool) {
	sent := false
	w.until(func() workState {
		if !sent || !done() {
			sent = true
			send()
		}
		return workState{done: true}
	})
}

func errorCode(e *goja.Object) int32 {
	if code := script.Property(e, "code"); code != nil && goja.IsNumber(code) {
		return int32(code.ToInteger())
	}
	return 0
}

func (w *wait) tell(now workState) {
	var a *display.Amount
	if now.amount != nil {
		a = now.amount()
	}
	what := now.what
	what = cmp.Or(what, now.why)
	if w.outlook != nil {
		switch toGo := w.outlook.toGo(); {
		case a != nil:
			a.ToGo = toGo
		case toGo != "":
			what += ": " + toGo
		}
	}
	w.progress.Say(what, a)
}

// leave tidies up, however the wait ended.
func (w *wait) leave() {
	w.progress.End()
	if w.s.JS.Context().Err() != nil {
		w.s.JS.Out.Warn(fmt.Sprintf("Stopped waiting; %s; %s.", w.goesOn, w.how))
	}
}
