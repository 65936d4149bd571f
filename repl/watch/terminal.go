package watch

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// The sequences that a Terminal writes besides its lines.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J" // the alternate screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K" // clears the rest of the line
	clearBelow  = "\x1b[J" // clears the lines below
)

// Terminal is a Screen on a real terminal. Close restores the terminal.
type Terminal struct {
	in, out *os.File
	state   *term.State
	keys    chan Key
	resized chan struct{}
	done    chan struct{}
	stop    func() // stops listening for signals

	mu     sync.Mutex
	closed bool
}

// OpenTerminal switches a terminal to its alternate screen, without a cursor, and reads single keys.
func OpenTerminal(in, out *os.File) (*Terminal, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	t := &Terminal{
		in: in, out: out, state: state,
		keys: make(chan Key), resized: make(chan struct{}, 1), done: make(chan struct{}),
	}
	t.stop = notifyResize(t.resized)
	if _, err := io.WriteString(out, enterScreen); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	go t.listen() // ends with the input, at the latest with the process
	return t, nil
}

// Close restores the terminal. It may be called repeatedly.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	close(t.done)
	t.stop()
	_, err := io.WriteString(t.out, leaveScreen)
	return errors.Join(err, term.Restore(int(t.in.Fd()), t.state))
}

// listen reads keys.
func (t *Terminal) listen() {
	defer close(t.keys)
	buffer := make([]byte, 256)
	for {
		n, err := t.in.Read(buffer)
		for _, key := range ParseKeys(string(buffer[:n])) {
			if key == KeySuspend {
				t.suspend()
				continue
			}
			select {
			case t.keys <- key:
			case <-t.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Size returns the terminal's size, or the smallest usual size if it is unknown.
func (t *Terminal) Size() Size {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return Size{Width: 80, Height: 24}
	}
	return Size{Width: width, Height: height}
}

// Draw replaces the frame.
func (t *Terminal) Draw(lines []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	_, err := io.WriteString(t.out, home+strings.Join(lines, clearLine+"\r\n")+clearLine+clearBelow)
	return err
}

// Keys returns the channel of pressed keys.
func (t *Terminal) Keys() <-chan Key { return t.keys }

// Resized returns a channel that signals a change of the terminal's size.
func (t *Terminal) Resized() <-chan struct{} { return t.resized }

// lend restores the terminal until use returns.
func (t *Terminal) lend(use func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	_, _ = io.WriteString(t.out, leaveScreen) // the terminal may no longer exist
	_ = term.Restore(int(t.in.Fd()), t.state)
	use()
	if _, err := term.MakeRaw(int(t.in.Fd())); err == nil {
		_, _ = io.WriteString(t.out, enterScreen)
	}
	select {
	case t.resized <- struct{}{}: // draw again
	default:
	}
}
