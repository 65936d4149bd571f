package watch

import (
	"unicode"
	"unicode/utf8"
)

// Key is what was pressed: a letter, which is itself, or one of the keys below.
type Key rune

// The keys that are not letters.
const (
	KeyInterrupt Key = unicode.MaxRune + 1 + iota
	KeyNext
	KeyPrevious
	KeyUp
	KeyDown
	KeyPageUp
	KeyPageDown
	KeySuspend
	KeyEnter
	KeyEscape
	KeyErase
)

// The letters that a loop obeys.
const (
	KeyQuit   Key = 'q'
	KeyPause  Key = 'p'
	KeyHelp   Key = '?'
	KeySort   Key = 's'
	KeyFilter Key = '/'
)

// keySequences are what terminals send. The longest come first, so that an arrow is not
// taken for the key that ends things.
var keySequences = []struct {
	sent string
	key  Key
}{
	{"\x1b[5~", KeyPageUp}, {"\x1b[6~", KeyPageDown},
	{"\x1b[A", KeyUp}, {"\x1b[B", KeyDown}, {"\x1b[C", KeyNext}, {"\x1b[D", KeyPrevious}, {"\x1b[Z", KeyPrevious},
	{"\x1bOA", KeyUp}, {"\x1bOB", KeyDown}, {"\x1bOC", KeyNext}, {"\x1bOD", KeyPrevious},
	{"\x03", KeyInterrupt}, {"\x04", KeyInterrupt}, {"\x1a", KeySuspend}, {"\t", KeyNext}, {"\r", KeyEnter},
	{"\n", KeyEnter}, {"\x7f", KeyErase}, {"\b", KeyErase},
}

// keyAliases maps letters to the keys that they are aliases of.
var keyAliases = map[Key]Key{
	'Q': KeyQuit, 'P': KeyPause, 'S': KeySort, 'k': KeyUp, 'j': KeyDown, ' ': KeyPageDown, 'h': KeyHelp,
}

// keysText are the keys and what they do, for people.
var keysText = [][2]string{
	{"q", "quit"}, {"p", "pause, and go on"}, {"tab ← →", "the next view, or the one before"},
	{"↑ ↓ k j", "scroll"}, {"space, page keys", "scroll by a page"},
	{"s", "sort shards and collections: worst first, by data, name, chunks, jumbo chunks"},
	{"/", "filter by words; enter keeps the filter"},
	{"enter", "open the first collection in sight, in the view collections"},
	{"esc", "close what is open, or end the filter"}, {"?", "these keys"},
}

// ParseKeys returns what was pressed. A key that means nothing here is left out, and
// so is the rest of its sequence.
func ParseKeys(sent string) (list []Key) {
next:
	for sent != "" {
		for _, k := range keySequences {
			if len(sent) >= len(k.sent) && sent[:len(k.sent)] == k.sent {
				list, sent = append(list, k.key), sent[len(k.sent):]
				continue next
			}
		}
		r, size := utf8.DecodeRuneInString(sent)
		switch {
		case r == 0x1b && (len(sent) == 1 || sent[1] != '[' && sent[1] != 'O'):
			list = append(list, KeyEscape)
		case r == 0x1b:
			size = unknownLength(sent)
		case r != utf8.RuneError && unicode.IsPrint(r):
			list = append(list, Key(r))
		}
		sent = sent[size:]
	}
	return list
}

// unknownLength returns the length of the sequence of an unknown key.
func unknownLength(sent string) int {
	if len(sent) < 2 || sent[0] != 0x1b || sent[1] != '[' {
		return min(len(sent), 2)
	}
	for i := 2; i < len(sent); i++ {
		if sent[i] >= '@' && sent[i] <= '~' {
			return i + 1
		}
	}
	return len(sent)
}
