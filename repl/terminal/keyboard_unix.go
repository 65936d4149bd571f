//go:build linux || darwin || freebsd || netbsd || openbsd

package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/peterh/liner"
	"golang.org/x/sys/unix"
)

const (
	keyCtrlD     = 4
	keyBackspace = 127
	keyCtrlZ     = 26

	// The keys that liner receives for Ctrl-C: move to the end of the line, insert the mark, return the
	// line. The result shows whether the line was empty.
	moveToLineEnd = "\x05" // Ctrl-E
	stopMark      = "^C"
	stopKeys      = moveToLineEnd + stopMark + "\r"

	// maxListed is the maximum number of completions that liner lists without asking.
	maxListed = 100

	// promptEndWait is how long to wait for the end of a prompt after a key that may not have ended it,
	// before the next read. The wait is divided into steps, so that on a busy machine liner can run
	// before the time is over.
	promptEndWait  = promptEndSteps * 4 * time.Millisecond
	promptEndSteps = 50
)

// keyboard passes input from the terminal to liner, which does not support pasted text. It passes input
// only while a prompt is shown.
type keyboard struct {
	fd        int
	toEdit    *os.File // liner reads the other end
	wakeR     *os.File
	wakeW     *os.File
	foldPaste func(text string) string // converts a pasted text for the line

	signalMode *unix.Termios // the mode between prompts; nil if it is unknown

	filter     pasteFilter
	lastByteAt time.Time // time of the last byte
	forward    sync.WaitGroup
	ended      chan struct{} // closed when the prompt ends
	close      sync.Once

	mu          sync.Mutex
	showing     bool // a prompt is shown
	touched     bool // text may have been typed after the prompt
	interrupted bool // Ctrl-C has ended the line
	asking      bool // liner may have asked whether to list all completions
}

// newKeyboard makes liner read through a keyboard. If that is not possible, the keyboard is nil, liner
// reads the terminal itself, and pasted text arrives line by line.
func newKeyboard(shown func(string) string) (*liner.State, *keyboard) {
	k := &keyboard{fd: int(os.Stdin.Fd()), foldPaste: shown}
	forLiner, toEdit, err := os.Pipe()
	if err == nil {
		k.wakeR, k.wakeW, err = os.Pipe()
	}
	if err != nil || !liner.TerminalSupported() {
		return liner.NewLiner(), nil
	}
	k.toEdit = toEdit
	terminal := os.Stdin
	os.Stdin = forLiner // liner keeps it
	state := liner.NewLiner()
	os.Stdin = terminal
	return state, k
}

// begin passes keys on until end is called. touched says that the line begins with some text.
func (k *keyboard) begin(touched bool) {
	k.ended = make(chan struct{})
	k.mu.Lock()
	k.showing, k.touched, k.asking = true, touched, false
	k.mu.Unlock()
	k.signalMode, _ = unix.IoctlGetTermios(k.fd, getTermios)
	k.setSignals(false)
	fmt.Print(pasteOn)
	k.forward.Go(k.run)
}

// end stops passing keys. left reports whether Ctrl-C ended the line. A Ctrl-C that liner has not read
// yet, because it was busy, ends the next line.
func (k *keyboard) end(line string) (left bool) {
	// The order matters: after the end is visible, no further key may be read.
	_, _ = k.wakeW.Write([]byte{0})
	close(k.ended)
	k.forward.Wait()
	k.leavePasteMode()
	k.setSignals(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	left = k.interrupted && strings.HasSuffix(line, stopMark)
	k.interrupted = k.interrupted && !left
	return left
}

// setSignals makes Ctrl-C a signal, as between prompts, or a key. liner does this only after it has
// shown the prompt, when the key may already have been pressed.
func (k *keyboard) setSignals(on bool) {
	if k.signalMode == nil {
		return
	}
	mode := *k.signalMode
	if !on {
		mode.Lflag &^= unix.ISIG
	}
	_ = unix.IoctlSetTermios(k.fd, setTermios, &mode)
}

// leavePasteMode restores the terminal's paste mode, even during a prompt.
func (k *keyboard) leavePasteMode() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.showing {
		fmt.Print(pasteOff)
	}
	k.showing = false
}

// run passes keys on until end is called.
func (k *keyboard) run() {
	for {
		b, err := k.readByte()
		if errors.Is(err, errWoken) {
			return
		}
		if err != nil {
			k.close.Do(func() { _ = k.toEdit.Close() }) // liner reads the end of the input
			<-k.ended
			_, _ = k.wakeR.Read(make([]byte, 1))
			return
		}
		k.touch()
		k.filter.endOnCtrlC(b, time.Since(k.lastByteAt))
		k.lastByteAt = time.Now()
		wasPasting := k.filter.pasting
		key, text := k.filter.feed(b)
		if text != nil {
			k.send(k.foldPaste(string(text)))
		}
		if !wasPasting && key != nil {
			k.press(key[0])
		}
	}
}

func (k *keyboard) touch() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.touched = true
}

// printIfUntouched calls print in place of a prompt after which nothing has been typed, and makes liner show
// the prompt again. Otherwise it returns false.
func (k *keyboard) printIfUntouched(print func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.showing || k.touched {
		return false
	}
	fmt.Print("\r\x1b[K")
	print()
	k.send(moveToLineEnd)
	return true
}

func (k *keyboard) press(key byte) {
	switch key {
	case keyCtrlC:
		k.mu.Lock()
		k.interrupted = true
		k.mu.Unlock()
		k.send(stopKeys)
	case keyCtrlZ:
		k.suspend()
		return
	default:
		k.send(string([]byte{key}))
	}
	switch key {
	case '\r', '\n', keyCtrlC, keyCtrlD:
		k.awaitPromptEnd(key)
	}
}

// noteCompletions records how many completions liner received.
func (k *keyboard) noteCompletions(completions int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asking = completions > maxListed
}

// awaitPromptEnd waits for the prompt to end, because input that was typed ahead belongs to the next reader.
// Ctrl-D in a line, and an answer to liner's question, do not end the prompt: after them, awaitPromptEnd only
// waits for promptEndWait.
func (k *keyboard) awaitPromptEnd(key byte) {
	for left := promptEndSteps; left > 0; {
		select {
		case <-k.ended:
			return
		case <-time.After(promptEndWait / promptEndSteps):
		}
		if key == keyCtrlD || k.isAsking() {
			left--
		}
	}
}

// isAsking reports whether liner may have asked whether to list all completions.
func (k *keyboard) isAsking() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asking
}

func (k *keyboard) send(keys string) { _, _ = k.toEdit.WriteString(keys) }

var errWoken = errors.New("the prompt is over")

// readByte waits for a byte from the terminal or for end.
func (k *keyboard) readByte() (byte, error) {
	files := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}, {Fd: int32(k.wakeR.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(files, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if files[1].Revents != 0 {
			_, _ = k.wakeR.Read(make([]byte, 1))
			return 0, errWoken
		}
		var b [1]byte
		n, err := unix.Read(k.fd, b[:])
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, os.ErrClosed
		}
		return b[0], nil
	}
}

// suspend stops the process, as Ctrl-Z does for other programs. It restores the terminal until the
// process continues.
func (k *keyboard) suspend() {
	editing, err := liner.TerminalMode()
	if err != nil {
		return
	}
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	fmt.Print(pasteOff)
	if err := unix.Kill(0, syscall.SIGTSTP); err == nil {
		select {
		case <-goesOn:
		case <-time.After(promptEndWait): // without a parent shell, the process is not stopped
		}
	}
	_ = editing.ApplyMode()
	fmt.Print(pasteOn)
	_ = unix.Kill(os.Getpid(), syscall.SIGWINCH) // makes liner draw the line again
}
