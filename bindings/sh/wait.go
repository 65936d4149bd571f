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

// The default timeout and poll interval of the waiting helpers.
const (
	defaultWaitTimeout  = 24 * time.Hour
	defaultPollInterval = 5 * time.Second
)

// waitOptionNames are the options of all waiting helpers, for signatures.
const waitOptionNames = "timeout,interval,progress,keepWaiting"

// wait is a wait for work of the cluster: of the balancer, or of a resharding.
type wait struct {
	host              *Host
	continuesText     string // what continues when the user stops waiting
	progressHint      string // how to see the progress, as a clause
	timeout, interval time.Duration
	answerTimeout     time.Duration // the limit without a reply; 0 stands for the timeout
	progress          *display.Progress
	unanswered        bool      // the last poll got no reply
	warnedUnanswered  bool      // a warning about a missing reply was printed
	answeredAt        time.Time // time of the last reply
	// forecast is the remaining time and the obstacles; nil if it is unknown.
	forecast *waitForecast
	// keepWaiting continues a wait that is stuck, after one warning.
	keepWaiting bool
	warned      map[string]bool // warnings that were printed
}

// workState is the state of the work at a poll.
type workState struct {
	done bool
	// activity is the running activity, for the progress.
	activity string
	// unfinishedText says what is not done yet, for the error of a timeout.
	unfinishedText string
	// amount measures the work; nil if it is unknown. It is called only when the amount is shown.
	amount func() *display.Amount
	// stuckReason says why the work cannot finish in this state, and what has to be done.
	stuckReason string
	// answerErr is the error if there was no reply; the other fields are zero then.
	answerErr *goja.Exception
}

// newWait returns a wait with the options of a helper. continuesText says what continues without the wait, and
// progressHint says how to see its progress.
func (h helperOptions) newWait(continuesText, progressHint string) *wait {
	return &wait{
		host: h.call.host, continuesText: continuesText, progressHint: progressHint,
		timeout: h.duration("timeout", defaultWaitTimeout), interval: max(h.duration("interval", defaultPollInterval),
			time.Millisecond),
		progress:    h.call.host.Display.NewProgress(h.flag("progress", true)),
		keepWaiting: h.flag("keepWaiting", false),
	}
}

// waitUntilDone polls until the work is done, and returns the duration. It throws after the timeout,
// and if the work cannot finish. Ctrl-C ends the wait, not the work.
func (w *wait) waitUntilDone(readState func() workState) time.Duration {
	began := w.host.JS.Clock.Now()
	w.answeredAt = began
	defer w.finish()
	for {
		now := w.poll(readState)
		waited := w.host.JS.Clock.Now().Sub(began)
		if now.done {
			return waited
		}
		if now.answerErr != nil && w.isAnswerOverdue() {
			w.throwUnanswered(now.answerErr)
		}
		if waited >= w.timeout {
			w.progress.End()
			if now.answerErr != nil {
				w.throwUnanswered(now.answerErr)
			}
			w.host.JS.Throw(script.RuntimeErrorName, "after %s: %s", humanize.Duration(w.timeout), now.unfinishedText)
		}
		if now.answerErr == nil {
			w.checkStuck(now)
			if w.progress.IsDue() {
				w.showProgress(now)
			}
		}
		w.host.JS.Sleep(min(w.interval, w.timeout-waited))
	}
}

// poll polls the work once. A router that does not answer may come back: poll prints a line each time
// that it becomes unavailable.
func (w *wait) poll(readState func() workState) (now workState) {
	ex := w.host.JS.Runtime.Try(func() { now = readState() })
	if ex == nil {
		w.unanswered, w.answeredAt = false, w.host.JS.Clock.Now()
		return now
	}
	e, _ := ex.Value().(*goja.Object)
	if e == nil || !server.IsTransient(script.OptionalText(e.Get("name")), errorCode(e)) {
		panic(ex)
	}
	if !w.unanswered {
		w.unanswered, w.warnedUnanswered = true, true
		w.progress.End()
		w.host.JS.Out.Warn(fmt.Sprintf("The router does not answer (%s); waiting for it. Meanwhile %s; %s.",
			script.OptionalText(e.Get("message")), w.continuesText, w.progressHint))
	}
	return workState{answerErr: ex}
}

func (w *wait) isAnswerOverdue() bool {
	return w.answerTimeout > 0 && w.host.JS.Clock.Now().Sub(w.answeredAt) >= w.answerTimeout
}

// throwUnanswered throws the error of a missing reply. The message says what continues in the cluster
// and how to see it.
func (w *wait) throwUnanswered(lost *goja.Exception) {
	if e, isObject := lost.Value().(*goja.Object); isObject {
		script.Define(e, "message", w.host.JS.Runtime.ToValue(fmt.Sprintf("%s; no answer for %s. Meanwhile %s; %s.",
			script.OptionalText(e.Get("message")), humanize.Duration(w.host.JS.Clock.Now().Sub(w.answeredAt)),
			w.continuesText, w.progressHint)))
	}
	panic(lost)
}

// sendUntilDone sends the command that completes the work. If the reply is lost, done reports whether
// the command has to be sent again.
func (w *wait) sendUntilDone(send func(), done func() bool) {
	sent := false
	w.waitUntilDone(func() workState {
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

func (w *wait) showProgress(now workState) {
	var a *display.Amount
	if now.amount != nil {
		a = now.amount()
	}
	what := cmp.Or(now.activity, now.unfinishedText)
	if w.forecast != nil {
		switch toGo := w.forecast.remainingTimeText(); {
		case a != nil:
			a.RemainingTimeText = toGo
		case toGo != "":
			what += ": " + toGo
		}
	}
	w.progress.Show(what, a)
}

// finish cleans up after the wait.
func (w *wait) finish() {
	w.progress.End()
	if w.host.JS.Context().Err() != nil {
		w.host.JS.Out.Warn(fmt.Sprintf("Stopped waiting; %s; %s.", w.continuesText, w.progressHint))
	}
}
