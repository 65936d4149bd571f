package repl

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/peterh/liner"
	"golang.org/x/term"
)

// lineBreak stands for the end of a line in an input of several lines that was
// recalled, as liner edits a single line: the input can be changed and sent
// again with its lines kept.
const lineBreak = "⏎"

// workingSpace is the room liner wants after a prompt, in columns, plus one.
// With less it takes lines without editing.
const workingSpace = 11

// terminal is a LineEditor on liner.
type terminal struct {
	state *liner.State
	width func() int // in columns; 0 is unknown
}

// NewTerminal edits lines on the process's own terminal. Until Close the
// terminal neither echoes nor edits by itself.
func NewTerminal() LineEditor {
	t := &terminal{state: liner.NewLiner(), width: columns}
	t.state.SetCtrlCAborts(true)
	t.state.SetTabCompletionStyle(liner.TabPrints)
	t.state.SetMultiLineMode(true) // long lines wrap instead of scrolling sideways
	return t
}

func columns() int {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func (t *terminal) ReadLine(prompt string) (string, error) {
	above, prompt := splitPrompt(prompt, t.width())
	if above != "" {
		fmt.Println(above)
	}
	line, err := t.state.Prompt(prompt)
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", ErrInterrupted
	}
	return strings.ReplaceAll(line, lineBreak, "\n"), err
}

func (t *terminal) Remember(input string) {
	t.state.AppendHistory(strings.ReplaceAll(input, "\n", lineBreak))
}

func (t *terminal) OnTab(complete func(line string) (head string, completions []string)) {
	t.state.SetWordCompleter(func(line string, pos int) (string, []string, string) {
		runes := []rune(line)
		head, completions := complete(string(runes[:pos]))
		return head, printable(completions), string(runes[pos:])
	})
}

func (t *terminal) Close() error { return t.state.Close() }

// printable leaves out names that would disturb the terminal.
func printable(names []string) []string {
	var kept []string
	for _, n := range names {
		if !strings.ContainsFunc(n, unicode.IsControl) {
			kept = append(kept, n)
		}
	}
	return kept
}

// escapeSequence is what colours text and the like.
var escapeSequence = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// splitPrompt makes a prompt that liner takes: without control characters, of
// one line, and not too wide. What has no place is to be printed above.
func splitPrompt(prompt string, width int) (above, line string) {
	prompt = escapeSequence.ReplaceAllString(prompt, "")
	if i := strings.LastIndexByte(prompt, '\n'); i >= 0 {
		above, prompt = prompt[:i], prompt[i+1:]
	}
	line = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) {
			return -1
		}
		return r
	}, prompt)
	if width > 0 && len([]rune(line))+workingSpace > width {
		above, line = strings.TrimPrefix(above+"\n"+line, "\n"), "> "
	}
	return above, line
}
