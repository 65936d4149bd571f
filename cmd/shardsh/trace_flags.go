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

// traceFlags say which programs are told what a run does.
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
	}).On("pace", "")
}

func (o *traceFlags) check() error {
	return firstBroken(rule{o.logFormat != logText && o.logFormat != logJSON, "--log-format takes text or json"})
}

// quiets keeps what is for people out of a log of JSON.
func (o *traceFlags) quiets() bool { return o.logFormat == logJSON }

// tell has a run told to a trace and a log, and to the next one. The end of the run is to be
// told with its error.
func (o *traceFlags) tell(env environment, conn *connection, clock script.Clock, text *actiontext.Reporter,
	next action.Reporter) (told action.Reporter, end func(error), err error) {
	if o.trace == "" && !o.quiets() {
		return next, func(error) {}, nil
	}
	get := func(name string) string { value, _ := env.getenv(name); return value }
	host, _ := os.Hostname() // empty where it is unknown
	options := tracing.Options{
		Trace: o.trace, Headers: get("OTEL_EXPORTER_OTLP_HEADERS"), Parent: get("TRACEPARENT"),
		Verb: env.name(), Address: secret.Redact(conn.address), Now: clock.Now, Redact: secret.Redact,
		Resource: map[string]string{
			"service.version": buildinfo.Version(), "host.name": host, "process.pid": strconv.Itoa(os.Getpid()),
		},
	}
	if o.quiets() {
		options.Log = plaintext.NewJSONWriter(env.stderr)
		text.Note = nil
	}
	r, err := tracing.New(options, next)
	if err != nil {
		return nil, nil, usagef("--trace: %w", err)
	}
	return r, func(err error) {
		if err := r.End(err); err != nil {
			notice(env.stderr, o.quiets(), "The trace is not complete: %s.", secret.Redact(err.Error()))
		}
	}, nil
}
