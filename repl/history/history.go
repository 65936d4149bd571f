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

// DefaultLimit is how many inputs are kept unless the rules say otherwise. A file
// may grow to twice as many before it is cut.
const DefaultLimit = 1000

// Rules say what a File keeps. They may change while it is in use.
type Rules struct {
	// Limit is how many inputs are kept; 0 keeps none.
	Limit int
	// Redact is how inputs that may hold a password are treated.
	Redact Redact
}

// File is a history: a file of inputs, oldest first, one a line, read and written by
// its owner only. Inputs are appended as they come, so that a session that is
// killed loses none and sessions side by side keep those of each other. A nil
// File keeps nothing.
type File struct {
	path    string
	rules   func() Rules
	entries []string
}

// Open reads the file, which need not exist. An empty path gives a nil
// File. With an error the File is nil, too: the shell goes on without.
// nil rules are to keep Limit inputs, and none with passwords.
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
		// A line kept by other means is not a reason to offer it.
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

// Entries returns the inputs kept, oldest first.
func (h *File) Entries() []string {
	if h == nil {
		return nil
	}
	return slices.Clone(h.entries)
}

// CanKeep reports whether an input may be kept, here or in the memory of a
// session.
func (h *File) CanKeep(input string) bool {
	return !IsSensitive(input) || h != nil && h.rules().Redact == Keep
}

// Add keeps one more input, unless it is the same as the last or must not be
// kept.
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
		h.path = "" // said once
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
	// The file may come from elsewhere, open to all.
	return errors.Join(err, f.Chmod(0o600), f.Close())
}

// rewrite replaces the file by what is kept, in one step.
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
