package main

import (
	"time"

	"shardsh/bindings/transcript"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/secret"
)

// openTranscript begins what --transcript asks for; nil without it.
func openTranscript(env environment, path, mode string) (*transcript.Writer, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // nobody wants one
	}
	w, err := transcript.Open(path, time.Now)
	if err != nil {
		return nil, usagef("--transcript: %w", err)
	}
	w.WriteHead(transcript.Head{Program: buildinfo.Version(), Mode: mode, Words: secret.MaskSecrets(env.args)})
	return w, nil
}

// closeTranscript reports what of it was not written: the run itself is not
// undone by that.
func closeTranscript(env environment, w *transcript.Writer) {
	if w == nil {
		return
	}
	if err := w.Close(); err != nil {
		notice(env.stderr, false, "shardsh: --transcript: %s", err)
	}
}
