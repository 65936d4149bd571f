package main

import (
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/tracing"
)

// traceFlags configure traces and logs of a run.
type traceFlags struct {
	trace     string
	logFormat string
}

const (
	logText = "text"
	logJSON = "json"
)

func (o *traceFlags) group() cmdline.Group {
	return cmdline.NewGroup("Traces and logs", func(f *pflag.FlagSet) {
		f.StringVar(&o.trace, "trace", "", "`FILE|URL` write a trace, as OTLP in JSON, or send it to http://host:4318")
		f.StringVar(&o.logFormat, "log-format", logText,
			"`text|json` what stderr gets: notices, or a line of JSON for each event")
	}).OnPage("pace", "")
}

func (o *traceFlags) check() error {
	return firstViolation(constraint{o.logFormat != logText && o.logFormat != logJSON, "--log-format takes text or json"})
}

// isJSONLog reports whether the log is JSON, which suppresses notices for humans.
func (o *traceFlags) isJSONLog() bool { return o.logFormat == logJSON }

// wrapReporter wraps a reporter with a trace and a log. end must be called with the error of the run.
func (o *traceFlags) wrapReporter(env environment, conn *connection, clock script.Clock, text *actiontext.Reporter,
	next action.Reporter) (wrapped action.Reporter, end func(error), err error) {
	if o.trace == "" && !o.isJSONLog() {
		return next, func(error) {}, nil
	}
	get := func(name string) string { value, _ := env.getenv(name); return value }
	host, _ := os.Hostname() // empty if it is unknown
	options := tracing.Options{
		Trace: o.trace, Headers: get("OTEL_EXPORTER_OTLP_HEADERS"), Parent: get("TRACEPARENT"),
		Verb: env.commandName(), Address: secret.Redact(conn.address), Now: clock.Now, Redact: secret.Redact,
		Resource: map[string]string{
			"service.version": buildinfo.Version(), "host.name": host, "process.pid": strconv.Itoa(os.Getpid()),
		},
	}
	if o.isJSONLog() {
		options.Log = plaintext.NewJSONWriter(env.stderr)
		text.Note = nil
	}
	r, err := tracing.New(options, next)
	if err != nil {
		return nil, nil, usagef("--trace: %w", err)
	}
	return r, func(err error) {
		if err := r.End(err); err != nil {
			notice(env.stderr, o.isJSONLog(), "The trace is not complete: %s.", secret.Redact(err.Error()))
		}
	}, nil
}
