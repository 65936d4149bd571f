package main

import (
	"time"

	"shardsh/bindings/transcript"
	"shardsh/cmd/shardsh/built"
	"shardsh/cmd/shardsh/secret"
)

// openTranscript begins what --transcript asks for; nil without it.
func (env environment) openTranscript(o commandLine) (*transcript.Writer, error) {
	if o.transcript == "" {
		return nil, nil //nolint:nilnil // nobody wants one
	}
	w, err := transcript.Open(o.transcript, time.Now)
	if err != nil {
		return nil, usagef("--transcript: %w", err)
	}
	w.Begin(transcript.Head{Program: built.Version(), Mode: o.mode(), Words: secret.Masked(env.args)})
	return w, nil
}

// closeTranscript says so if something of it was not written: the run itself is not
// undone by that.
func (env environment) closeTranscript(w *transcript.Writer) {
	if w == nil {
		return
	}
	if err := w.Close(); err != nil {
		notice(env.stderr, false, "shardsh: --transcript: %s", err)
	}
}

// mode is what is special about how commands are sent; empty for nothing.
func (o commandLine) mode() string {
	for _, m := range []struct {
		on   bool
		name string
	}{{o.readOnly, "read-only"}, {o.dryRun, "dry-run"}, {o.confirm, "confirm"}} {
		if m.on {
			return m.name
		}
	}
	return ""
}
