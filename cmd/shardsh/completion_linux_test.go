package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// In each shell that is here, its script offers what it should.
func TestCompletionInShells(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "shardsh")); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for _, name := range []string{"drain.js", "drain.txt", "plan.json"} {
		if err := os.WriteFile(filepath.Join(work, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(work, "drafts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]string{
		// $1 is the line, $2 what bash takes for the word: what comes after the last space, = or :.
		"bash": `source <(shardsh completion bash); complete -p shardsh >/dev/null || exit 1
			COMP_LINE=$1 COMP_POINT=${#1}; _shardsh shardsh "$2" x; printf '%s\n' "${COMPREPLY[@]}"`,
		// Without its line editor zsh has none of these three.
		"zsh": `compdef() { [[ $* == "_shardsh shardsh" ]] || exit 1 }
			_describe() { print -rl -- ${${(@P)2}%%:*} }; compset() { PREFIX=${PREFIX#*=} }
			_files() { local only="*"; [[ $1 == -g ]] && only=${2%"(-.)"}; print -rl -- $~PREFIX*(N/)
				[[ $1 == -/ ]] || print -rl -- $~PREFIX${~only}(N.) }
			setopt extendedglob; source <(shardsh completion zsh); words=("${(@Q)${(z)1}}"); [[ $1 == *" " ]] && words+=("")
			CURRENT=$#words PREFIX=$words[-1]; _shardsh`,
		"fish": `shardsh completion fish | source; complete -C $argv[1] | string replace -r '\t.*' ''; true`,
	} {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("NO TEST of completion in %s: it is not here", shell)
			}
			for line, want := range map[string]string{
				"shardsh ser":                   "serve",
				"shardsh version --j":           "--json",
				"shardsh why --output ":         "text json",
				"shardsh dra":                   "drain drafts/ drain.js",
				"shardsh apply p":               "plan.json",
				"shardsh --dbpath d":            "drafts/",
				"shardsh --jsonl --json=re":     "--json=relaxed",
				"shardsh --eval 'a b' --norc x": "",
				"shardsh --tls-ca-file=p":       "--tls-ca-file=plan.json",
			} {
				word := line[strings.LastIndexAny(line, " =")+1:]
				args := []string{"-c", ask, line, word} // fish counts from the first
				if shell != "fish" {
					args = []string{"-c", ask, shell, line, word}
				}
				if shell == "bash" {
					args = append([]string{"--norc", "--noprofile"}, args...)
				} else {
					args = append([]string{map[string]string{"zsh": "-f", "fish": "-N"}[shell]}, args...)
				}
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir = work
				cmd.Env = append(os.Environ(), onTerminal+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+work)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				// Only fish and the human see that drafts is a folder; bash adds the slash later.
				got := strings.Fields(strings.ReplaceAll(string(out), "drafts/", "drafts"))
				wants := strings.Fields(strings.ReplaceAll(want, "drafts/", "drafts"))
				if shell != "fish" { // the rest of the word alone is replaced, or made of it
					for i := range wants {
						wants[i] = strings.TrimPrefix(wants[i], "--tls-ca-file=")
						if shell == "bash" {
							wants[i] = strings.TrimPrefix(wants[i], "--json=")
						}
					}
				}
				if !sameWords(got, wants) {
					t.Errorf("%q: %q, want %q", line, got, wants)
				}
			}
		})
	}
}

// sameWords reports whether two lists have the same words in any order.
func sameWords(a, b []string) bool {
	count := make(map[string]int)
	for _, word := range a {
		count[word]++
	}
	for _, word := range b {
		count[word]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
