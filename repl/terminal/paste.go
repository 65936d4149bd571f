package terminal

import "time"

// The sequences around a pasted text in bracketed paste mode.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	keyCtrlC = 3

	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// pasteFilter finds pasted texts in the input from a terminal. It passes all keys, including the bytes
// of the sequences around a text: liner ignores unknown escape sequences, and waits only briefly for
// the end of one.
type pasteFilter struct {
	pasting bool
	matched int    // matched bytes of the expected sequence
	text    []byte // pasted
}

// feed processes a byte. It returns a key, a complete pasted text, or nothing yet.
func (f *pasteFilter) feed(b byte) (key, text []byte) {
	mark := pasteStart
	if f.pasting {
		mark = pasteEnd
	}
	switch b {
	case mark[f.matched]:
		f.matched++
	case mark[0]:
		f.appendText(mark[:f.matched])
		f.matched = 1
	default:
		f.appendText(mark[:f.matched] + string([]byte{b}))
		f.matched = 0
	}
	if f.matched < len(mark) {
		if f.pasting {
			return nil, nil
		}
		return []byte{b}, nil
	}
	f.matched = 0
	if f.pasting {
		return nil, f.end()
	}
	f.pasting = true
	return []byte{b}, nil
}

func (f *pasteFilter) appendText(bytes string) {
	if f.pasting {
		f.text = append(f.text, bytes...)
	}
}

// pasteTimeout is how long a paste must have paused before Ctrl-C ends it, in case the terminal never
// sends the end sequence.
const pasteTimeout = 500 * time.Millisecond

// endOnCtrlC ends a paste if Ctrl-C follows after a pause.
func (f *pasteFilter) endOnCtrlC(b byte, pause time.Duration) {
	if f.pasting && b == keyCtrlC && pause > pasteTimeout {
		f.end()
	}
}

// end returns the pasted text, even if the end sequence has not arrived.
func (f *pasteFilter) end() []byte {
	text := f.text
	f.pasting, f.matched, f.text = false, 0, nil
	return text
}
