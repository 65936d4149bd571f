// Package complete completes command lines, and has the completion scripts for bash, zsh and fish. The
// logic is in Go; the scripts only pass words.
package complete

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
)

// FileKind says which file names also complete the word, in addition to the words of Completions.
type FileKind string

// The kinds. KindFiles may have suffixes.
const (
	KindNone        FileKind = "none"
	KindFiles       FileKind = "files"
	KindDirectories FileKind = "directories"
)

// Word is one completion.
type Word struct{ Text, About string }

// Completions is the set of possible completions.
type Completions struct {
	Words    []Word
	Files    FileKind
	Suffixes []string // of files; empty means all files
}

// Tables describe the program.
type Tables struct {
	Shell    cmdline.Command   // the program without a subcommand
	Commands []cmdline.Command // the subcommands
	// Operands holds the possible words that are not options, by subcommand; "" is the shell itself.
	Operands map[string]Completions
	// Values holds the possible values of options, by option name. For other options, they are taken
	// from the placeholder in the help.
	Values map[string]Completions
}

// Complete completes a command line. The last word is incomplete, and may be empty. words does not contain
// the program's name.
func (t Tables) Complete(words []string) Completions {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	command, before, asked := t.findCommand(before)
	switch {
	case asked:
		return t.subcommands(last)
	case slices.Contains(before, "--"):
		return Completions{Files: KindFiles} // the arguments of a script
	}
	if option, value, isValue := strings.Cut(last, "="); isValue && strings.HasPrefix(option, "-") {
		if f := command.Find(option); f != nil {
			return t.optionValue(f, value, option+"=")
		}
		return Completions{Files: KindNone}
	}
	if f := openOption(command, before); f != nil {
		return t.optionValue(f, last, "")
	}
	if strings.HasPrefix(last, "-") {
		return optionCompletions(command, last)
	}
	answer := t.Operands[command.Name].withPrefix(last, "")
	if len(before) == 0 {
		answer.Words = append(t.subcommandsAfter(strings.TrimLeft(command.Name+" ", " "), last).Words, answer.Words...)
	}
	return answer
}

// findCommand finds the command at the beginning of words, and returns the words after its name. asked
// is true for "help", after which a name is completed.
func (t Tables) findCommand(words []string) (c cmdline.Command, rest []string, asked bool) {
	if len(words) == 0 {
		return t.Shell, words, false
	}
	if words[0] == "help" {
		return t.Shell, words[1:], len(words) == 1
	}
	c, rest = t.Shell, words
	longest := 0
	for _, of := range t.Commands {
		name := strings.Fields(of.Name)
		if n := len(name); n > longest && n <= len(words) && slices.Equal(words[:n], name) {
			c, rest, longest = of, words[n:], n
		}
	}
	return c, rest, false
}

// subcommands returns the subcommands.
func (t Tables) subcommands(prefix string) Completions { return t.subcommandsAfter("", prefix) }

// subcommandsAfter returns the words that may follow a subcommand.
func (t Tables) subcommandsAfter(name, prefix string) Completions {
	answer := Completions{Files: KindNone}
	for _, c := range t.Commands {
		if word, ok := strings.CutPrefix(c.Name, name); ok && word != "" && !strings.Contains(strings.TrimSpace(word), " ") {
			answer.Words = append(answer.Words, Word{strings.TrimSpace(word), c.About})
		}
	}
	return answer.withPrefix(prefix, "")
}

// openOption returns the option whose value is completed; nil if there is none.
func openOption(c cmdline.Command, before []string) *pflag.Flag {
	if len(before) == 0 {
		return nil
	}
	word := before[len(before)-1]
	if !strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
		return nil
	}
	f := c.Find(word)
	if f == nil || f.NoOptDefVal != "" {
		return nil
	}
	return f
}

// optionCompletions returns the options that begin with a prefix, in any spelling.
func optionCompletions(c cmdline.Command, prefix string) Completions {
	answer := Completions{Files: KindNone}
	folded := cmdline.Fold(prefix)
	c.VisitVisible(func(f *pflag.Flag) {
		if strings.HasPrefix(cmdline.Fold(f.Name), folded) {
			_, about := cmdline.ValueAndUsage(f)
			answer.Words = append(answer.Words, Word{"--" + f.Name, shortDescription(about)})
		}
	})
	return answer
}

// optionValue returns the possible values of an option. lead precedes each of them: it is "--json=" if
// this is part of the incomplete word.
func (t Tables) optionValue(f *pflag.Flag, prefix, lead string) Completions {
	if known, ok := t.Values[f.Name]; ok {
		return known.withPrefix(prefix, lead)
	}
	value, _ := cmdline.ValueAndUsage(f)
	switch form := strings.Trim(value, "…,"); {
	case strings.Contains(form, "|"):
		return alternatives(form).withPrefix(prefix, lead)
	case form == "FILE" || form == "PATH" || form == "JOURNAL":
		return Completions{Files: KindFiles}
	case form == "DIR":
		return Completions{Files: KindDirectories}
	case f.Value.Type() == "bool":
		return alternatives("true|false").withPrefix(prefix, lead)
	}
	return Completions{Files: KindNone}
}

// alternatives parses a placeholder such as text|json or N|FILE. Names in capitals are placeholders
// themselves.
func alternatives(form string) Completions {
	answer := Completions{Files: KindNone}
	for text := range strings.SplitSeq(form, "|") {
		text, _, _ = strings.Cut(text, "[") // skewed[=SPREAD]
		if name, value, found := strings.Cut(text, "="); found && value == strings.ToUpper(value) {
			text = name + "=" // drain=SHARD
		}
		switch {
		case text == "FILE":
			answer.Files = KindFiles
		case text != strings.ToUpper(text):
			answer.Words = append(answer.Words, Word{Text: text})
		}
	}
	return answer
}

// NewCompletions returns Completions with words.
func NewCompletions(words ...string) Completions {
	answer := Completions{Files: KindNone}
	for _, w := range words {
		answer.Words = append(answer.Words, Word{Text: w})
	}
	return answer
}

// withPrefix keeps the words that begin with a prefix, and adds lead before them.
func (a Completions) withPrefix(prefix, lead string) Completions {
	var words []Word
	for _, w := range a.Words {
		if strings.HasPrefix(w.Text, prefix) {
			words = append(words, Word{lead + w.Text, w.About})
		}
	}
	a.Words = words
	a.Files = cmp.Or(a.Files, KindNone)
	return a
}

// maxDescription is the maximum length of a description.
const maxDescription = 60

// shortDescription truncates a description after its first clause.
func shortDescription(about string) string {
	about, _, _ = strings.Cut(about, "; ")
	if runes := []rune(about); len(runes) > maxDescription {
		return string(runes[:maxDescription-1]) + "…"
	}
	return about
}
