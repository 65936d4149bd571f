package tracing

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
)

// Options are the destinations of a run's trace and log.
type Options struct {
	// Trace is a file, or the address of a collector; empty for no trace. Headers are for a collector.
	// Parent is a traceparent whose trace the run joins; if it is empty, the run has its own trace.
	Trace, Headers, Parent string
	// Log receives a line of JSON for each event; nil for none.
	Log io.Writer
	// Verb is the subcommand, which runs on the cluster at Address. Resource holds attributes of the
	// process.
	Verb, Address string
	Resource      map[string]string
	// Now is the clock of the run. Redact hides credentials in errors.
	Now    func() time.Time
	Redact func(string) string
}

// Reporter is an action.Reporter that writes a trace and a log, and calls the next reporter.
type Reporter struct {
	Options
	next      action.Reporter
	sink      sink // nil without a trace
	log       *slog.Logger
	root      span
	openSpans map[string]*span // running steps and moves: step 3, move 7
	comment   func() string
}

// New returns a Reporter for a run that begins now.
func New(o Options, next action.Reporter) (r *Reporter, err error) {
	r = &Reporter{Options: o, next: next, openSpans: map[string]*span{}, log: slog.New(slog.DiscardHandler)}
	e := encoder{resource{[]attribute{attr("service.name", "shardsh")}}}
	for _, name := range []string{"service.version", "host.name", "process.pid"} {
		if value := o.Resource[name]; value != "" {
			e.resource.Attributes = append(e.resource.Attributes, attr(name, value))
		}
	}
	switch {
	case o.Trace == "":
	case strings.HasPrefix(o.Trace, "http://"), strings.HasPrefix(o.Trace, "https://"):
		r.sink, err = openCollector(o.Trace, o.Headers, e)
	default:
		r.sink, err = openFile(o.Trace, e)
	}
	if err != nil {
		return nil, err
	}
	trace, parent, _ := parseTraceParent(o.Parent)
	if trace == "" {
		trace = newID(16)
	}
	r.root = span{TraceID: trace, SpanID: newID(8), ParentSpanID: parent, Name: o.Verb, Kind: kindInternal,
		Start:      nanos(o.Now()),
		Attributes: []attribute{attr("db.system.name", "mongodb"), attr("shardsh.cluster", o.Address)}}
	if o.Log != nil {
		r.log = slog.New(slog.NewJSONHandler(o.Log, &slog.HandlerOptions{
			ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
				if len(groups) == 0 && a.Key == slog.TimeKey {
					return slog.Time(slog.TimeKey, o.Now().UTC())
				}
				return a
			}})).With("verb", o.Verb, "cluster", o.Address)
		if r.sink != nil {
			r.log = r.log.With("trace_id", trace)
		}
	}
	return r, nil
}

// Report records an event, and passes it to the next reporter.
func (r *Reporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.Planned:
		r.root.Attributes = append(r.root.Attributes, attr("shardsh.plan", e.Plan.ID))
		r.log.Info("planned", "plan", e.Plan.ID, "steps", len(e.Plan.Steps))
	case action.Started:
		r.comment = e.Comment
		r.log.Info("run started", "comment", r.commentText())
	case action.StepEvent:
		r.reportStep(e.Event)
	case action.EngineEvent:
		r.reportMove(e.Event)
	case action.Wait:
		r.reportWait(e.Event)
	case action.Note:
		r.addRunEvent(slog.LevelInfo, "note", "text", r.Redact(e.Text))
	}
	if r.next != nil {
		r.next.Report(e)
	}
}

func (r *Reporter) commentText() string {
	if r.comment == nil {
		return ""
	}
	return r.comment()
}

// stepNotes are kinds of events that neither begin nor end a step.
var stepNotes = map[apply.EventKind]slog.Level{
	apply.Retrying: slog.LevelWarn, apply.WaitingForDeletion: slog.LevelInfo, apply.ForcingMove: slog.LevelWarn,
	apply.LeftInPlace: slog.LevelWarn,
	apply.Replanned:   slog.LevelInfo, apply.BalancingPaused: slog.LevelInfo, apply.BalancingResumed: slog.LevelInfo,
	apply.WaitingToStop:     slog.LevelInfo,
	apply.RouterUnreachable: slog.LevelWarn,
}

func (r *Reporter) reportStep(e apply.Event) {
	s := e.Step
	name := fmt.Sprintf("step %d", s.Number)
	about := stepAttributes{s.Namespace, s.From, s.To, s.Min, s.Max, s.Bytes, string(s.Reason)}
	switch e.Kind {
	case apply.Began:
		r.beginSpan(name, string(s.Kind), about)
	case apply.Ended, apply.AlreadyDone:
		if r.openSpans[name] == nil {
			r.beginSpan(name, string(s.Kind), about)
		}
		r.endSpan(name, string(e.Kind), nil, s.Kind == plan.Move)
	case apply.Failed:
		r.endSpan(name, string(e.Kind), e.Err, s.Kind == plan.Move)
	default:
		if level, told := stepNotes[e.Kind]; told {
			r.addSpanEvent(name, level, string(e.Kind), e.Err)
		}
	}
}

func (r *Reporter) reportMove(e runner.Event) {
	m := e.Move
	name := fmt.Sprintf("move %d", m.Number)
	switch e.Kind {
	case runner.Began:
		r.beginSpan(name, "move", stepAttributes{m.Namespace, m.From, m.To, m.Min, m.Max, m.Bytes, string(m.Reason)})
	case runner.Moved:
		if s := r.openSpans[name]; s != nil {
			s.Attributes = append(s.Attributes, attr("shardsh.bytes.moved", m.Bytes))
		}
		r.endSpan(name, string(e.Kind), nil, true)
	case runner.Failed, runner.RefusedByHold, runner.Stopped, runner.LeftToServers:
		r.endSpan(name, string(e.Kind), e.Err, true)
	case runner.ForcingMove:
		r.addSpanEvent(name, slog.LevelWarn, string(e.Kind), nil)
	case runner.Split:
		r.addRunEvent(slog.LevelInfo, "split", "ns", e.Namespace, "points", e.PointCount)
	case runner.Skipped:
		r.addRunEvent(slog.LevelWarn, "aside", "ns", e.Namespace, "why", e.Why)
	case runner.BalancingPaused, runner.RoundEnded, runner.Waiting:
		r.addRunEvent(slog.LevelInfo, string(e.Kind), "why", e.Why)
	}
}

// reportWait records a wait when it has ended.
func (r *Reporter) reportWait(e pace.Event) {
	if !e.WaitEnded {
		r.log.Info("waits", "reason", string(e.Reason), "text", e.Text)
		return
	}
	now := r.Now()
	r.log.Info("waited", "reason", string(e.Reason), "seconds", e.Waited.Seconds())
	r.put(span{TraceID: r.root.TraceID, SpanID: newID(8), ParentSpanID: r.root.SpanID, Name: "wait", Kind: kindInternal,
		Start: nanos(now.Add(-e.Waited)), End: nanos(now), Status: status{Code: statusOK},
		Attributes: []attribute{attr("shardsh.reason", string(e.Reason)), attr("shardsh.text", e.Text)}})
}

// stepAttributes are the attributes of a step or a move.
type stepAttributes struct {
	ns       string
	from, to catalog.ShardID
	min, max catalog.Key
	bytes    int64
	reason   string
}

func (r *Reporter) beginSpan(name, kind string, a stepAttributes) {
	s := &span{TraceID: r.root.TraceID, SpanID: newID(8), ParentSpanID: r.root.SpanID, Name: kind, Kind: kindClient,
		Start: nanos(r.Now())}
	comment := r.commentText()
	for _, one := range []struct {
		key, value string
	}{
		{"db.namespace", a.ns}, {"shardsh.number", name}, {"shardsh.from", string(a.from)}, {"shardsh.to", string(a.to)},
		{"shardsh.min", keyText(a.min)}, {"shardsh.max", keyText(a.max)}, {"shardsh.reason", a.reason},
		{"db.comment", comment},
	} {
		if one.value != "" {
			s.Attributes = append(s.Attributes, attr(one.key, one.value))
		}
	}
	if a.bytes > 0 {
		s.Attributes = append(s.Attributes, attr("shardsh.bytes.expected", a.bytes))
	}
	r.openSpans[name] = s
	r.log.Info("began", "number", name, "kind", kind, "ns", a.ns, "from", a.from, "to", a.to, "min", keyText(a.min),
		"bytes", a.bytes, "comment", comment, r.spanIDAttr(s))
}

func keyText(k catalog.Key) string {
	if k.IsZero() {
		return ""
	}
	return k.String()
}

// spanIDAttr returns the attribute of a log line that refers to a span, if there is a trace.
func (r *Reporter) spanIDAttr(s *span) slog.Attr {
	if r.sink == nil {
		return slog.Attr{}
	}
	return slog.String("span_id", s.SpanID)
}

// endSpan ends a span, with the status error if err is not nil.
func (r *Reporter) endSpan(name, how string, err error, move bool) {
	s := r.openSpans[name]
	if s == nil {
		return
	}
	delete(r.openSpans, name)
	s.End, s.Status = nanos(r.Now()), status{Code: statusOK}
	s.Attributes = append(s.Attributes, attr("shardsh.outcome", how))
	level, text := slog.LevelInfo, ""
	if err != nil {
		level, text = slog.LevelWarn, r.Redact(err.Error())
		s.Status = status{statusError, text}
	}
	took := time.Time(s.End).Sub(time.Time(s.Start))
	args := []any{"number", name, "kind", s.Name, "seconds", took.Seconds(), r.spanIDAttr(s)}
	if move {
		args = append(args, "comment", r.commentText())
	}
	if text != "" {
		args = append(args, "error", text)
	}
	r.log.Log(context.Background(), level, how, args...)
	r.put(*s)
}

// addSpanEvent adds an event to an open span, or to the run if there is none.
func (r *Reporter) addSpanEvent(name string, level slog.Level, what string, err error) {
	s := r.openSpans[name]
	if s == nil {
		s = &r.root
	}
	event := spanEvent{Time: nanos(r.Now()), Name: what}
	args := []any{r.spanIDAttr(s)}
	if s != &r.root {
		args = append(args, "number", name)
	}
	if err != nil {
		text := r.Redact(err.Error())
		event.Attributes = append(event.Attributes, attr("exception.message", text))
		args = append(args, "error", text)
	}
	s.Events = append(s.Events, event)
	r.log.Log(context.Background(), level, what, args...)
}

// addRunEvent adds an event to the run.
func (r *Reporter) addRunEvent(level slog.Level, what string, args ...any) {
	event := spanEvent{Time: nanos(r.Now()), Name: what}
	for i := 0; i+1 < len(args); i += 2 {
		if key, ok := args[i].(string); ok && args[i+1] != "" {
			event.Attributes = append(event.Attributes, attr("shardsh."+key, args[i+1]))
		}
	}
	r.root.Events = append(r.root.Events, event)
	r.log.Log(context.Background(), level, what, args...)
}

func (r *Reporter) put(s span) {
	if r.sink != nil {
		r.sink.put(s)
	}
}

// End ends the run with its error. It returns an error if the trace could not be written completely.
func (r *Reporter) End(err error) error {
	for name := range r.openSpans {
		r.endSpan(name, "left", nil, false) // left to the servers
	}
	r.root.End, r.root.Status = nanos(r.Now()), status{Code: statusOK}
	if comment := r.commentText(); comment != "" {
		r.root.Attributes = append(r.root.Attributes, attr("db.comment", comment))
	}
	if err != nil {
		text := r.Redact(err.Error())
		r.root.Status = status{statusError, text}
		r.log.Error("run ended", "error", text)
	} else {
		r.log.Info("run ended")
	}
	if r.sink == nil {
		return nil
	}
	r.sink.put(r.root)
	return r.sink.close()
}
