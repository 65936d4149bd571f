package terminal

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPasteFilter(t *testing.T) {
	for _, tt := range []struct {
		name, sent string
		keys       string
		texts      []string
	}{
		{"only keys", "ab\x1b[A\r", "ab\x1b[A\r", nil},
		{"a text between keys", "a" + pasteStart + "x\ry" + pasteEnd + "b", "a" + pasteStart + "b", []string{"x\ry"}},
		{"two texts", pasteStart + "x" + pasteEnd + pasteStart + "y" + pasteEnd, pasteStart + pasteStart, []string{"x", "y"}},
		{"nothing pasted", pasteStart + pasteEnd, pasteStart, []string{""}},
		{"parts of an end belong to the text", pasteStart + "\x1b[20\x1b[201" + pasteEnd, pasteStart,
			[]string{"\x1b[20\x1b[201"}},
		{"escape just before a mark", "\x1b" + pasteStart + "x\x1b" + pasteEnd, "\x1b" + pasteStart, []string{"x\x1b"}},
		{"an end without a start", pasteEnd + "a", pasteEnd + "a", nil},
		{"no end", pasteStart + "abc", pasteStart, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f pasteFilter
			var keys []byte
			var texts []string
			for _, b := range []byte(tt.sent) {
				key, text := f.feed(b)
				keys = append(keys, key...)
				if text != nil || key == nil && !f.pasting {
					texts = append(texts, string(text))
				}
			}
			if string(keys) != tt.keys || !slices.Equal(texts, tt.texts) {
				t.Errorf("keys %q, texts %q", keys, texts)
			}
		})
	}
}

func TestPasteWhoseEndNeverComes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		key   byte
		pause time.Duration
		ends  bool
	}{
		{"ctrl-c in the text", 3, 0, false},
		{"ctrl-c of somebody who waits", 3, time.Second, true},
		{"another key", 'a', time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f pasteFilter
			for _, b := range []byte(pasteStart + "lost\rlines") {
				f.feed(b)
			}
			f.endOnCtrlC(tt.key, tt.pause)
			if f.pasting == tt.ends {
				t.Errorf("ended: %t", !f.pasting)
			}
		})
	}
}

func TestInputsOnOneLine(t *testing.T) {
	long := strings.Repeat("print('a line of some length')\n", 100)
	for _, tt := range []struct{ name, input, shown, read string }{
		{"as it is", "db.x.find()", "db.x.find()", "db.x.find()"},
		{"lines of all systems", "a\r\nb\rc\nd", "a" + lineBreak + "b" + lineBreak + "c" + lineBreak + "d", "a\nb\nc\nd"},
		{"tabs are kept", "a\tb", "a" + tabMark + "b", "a\tb"},
		{"line ends at the end", "a\n\n", "a" + lineBreak + lineBreak, "a"},
		{"typed marks", "print('⏎⇥')", "print('⏎⇥')", "print('⏎⇥')"},
		{"control characters are not", "a\x1b[2Jb\x00", "a[2Jb", "a[2Jb"},
		{"a long block", long, "⟦1: print('a line of some length') print('a … (101 lines, 3100 characters)⟧",
			strings.TrimRight(long, "\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f inputFolding
			shown := f.fold(tt.input)
			if shown != tt.shown || f.fold(tt.input) != shown {
				t.Errorf("shown as %q, want %q", shown, tt.shown)
			}
			if got := f.unfold(shown); got != tt.read {
				t.Errorf("read as %q, want %q", got, tt.read)
			}
		})
	}
}
