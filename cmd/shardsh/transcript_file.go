package main

import (
	"time"

	"shardsh/bindings/transcript"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/secret"
)

// openTranscript opens the file of --transcript; nil without it.
func openTranscript(env environment, path, mode string) (*transcript.Writer, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // nobody wants one
	}
	w, err := transcript.Open(path, time.Now)
	if err != nil {
		return nil, usagef("--transcript: %w", err)
	}
	w.WriteHead(transcript.Head{Program: buildinfo.Version(), Mode: mode, Arguments: secret.MaskSecrets(env.args)})
	return w, nil
}

// closeTranscript prints a warning if the transcript could not be written completely. This does not
// affect the run.
func closeTranscript(env environment, w *transcript.Writer) {
	if w == nil {
		return
	}
	if err := w.Close(); err != nil {
		notice(env.stderr, false, "shardsh: --transcript: %s", err)
	}
}
