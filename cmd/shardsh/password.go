package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"shardsh/cmd/shardsh/secret"
)

// askSecret asks for a password: on the terminal, or by reading a line of standard input. If standard
// input is the script, it uses the process's own terminal. remedy says how to avoid the question.
func askSecret(ctx context.Context, env environment, question, remedy string) (string, error) {
	if env.unattended {
		return "", usagef("a fleet asks for no passwords: use %s, or passwordFile in the file of targets", remedy)
	}
	in, out := env.stdin, env.questionOut()
	if env.stdinIsScript && !isTerminal(in) {
		tty, err := openTerminal(env)
		if err != nil {
			return "", usagef("no terminal to ask for the password on: use %s", remedy)
		}
		defer func() { _ = tty.Close() }()
		in, out = tty, tty
	}
	fmt.Fprint(out, question)
	text, err := secret.Ask(ctx, in, out)
	fmt.Fprintln(out)
	switch {
	case errors.Is(err, io.EOF):
		return "", usagef("no password was given: use %s", remedy)
	case errors.Is(err, secret.ErrInterrupted):
		return "", signalError{os.Interrupt}
	}
	return text, err
}
