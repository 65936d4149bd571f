// Package complete says how a command line may go on, and has the scripts with which
// bash, zsh and fish ask it. What decides is here, once; the scripts only carry words.
package complete

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
)

// Kind says which file names also complete the word, besides the words of an Answer.
type Kind string

// The kinds. KindFiles may have suffixes.
const (
	KindNone        Kind = "none"
	KindFiles       Kind = "files"
	KindDirectories Kind = "directories"
)

// Word is one completion.
type Word struct{ Text, About string }

// Answer is the set of possible completions.
type Answer struct {
	Words    []Word
	Names    Kind
	Suffixes []string // of files; without any all are meant
}

// Tables is what completion knows of the program.
type Tables struct {
	Shell    cmdline.Command   // the program without a subcommand
	Commands []cmdline.Command // the subcommands
	// Operands answers what words that are not options may be, by subcommand; "" is
	// the shell itself.
	Operands map[string]Answer
	// Values answers what an option's value may be, by its name. What is not here is
	// taken from how the help writes the value.
	Values map[string]Answer
}

// Next completes a command line. The last word is the one that is being
// written, and may be empty; the program's name is not among them.
func (t Tables) Next(words []string) Answer {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	command, before, asked := t.findCommand(before)
	switch {
	case asked:
		return t.subcommands(last)
	case slices.Contains(before, "--"):
		return Answer{Names: KindFiles} // the arguments of a script
	}
	if option, value, isValue := strings.Cut(last, "="); isValue && strings.HasPrefix(option, "-") {
		if f := command.Find(option); f != nil {
			return t.optionValue(f, value, option+"=")
		}
		return Answer{Names: KindNone}
	}
	if f := openOption(command, before); f != nil {
		return t.optionValue(f, last, "")
	}
	if strings.HasPrefix(last, "-") {
		return optionAnswer(command, last)
	}
	answer := t.Operands[command.Name].withPrefix(last, "")
	if len(before) == 0 {
		answer.Words = append(t.subcommandsAfter(strings.TrimLeft(command.Name+" ", " "), last).Words, answer.Words...)
	}
	return answer
}

// findCommand finds the one that the words begin with, and the words after its name.
// asked is for "help", after which a name is wanted.
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

// subcommands answers with the subcommands.
func (t Tables) subcommands(prefix string) Answer { return t.subcommandsAfter("", prefix) }

// subcommandsAfter answers with the words that may come after a subcommand.
func (t Tables) subcommandsAfter(name, prefix string) Answer {
	answer := Answer{Names: KindNone}
	for _, c := range t.Commands {
		if word, is := strings.CutPrefix(c.Name, name); is && word != "" && !strings.Contains(strings.TrimSpace(word), " ") {
			answer.Words = append(answer.Words, Word{strings.TrimSpace(word), c.About})
		}
	}
	return answer.withPrefix(prefix, "")
}

// openOption returns the option whose value is expected next; nil if none.
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

// optionAnswer answers with those that begin with a prefix, in any spelling.
func optionAnswer(c cmdline.Command, prefix string) Answer {
	answer := Answer{Names: KindNone}
	folded := cmdline.Fold(prefix)
	c.Visible(func(f *pflag.Flag) {
		if strings.HasPrefix(cmdline.Fold(f.Name), folded) {
			_, about := cmdline.ValueAndUsage(f)
			answer.Words = append(answer.Words, Word{"--" + f.Name, shortDescription(about)})
		}
	})
	return answer
}

// optionValue answers with what the value of an option may be. Each word has lead before
// it: "--json=" where that is part of the word that is being written.
func (t Tables) optionValue(f *pflag.Flag, prefix, lead string) Answer {
	if known, ok := t.Values[f.Name]; ok {
		return known.withPrefix(prefix, lead)
	}
	value, _ := cmdline.ValueAndUsage(f)
	switch form := strings.Trim(value, "…,"); {
	case strings.Contains(form, "|"):
		return alternatives(form).withPrefix(prefix, lead)
	case form == "FILE" || form == "PATH" || form == "JOURNAL":
		return Answer{Names: KindFiles}
	case form == "DIR":
		return Answer{Names: KindDirectories}
	case f.Value.Type() == "bool":
		return alternatives("true|false").withPrefix(prefix, lead)
	}
	return Answer{Names: KindNone}
}

// alternatives reads a list such as text|json or N|FILE. Capitals stand for
// something else.
func alternatives(form string) Answer {
	answer := Answer{Names: KindNone}
	for text := range strings.SplitSeq(form, "|") {
		text, _, _ = strings.Cut(text, "[") // skewed[=SPREAD]
		if name, value, found := strings.Cut(text, "="); found && value == strings.ToUpper(value) {
			text = name + "=" // drain=SHARD
		}
		switch {
		case text == "FILE":
			answer.Names = KindFiles
		case text != strings.ToUpper(text):
			answer.Words = append(answer.Words, Word{Text: text})
		}
	}
	return answer
}

// NewAnswer makes an answer of words.
func NewAnswer(words ...string) Answer {
	answer := Answer{Names: KindNone}
	for _, w := range words {
		answer.Words = append(answer.Words, Word{Text: w})
	}
	return answer
}

// withPrefix keeps the words that begin with a prefix, and puts lead before them.
func (a Answer) withPrefix(prefix, lead string) Answer {
	var words []Word
	for _, w := range a.Words {
		if strings.HasPrefix(w.Text, prefix) {
			words = append(words, Word{lead + w.Text, w.About})
		}
	}
	a.Words = words
	a.Names = cmp.Or(a.Names, KindNone)
	return a
}

// maxDescription is the maximum length of a description.
const maxDescription = 60

// shortDescription cuts a description at its first clause.
func shortDescription(about string) string {
	about, _, _ = strings.Cut(about, "; ")
	if runes := []rune(about); len(runes) > maxDescription {
		return string(runes[:maxDescription-1]) + "…"
	}
	return about
}
