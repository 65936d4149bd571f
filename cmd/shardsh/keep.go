package main

import (
	"slices"
	"strings"
	"time"

	"shardsh/bindings/transcript"
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
	w.Begin(transcript.Head{Program: version(), Mode: o.mode(), Words: withoutPasswords(env.args)})
	return w, nil
}

// closeTranscript says so if something of it was not written: the run itself is not
// undone by that.
func (env environment) closeTranscript() {
	if env.transcript == nil {
		return
	}
	if err := env.transcript.Close(); err != nil {
		notice(env.stderr, false, "shardsh: --transcript: %s", err)
	}
}

// withoutPasswords returns the words of a command line as they may be kept.
func withoutPasswords(args []string) []string {
	shown := slices.Clone(args)
	for _, s := range secretsIn(args) {
		word := shown[s.arg]
		shown[s.arg] = word[:s.from] + strings.Repeat("x", s.to-s.from) + word[s.to:]
	}
	return shown
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
