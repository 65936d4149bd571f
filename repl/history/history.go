// Package history stores the inputs of a user between sessions, and recognizes inputs that may contain
// passwords.
package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"shardsh/balancer/safefile"
)

// DefaultLimit is the default number of stored inputs. A file may grow to twice that number before it
// is truncated.
const DefaultLimit = 1000

// Rules say which inputs a File stores. They may change while the File is in use.
type Rules struct {
	// Limit is the maximum number of inputs; 0 disables the history.
	Limit int
	// Redact says how to handle inputs that may contain a password.
	Redact RedactMode
}

// File is a history: a file of inputs, oldest first, one a line, that only its owner can read and
// write. Inputs are appended immediately, so that a killed session loses none, and concurrent sessions
// keep the inputs of each other. A nil File stores nothing.
type File struct {
	path    string
	rules   func() Rules
	entries []string
}

// Open opens a history file, which need not exist. It returns a nil File for an empty path. With an
// error the File is also nil, and the shell continues without a history. Nil rules stand for
// DefaultLimit inputs, and none with passwords.
func Open(path string, rules func() Rules) (*File, error) {
	if path == "" {
		return nil, nil
	}
	if rules == nil {
		rules = func() Rules { return Rules{Limit: DefaultLimit} }
	}
	h := &File{path: path, rules: rules}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	n, limit := 0, rules().Limit
	for ; lines.Scan(); n++ {
		// A stored line is not offered if the rules would not store it now.
		if entry := unescape(lines.Text()); entry != "" && h.CanKeep(entry) {
			h.entries = append(h.entries, entry)
		}
	}
	h.entries = lastN(h.entries, limit)
	if n > 2*limit {
		if err := h.rewrite(); err != nil {
			return nil, fmt.Errorf("cutting the history: %w", err)
		}
	}
	return h, nil
}

// Entries returns the stored inputs, oldest first.
func (h *File) Entries() []string {
	if h == nil {
		return nil
	}
	return slices.Clone(h.entries)
}

// CanKeep reports whether an input may be stored, in the file or in the memory of a session.
func (h *File) CanKeep(input string) bool {
	return !IsSensitive(input) || h != nil && h.rules().Redact == Keep
}

// Add stores an input, unless it equals the last one or must not be stored.
func (h *File) Add(input string) error {
	if h == nil || input == "" || !h.CanKeep(input) {
		return nil
	}
	rules := h.rules()
	if rules.Redact == RemoveRedact {
		input = redact(input)
	}
	if rules.Limit == 0 {
		h.entries = nil
		return nil
	}
	if n := len(h.entries); n > 0 && h.entries[n-1] == input {
		return nil
	}
	h.entries = lastN(append(h.entries, input), rules.Limit)
	if err := h.append(input); err != nil {
		h.path = "" // reports the error only once
		return err
	}
	return nil
}

func (h *File) append(input string) error {
	if h.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(escape(input) + "\n")
	// The file may have other permissions, for example if it was copied.
	return errors.Join(err, f.Chmod(0o600), f.Close())
}

// rewrite replaces the file by the stored inputs, atomically.
func (h *File) rewrite() error {
	return safefile.Replace(h.path, func(to io.Writer) error {
		for _, e := range h.entries {
			if _, err := io.WriteString(to, escape(e)+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

func lastN(entries []string, n int) []string {
	return entries[max(0, len(entries)-n):]
}

// An input of several lines is one line of the file.
var (
	escaper   = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
	unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)

func escape(input string) string  { return escaper.Replace(input) }
func unescape(line string) string { return unescaper.Replace(line) }
