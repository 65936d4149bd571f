package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/peterh/liner"
	"golang.org/x/term"

	"shardsh/bindings/plaintext"
	"shardsh/repl"
)

// minInputColumns is the number of columns that liner needs after a prompt, plus one. With fewer
// columns, liner reads lines without editing.
const minInputColumns = 11

// terminal is a LineEditor that uses liner.
type terminal struct {
	state    *liner.State
	keyboard *keyboard  // nil if liner reads the terminal itself
	width    func() int // in columns; 0 is unknown
	folding  inputFolding
	// originalMode is the terminal's original mode, and linerMode the mode between prompts; nil if
	// they are unknown.
	originalMode, linerMode liner.ModeApplier
	suggestion              string
}

// New returns a line editor on the process's own terminal. Until Close, the terminal neither echoes nor
// edits by itself.
func New() repl.LineEditor {
	t := &terminal{width: columns}
	t.originalMode, _ = liner.TerminalMode()
	t.state, t.keyboard = newKeyboard(t.folding.fold)
	t.linerMode, _ = liner.TerminalMode()
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
	// Another program, or the shell that suspended this process, may have changed the mode.
	applyMode(t.linerMode)
	line, left, err := t.prompt(prompt)
	if errors.Is(err, io.EOF) {
		fmt.Println()
	}
	if errors.Is(err, liner.ErrPromptAborted) {
		return "", repl.ErrInterrupted
	}
	if left {
		if strings.TrimSuffix(line, stopMark) != "" {
			return "", repl.ErrDropped
		}
		return "", repl.ErrInterrupted
	}
	return t.folding.unfold(line), err
}

func (t *terminal) prompt(prompt string) (line string, left bool, err error) {
	suggestion := t.suggestion
	t.suggestion = ""
	if t.keyboard != nil {
		t.keyboard.begin(suggestion != "")
		defer func() { left = t.keyboard.end(line) }()
	}
	line, err = t.state.PromptWithSuggestion(prompt, suggestion, -1)
	return line, false, err
}

// PrintAbove prints above the prompt while nothing has been typed after the prompt.
func (t *terminal) PrintAbove(print func()) bool {
	return t.keyboard != nil && t.keyboard.printIfUntouched(print)
}

func applyMode(mode liner.ModeApplier) {
	if mode != nil {
		_ = mode.ApplyMode()
	}
}

func (t *terminal) Suggest(text string) { t.suggestion = t.folding.fold(text) }

func (t *terminal) LendTerminal(run func() error) error {
	applyMode(t.originalMode)
	defer applyMode(t.linerMode)
	return run()
}

func (t *terminal) Remember(input string) { t.state.AppendHistory(t.folding.fold(input)) }

func (t *terminal) OnTab(complete func(line string) (head string, completions []string)) {
	t.state.SetWordCompleter(func(line string, pos int) (string, []string, string) {
		runes := []rune(line)
		typed := string(runes[:pos])
		head, completions := complete(unmarkReplacer.Replace(typed))
		head = markReplacer.Replace(head)
		names := layoutCompletions(printable(completions), strings.TrimPrefix(typed, head), t.width())
		if t.keyboard != nil {
			t.keyboard.noteCompletions(len(names))
		}
		return head, names, string(runes[pos:])
	})
}

func (t *terminal) Close() error {
	if t.keyboard != nil {
		t.keyboard.leavePasteMode()
	}
	return t.state.Close()
}

// printable leaves out names with control characters.
func printable(names []string) []string {
	var kept []string
	for _, n := range names {
		if !strings.ContainsFunc(n, unicode.IsControl) && !strings.ContainsFunc(n, plaintext.IsControl) {
			kept = append(kept, n)
		}
	}
	return kept
}

// escapeSequence matches the escape sequences for colours and similar ones.
var escapeSequence = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// splitPrompt returns a prompt that liner accepts: without control characters, of one line, and not too
// wide. The rest has to be printed above.
func splitPrompt(prompt string, width int) (above, line string) {
	prompt = escapeSequence.ReplaceAllString(prompt, "")
	if i := strings.LastIndexByte(prompt, '\n'); i >= 0 {
		above, prompt = prompt[:i], prompt[i+1:]
	}
	line = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.C, r) || plaintext.IsControl(r) {
			return -1
		}
		return r
	}, prompt)
	if width > 0 && len([]rune(line))+minInputColumns > width {
		above, line = strings.TrimPrefix(above+"\n"+line, "\n"), "> "
	}
	return plaintext.EscapeText(above), line
}
