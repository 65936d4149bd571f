package watch

import (
	"unicode"
	"unicode/utf8"
)

// Key is a pressed key: a letter, or one of the constants below.
type Key rune

// The keys other than letters.
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

// The letters with a function.
const (
	KeyQuit   Key = 'q'
	KeyPause  Key = 'p'
	KeyHelp   Key = '?'
	KeySort   Key = 's'
	KeyFilter Key = '/'
)

// keySequences are the sequences that terminals send. The longest come first, so that an arrow is not
// mistaken for the key that closes views.
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

// keyAliases maps letters to equivalent keys.
var keyAliases = map[Key]Key{
	'Q': KeyQuit, 'P': KeyPause, 'S': KeySort, 'k': KeyUp, 'j': KeyDown, ' ': KeyPageDown, 'h': KeyHelp,
}

// keysText describes the keys for the help.
var keysText = [][2]string{
	{"q", "quit"}, {"p", "pause, and continue"}, {"tab ← →", "the next view, or the one before"},
	{"↑ ↓ k j", "scroll"}, {"space, page keys", "scroll by a page"},
	{"s", "sort shards and collections: worst first, by data, name, chunks, jumbo chunks"},
	{"/", "filter by words; enter keeps the filter"},
	{"enter", "open the first collection in sight, in the view collections"},
	{"esc", "close what is open, or end the filter"}, {"?", "these keys"},
}

// ParseKeys returns the pressed keys. It drops unknown keys with their whole sequences.
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
