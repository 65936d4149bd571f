package terminal

import (
	"slices"
	"testing"
)

func TestPromptsFitForLiner(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		width        int
		above, line  string
	}{
		{"as it is", "[mock: mongos] app> ", 80, "", "[mock: mongos] app> "},
		{"width unknown", "[mock: mongos] app> ", 0, "", "[mock: mongos] app> "},
		{"colours go", "\x1b[1;32mapp\x1b[0m> ", 80, "", "app> "},
		{"control characters go", "a\tb\a> ", 80, "", "ab> "},
		{"lines but the last go above", "12:30\nhost\napp> ", 80, "12:30\nhost", "app> "},
		{"just room enough", "123456789> ", 22, "", "123456789> "},
		{"no room to type", "123456789> ", 21, "123456789> ", "> "},
		{"no room and several lines", "a\n123456789> ", 21, "a\n123456789> ", "> "},
		{"nothing", "", 80, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			above, line := splitPrompt(tt.prompt, tt.width)
			if above != tt.above || line != tt.line {
				t.Errorf("%q and %q, want %q and %q", above, line, tt.above, tt.line)
			}
		})
	}
}

func TestNamesThatDisturbTheTerminalAreNotOffered(t *testing.T) {
	if got := printable([]string{"orders", "bad\x1b[2J", "größe", "a\nb"}); !slices.Equal(got,
		[]string{"orders", "größe"}) {
		t.Errorf("%q", got)
	}
}
