package watch

// Key is what a key is for.
type Key uint8

// The keys that a loop obeys.
const (
	KeyQuit Key = iota + 1
	KeyPause
	KeyNext
	KeyPrevious
	KeyUp
	KeyDown
	KeyPageUp
	KeyPageDown
	KeySuspend
)

// keys are what terminals send. The longest come first, so that an arrow is not
// taken for the key that ends things.
var keys = []struct {
	sent string
	key  Key
}{
	{"\x1b[5~", KeyPageUp}, {"\x1b[6~", KeyPageDown},
	{"\x1b[A", KeyUp}, {"\x1b[B", KeyDown}, {"\x1b[C", KeyNext}, {"\x1b[D", KeyPrevious}, {"\x1b[Z", KeyPrevious},
	{"\x1bOA", KeyUp}, {"\x1bOB", KeyDown}, {"\x1bOC", KeyNext}, {"\x1bOD", KeyPrevious},
	{"\x03", KeyQuit}, {"\x04", KeyQuit}, {"\x1a", KeySuspend}, {"\t", KeyNext}, {" ", KeyPageDown},
	{"q", KeyQuit}, {"Q", KeyQuit}, {"p", KeyPause}, {"P", KeyPause}, {"k", KeyUp}, {"j", KeyDown},
}

// Pressed returns what was pressed. A key that means nothing here is left out, and
// so is the rest of its sequence.
func Pressed(sent string) (list []Key) {
next:
	for sent != "" {
		for _, k := range keys {
			if len(sent) >= len(k.sent) && sent[:len(k.sent)] == k.sent {
				list, sent = append(list, k.key), sent[len(k.sent):]
				continue next
			}
		}
		sent = sent[unknown(sent):]
	}
	return list
}

// unknown is how long a key is that means nothing here.
func unknown(sent string) int {
	if len(sent) < 2 || sent[0] != 0x1b || sent[1] != '[' {
		return 1
	}
	for i := 2; i < len(sent); i++ {
		if sent[i] >= '@' && sent[i] <= '~' {
			return i + 1
		}
	}
	return len(sent)
}
