package main

import (
	"io"

	"shardsh/bindings/plaintext"
)

// What the program itself tells people goes through these writers: names and
// messages of a cluster stay text there, whatever a terminal would make of them.

// told is for what was asked for.
func (env environment) told() io.Writer { return plaintext.NewWriter(env.stdout) }

// warned is for notices and errors.
func (env environment) warned() io.Writer { return plaintext.NewWriter(env.stderr) }

// toldJSON is for JSON, which means the same with its characters escaped.
func (env environment) toldJSON() io.Writer { return plaintext.NewJSONWriter(env.stdout) }

// shown returns an error's text, which the shell may have coloured.
func (env environment) shown(text string) string {
	if env.color() {
		return plaintext.VisibleStyled(text)
	}
	return plaintext.Visible(text)
}
