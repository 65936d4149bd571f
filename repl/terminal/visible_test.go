package terminal

import (
	"slices"
	"strings"
	"testing"

	"shardsh/bindings/plaintext"
)

const hostile = "h\x1b[2J\x1b]0;t\a\u009b8m\u202eevil\u2066\u2028\u200f"

// Prompts and names to choose from have nothing that the terminal obeys.
func TestPromptsAndNamesAreVisible(t *testing.T) {
	for _, prompt := range []string{hostile, hostile + "\n" + hostile, strings.Repeat(hostile, 40), "\x1b]0;t\a\n> "} {
		above, line := splitPrompt(prompt, 80)
		if strings.ContainsFunc(above+line, plaintext.IsControl) || strings.Contains(line, "\n") {
			t.Errorf("%q is shown as %q above %q", prompt, above, line)
		}
	}
	if names := printable([]string{"a", "b\u202e", "c\x1b", "d\u009b", "e\u2066", "f\n", "日本"}); !slices.Equal(names, []string{"a", "日本"}) {
		t.Errorf("offered %q", names)
	}
}
