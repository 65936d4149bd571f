package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// passwordVariable holds the password where nobody can be asked.
const passwordVariable = "SHARDSH_PASSWORD"

// fillPassword completes the credentials of a connection string (spec 04
// §1.10): from --passwordFile, from the environment, or by asking.
func (env environment) fillPassword(ctx context.Context, s server, c *connectionString) error {
	switch {
	case c.user == nil:
		return nil
	case s.passwordFile != "":
		text, err := readPasswordFile(s.passwordFile)
		if err != nil {
			return usagef("--passwordFile: %w", err)
		}
		c.password = &text
		return nil
	case c.password != nil && (*c.password != "" || !s.password.given) || !wantsPassword(c):
		return nil
	}
	if text, ok := env.getenv(passwordVariable); ok && text != "" {
		c.password = &text
		return nil
	}
	text, err := env.askSecret(ctx, "Enter password: ", "--passwordFile or "+passwordVariable+" in the environment")
	c.password = &text
	return err
}

// wantsPassword reports whether the mechanism logs in with a password.
func wantsPassword(c *connectionString) bool {
	mechanism, _ := c.get("authMechanism")
	return slices.Contains([]string{"", "DEFAULT", "PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256"}, strings.ToUpper(mechanism))
}

// readPasswordFile returns the first line of a file that nobody else may read.
func readPasswordFile(path string) (string, error) {
	data, err := readSecretFile(path, maxPasswordBytes)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("the first line of %s is empty", path)
	}
	return line, nil
}

// keyPassword returns the password of the key file, asked for when the file
// says that it is encrypted and no password was given.
func (env environment) keyPassword(ctx context.Context, s server, path string) (string, error) {
	encrypted, err := checkKeyFile(path)
	switch {
	case err != nil:
		return "", usagef("--tlsCertificateKeyFile: %w", err)
	case s.tls.keyPassword.value != "" || !encrypted:
		return s.tls.keyPassword.value, nil
	}
	return env.askSecret(ctx, "Enter TLS key file password: ", "--tlsCertificateKeyFilePassword")
}

// askSecret asks for a password: on the terminal, or else by reading a line
// of standard input, unless that is the script; then on the process's own
// terminal. The question goes to stdout when that is a terminal, else to
// stderr. remedy says how to do without being asked.
func (env environment) askSecret(ctx context.Context, question, remedy string) (string, error) {
	out := env.stderr
	if isTerminal(env.stdout) {
		out = env.stdout
	}
	in := env.stdin
	if env.stdinIsScript && !isTerminal(in) {
		tty, err := env.terminal()
		if err != nil {
			return "", usagef("there is no terminal to ask for the password on; use %s", remedy)
		}
		defer func() { _ = tty.Close() }()
		in, out = tty, tty
	}
	fmt.Fprint(out, question)
	text, err := readSecretOf(ctx, in, out)
	fmt.Fprintln(out)
	switch {
	case errors.Is(err, io.EOF):
		return "", usagef("no password was given; use %s where nobody can be asked", remedy)
	case err != nil:
		return "", err
	}
	return text, nil
}

// readSecretOf reads without echo from a terminal, which it leaves as it was
// even when ctx ends first.
func readSecretOf(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		before, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(f.Fd()), before) }()
	} else {
		out = io.Discard
	}
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the read, at the latest with the process
		text, err := readSecret(in, out)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Keys of a terminal that does not handle them itself.
const (
	keyCtrlC     = 0x03
	keyCtrlD     = 0x04
	keyBackspace = 0x08
	keyCtrlU     = 0x15
	keyDelete    = 0x7f
)

// readSecret reads a line, byte by byte so that what follows is left alone,
// and shows a star for each character. The error is io.EOF when the input
// ends before the line does, and the signal's for Ctrl-C.
func readSecret(in io.Reader, out io.Writer) (string, error) {
	var typed []byte
	key := make([]byte, 1)
	for {
		if _, err := io.ReadFull(in, key); err != nil {
			if errors.Is(err, io.EOF) && len(typed) > 0 {
				return string(typed), nil
			}
			return "", err
		}
		switch key[0] {
		case '\r', '\n':
			return strings.TrimSuffix(string(typed), "\r"), nil
		case keyCtrlC:
			return "", signalError{os.Interrupt}
		case keyCtrlD:
			if len(typed) == 0 {
				return "", io.EOF
			}
		case keyBackspace, keyDelete:
			if _, size := utf8.DecodeLastRune(typed); size > 0 {
				typed = typed[:len(typed)-size]
				fmt.Fprint(out, "\b \b")
			}
		case keyCtrlU:
			fmt.Fprint(out, strings.Repeat("\b \b", utf8.RuneCount(typed)))
			typed = typed[:0]
		default:
			typed = append(typed, key[0])
			if utf8.RuneStart(key[0]) {
				fmt.Fprint(out, "*")
			}
		}
	}
}
