// Package tracing tells what a run does to programs that collect traces and logs: a span
// for the run, each step, move and wait, as OTLP in JSON to a file or over HTTP, and a line of
// JSON for each event. Both have the comment by which servers know the run's moves.
package tracing
