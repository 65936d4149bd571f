package testrunner

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"shardsh/bindings/expect"
	"shardsh/bindings/script"
)

// SnapshotMode says how to handle snapshots that differ or are missing.
type SnapshotMode int

// The modes.
const (
	// WriteNew writes missing snapshots.
	WriteNew SnapshotMode = iota
	// WriteAll also updates differing snapshots, and removes obsolete ones.
	WriteAll
	// WriteNone fails a test whose snapshot is missing, as in CI.
	WriteNone
)

// SnapshotCounts counts snapshots by outcome.
type SnapshotCounts struct{ Written, Updated, Removed, Obsolete int }

func (c *SnapshotCounts) add(o SnapshotCounts) {
	c.Written += o.Written
	c.Updated += o.Updated
	c.Removed += o.Removed
	c.Obsolete += o.Obsolete
}

// snapshots are the snapshots of a test file, which are stored in a separate file.
type snapshots struct {
	path    string
	mode    SnapshotMode
	loaded  bool
	texts   map[string]string
	used    map[string]bool
	changed bool
	counts  SnapshotCounts
	loadErr error
}

func newSnapshots(test string, mode SnapshotMode) *snapshots {
	return &snapshots{mode: mode, used: map[string]bool{}, texts: map[string]string{},
		path: filepath.Join(filepath.Dir(test), "__snapshots__", filepath.Base(test)+".snap")}
}

// snapshotEntry matches one snapshot in the format of Jest.
var snapshotEntry = regexp.MustCompile("(?s)exports\\[`((?:[^`\\\\]|\\\\.)*)`\\] = `((?:[^`\\\\]|\\\\.)*)`;")

const snapshotHead = "// shardsh test wrote this; shardsh test --update-snapshots writes it again.\n"

func (s *snapshots) load() error {
	if s.loaded {
		return s.loadErr
	}
	s.loaded = true
	data, err := os.ReadFile(s.path)
	if os.IsNotExist(err) {
		return nil
	}
	s.loadErr = err
	for _, m := range snapshotEntry.FindAllStringSubmatch(string(data), -1) {
		text := unescaped(m[2])
		if strings.HasPrefix(text, "\n") && strings.HasSuffix(text, "\n") && len(text) > 1 {
			text = text[1 : len(text)-1]
		}
		s.texts[unescaped(m[1])] = text
	}
	return err
}

func escaped(text string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "${", "\\${").Replace(text)
}

func unescaped(text string) string {
	return strings.NewReplacer("\\\\", "\\", "\\`", "`", "\\$", "$").Replace(text)
}

// snapshotVerdict is the result of comparing a text with its snapshot.
type snapshotVerdict struct {
	matches  bool
	expected string
	missing  bool
}

// check compares a text with the snapshot of a name.
func (s *snapshots) check(name, text string) (snapshotVerdict, error) {
	if err := s.load(); err != nil {
		return snapshotVerdict{}, err
	}
	first := !s.used[name]
	s.used[name] = true
	expected, known := s.texts[name]
	switch {
	case known && expected == text:
		return snapshotVerdict{matches: true}, nil
	case known && (s.mode != WriteAll || !first):
		return snapshotVerdict{expected: expected}, nil
	case known:
		s.counts.Updated++
	case s.mode == WriteNone:
		return snapshotVerdict{missing: true}, nil
	default:
		s.counts.Written++
	}
	s.texts[name], s.changed = text, true
	return snapshotVerdict{matches: true}, nil
}

// finish writes the changes. If all tests of the file have run, snapshots that no test has used are
// obsolete.
func (s *snapshots) finish(complete bool) *Problem {
	if complete && s.load() == nil {
		for name := range s.texts {
			switch {
			case s.used[name]:
			case s.mode == WriteAll:
				delete(s.texts, name)
				s.counts.Removed++
				s.changed = true
			default:
				s.counts.Obsolete++
			}
		}
	}
	if !s.changed {
		return nil
	}
	if err := s.write(); err != nil {
		return &Problem{Text: "snapshots: " + err.Error()}
	}
	return nil
}

func (s *snapshots) write() error {
	if len(s.texts) == 0 {
		return os.Remove(s.path)
	}
	var b strings.Builder
	b.WriteString(snapshotHead)
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		fmt.Fprintf(&b, "\nexports[`%s`] = `\n%s\n`;\n", escaped(name), escaped(s.texts[name]))
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.path, []byte(b.String()), 0o644) // readable by all users, because it will be committed
}

// snapshotMatcher returns the matcher toMatchSnapshot([hint]).
func (f *file) snapshotMatcher() expect.Matcher {
	return expect.Matcher{Name: "toMatchSnapshot", Signature: "hint?:string",
		Help: "The text, or the printed value, equals the stored snapshot.",
		Holds: func(m *expect.Match) bool {
			js := f.shell.JS
			if m.Not {
				js.Throw("Error", "expect(…).not.toMatchSnapshot() says nothing")
			}
			if f.currentRun == nil || f.currentRun.test == nil {
				js.Throw("Error", "toMatchSnapshot() works inside of tests")
			}
			name := f.currentRun.snapshotName(script.OptionalText(m.Arg(0)))
			v, err := f.snapshots.check(name, expect.MultiLineText(js, m.Received))
			js.Check(err)
			m.Details = v
			return v.matches
		},
		Explain: func(m *expect.Match) string {
			v, _ := m.Details.(snapshotVerdict)
			if v.missing {
				return "The snapshot is not there, and CI is set: run the test without it, look at what was written, and " +
					"commit that.\nReceived: " + expect.ValueText(f.shell.JS, m.Received)
			}
			return expect.Diff(v.expected, expect.MultiLineText(f.shell.JS, m.Received)) +
				"\n\n(if it is to be so: shardsh test --update-snapshots)"
		}}
}

// snapshotName returns the name of the next snapshot of a test.
func (t *testRun) snapshotName(hint string) string {
	name := t.test.title()
	if hint != "" {
		name += ": " + hint
	}
	if t.snapshotUses == nil {
		t.snapshotUses = map[string]int{}
	}
	t.snapshotUses[name]++
	return fmt.Sprintf("%s %d", name, t.snapshotUses[name])
}
