package plaintext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"shardsh/bindings/plaintext"
)

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ text, visible, line string }{
		{"plain text, ünïcödé 🙂", "plain text, ünïcödé 🙂", "plain text, ünïcödé 🙂"},
		{"a\tb\nc", "a\tb\nc", `a\tb\nc`},
		{"\x1b[31mred\x1b[0m", `\x1B[31mred\x1B[0m`, `\x1B[31mred\x1B[0m`},
		{"\r\x00\x07\x7f", `\x0D\x00\x07\x7F`, `\x0D\x00\x07\x7F`},
		{"\u009b31m\u0085", `\x9B31m\x85`, `\x9B31m\x85`},
		{"\u202egnp.exe\u2066\u200f\u2028\u061c", `\u202Egnp.exe\u2066\u200F\u2028\u061C`, `\u202Egnp.exe\u2066\u200F\u2028\u061C`},
		{"\x9b31m\xff", `\x9B31m\xFF`, `\x9B31m\xFF`}, // bytes that terminals of old take for controls
		{"zero\u200dwidth", "zero\u200dwidth", "zero\u200dwidth"},
	} {
		if got := plaintext.EscapeText(tt.text); got != tt.visible {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.visible)
		}
		if got := plaintext.EscapeLine(tt.text); got != tt.line {
			t.Errorf("%q on a line is %q, want %q", tt.text, got, tt.line)
		}
	}
}

// Of colours only the shell's own pass.
func TestVisibleStyled(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[1;33mhead\x1b[0m": "\x1b[1;33mhead\x1b[0m",
		"\x1b[32mgreen\x1b[39m": "\x1b[32mgreen\x1b[39m",
		"\x1b[8mgone\x1b[0m":    `\x1B[8mgone` + "\x1b[0m",
		"\x1b[2J\x1b[H\x1b]0;t": `\x1B[2J\x1B[H\x1B]0;t`,
		"\x1b[":                 `\x1B[`,
		"\x1b[33":               `\x1B[33`,
		"\x1b[38;5;1mx":         `\x1B[38;5;1mx`,
	} {
		if got := plaintext.EscapeStyled(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// JSON means the same as before.
func TestVisibleJSON(t *testing.T) {
	for _, value := range []string{"a\u009b\u202e\u2028\x7f\n\x1b", "plain"} {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text := plaintext.EscapeJSON(string(raw))
		var again string
		if err := json.Unmarshal([]byte(text), &again); err != nil || again != value {
			t.Errorf("%q became %q: %v", value, again, err)
		}
		if strings.ContainsFunc(text, plaintext.IsControl) {
			t.Errorf("hidden in %q", text)
		}
	}
}

func TestWriterKeepsCharactersTogether(t *testing.T) {
	const text = "é\u009b🙂 \x1b[2J\n"
	for size := 1; size <= len(text); size++ {
		var b bytes.Buffer
		w := plaintext.NewWriter(&b)
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if got, err := w.Write(rest[:n]); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if want := plaintext.EscapeText(text); b.String() != want {
			t.Errorf("by %d bytes: %q, want %q", size, b.String(), want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[31m\u009b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for name, escape := range map[string]func(string) string{
			"Visible": plaintext.EscapeText, "VisibleLine": plaintext.EscapeLine, "VisibleJSON": plaintext.EscapeJSON,
		} {
			got := escape(text)
			if !utf8.ValidString(got) || strings.ContainsFunc(got, plaintext.IsControl) || escape(got) != got {
				t.Errorf("%s of %q: %q", name, text, got)
			}
		}
	})
}
