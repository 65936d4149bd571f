package main

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// openTerminal opens the process's own terminal for questions, regardless of its input and output.
func openTerminal(env environment) (io.ReadWriteCloser, error) {
	if env.openTerminal != nil {
		return env.openTerminal()
	}
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CON"
	}
	return os.OpenFile(name, os.O_RDWR, 0)
}

// readLine reads a line byte by byte, so that it consumes nothing after the line. The end of ctx also
// ends the read, if the system supports that.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	if timed, may := in.(interface{ SetReadDeadline(t time.Time) error }); may {
		_ = timed.SetReadDeadline(time.Time{})
		stop := context.AfterFunc(ctx, func() { _ = timed.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the read, at the latest with the process
		text, err := readPlainLine(in)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func readPlainLine(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(in, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		line = append(line, b[0])
	}
}
