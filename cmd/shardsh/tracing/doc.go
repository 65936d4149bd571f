// Package tracing exports the events of a run to programs that collect traces and logs: a span for the
// run, each step, move and wait, as OTLP in JSON to a file or over HTTP, and a line of JSON for each
// event. Both contain the comment that identifies the run's moves on servers.
package tracing
