package terminal

import "time"

// Around a pasted text a terminal in bracketed paste mode sends these.
const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"

	keyCtrlC = 3

	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// pasteFilter finds pasted texts in what a terminal sends. Keys pass, also those
// of the marks around: liner ignores an escape sequence that it does not know,
// and waits only for a moment for the end of one.
type pasteFilter struct {
	pasting bool
	matched int    // bytes of the mark that is due, so far
	text    []byte // pasted
}

// feed processes a byte and returns the result: a key, or a whole pasted text,
// or nothing yet.
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

// pasteTimeout is how long a paste must have paused for Ctrl-C to end it, in case the
// terminal never sends the end.
const pasteTimeout = 500 * time.Millisecond

// giveUp ends a paste in which nothing came for a while until Ctrl-C did.
func (f *pasteFilter) giveUp(b byte, pause time.Duration) {
	if f.pasting && b == keyCtrlC && pause > pasteTimeout {
		f.end()
	}
}

// end returns what was pasted, though its end may not have come.
func (f *pasteFilter) end() []byte {
	text := f.text
	f.pasting, f.matched, f.text = false, 0, nil
	return text
}
