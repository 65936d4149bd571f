package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var optionInHelp = regexp.MustCompile(`(?m)^  (?:-\w,|   ) --([\w-]+)`)

// What completion offers after a command is what the help of the command shows.
func TestCompletionIsTheHelp(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, c := range append(verbCommands(), shellCommand(new(shellFlags), new(helpFlags))) {
		code, help, stderr := runProgram(t, "", strings.Fields(c.Name+" --help-all")...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: exit code %d, %q", c.Name, code, stderr)
		}
		var want []string
		for _, found := range optionInHelp.FindAllStringSubmatch(help, -1) {
			want = append(want, "--"+found[1])
		}
		code, answer, stderr := runProgram(t, "", append([]string{"completion", "words"}, strings.Fields(c.Name+" --")...)...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: exit code %d, %q", c.Name, code, stderr)
		}
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(answer), "\n")[1:] {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, word)
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%q: completion has\n%q, the help\n%q", c.Name, got, want)
		}
	}
}

func TestCompletionLine(t *testing.T) {
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		"bash":             {[]string{"bash"}, exitOK, "complete -F _shardsh shardsh", ""},
		"zsh":              {[]string{"zsh"}, exitOK, "compdef _shardsh shardsh", ""},
		"fish":             {[]string{"fish"}, exitOK, "complete -c shardsh", ""},
		"help":             {[]string{"--help"}, exitOK, "Usage:\n  shardsh completion bash|zsh|fish", ""},
		"no shell":         {nil, exitUsage, "", "completion takes the name of one shell: bash, fish, zsh"},
		"another shell":    {[]string{"tcsh"}, exitUsage, "", `completion supports bash, fish, zsh, not "tcsh"`},
		"releases":         {[]string{"line", "shardsh --server-version 4."}, exitOK, "none\n4.0\t\n4.2\t\n4.4\t\n", ""},
		"formats of check": {[]string{"line", "shardsh check --output j"}, exitOK, "none\njson\t\njunit\t\n", ""},
		"goals of balance": {[]string{"line", "shardsh balance --goal "}, exitOK, "none\nsize\t\nchunks\t\nops\t\n", ""},
		"mechanisms":       {[]string{"words", "--authenticationMechanism", "P"}, exitOK, "none\nPLAIN\t\n", ""},
		"scripts":          {[]string{"words", "-f", ""}, exitOK, "files .js .cjs .mjs .ts .mongodb\n", ""},
		"the library":      {[]string{"words", "run", "even"}, exitOK, "none\neven-zones\t", ""},
		"tests":            {[]string{"words", "test", ""}, exitOK, "files .js .mjs .ts\n", ""},
		"plans":            {[]string{"words", "apply", ""}, exitOK, "files .json\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"completion"}, c.args...)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
