package anonymous

import (
	"math/rand/v2"
	"slices"
	"unicode/utf8"
)

// maskTexts returns a replacement for each string of a sorted slice: with the same length, in the same
// order, and with common prefixes where the originals have them. Letters become letters, digits become
// digits, and other ASCII characters are kept. The strings for which keep returns true are kept, and so
// are the prefixes that other strings share with them.
func maskTexts(list []string, keep func(string) bool, random *rand.Rand) map[string]string {
	m := masking{unit: runeUnit, keep: keep, random: random, replacements: make(map[string]string, len(list))}
	m.maskFrom(list, nil, 0)
	return m.replacements
}

// maskBytes masks byte strings that are not text in the same way.
func maskBytes(list []string, random *rand.Rand) map[string]string {
	m := masking{unit: byteUnit, keep: func(string) bool { return false }, random: random,
		replacements: make(map[string]string, len(list))}
	m.maskFrom(list, nil, 0)
	return m.replacements
}

// unit is the character or byte that is replaced at a time, with the first and last possible
// replacement.
type unit struct {
	value, low, high rune
	size             int
}

func byteUnit(text string) unit { return unit{rune(text[0]), 0, 255, 1} }

func runeUnit(text string) unit {
	r, size := utf8.DecodeRuneInString(text)
	u := unit{r, r, r, size}
	if r == utf8.RuneError && size < 2 {
		return unit{rune(text[0]), 256, 256, 1} // not text; it is kept
	}
	for _, class := range [][2]rune{
		{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, utf8.MaxRune},
	} {
		if class[0] <= r && r <= class[1] {
			u.low, u.high = class[0], class[1]
		}
	}
	return u
}

type masking struct {
	unit         func(string) unit
	keep         func(string) bool
	random       *rand.Rand
	replacements map[string]string
}

// maskFrom masks a sorted slice of strings that are equal up to an offset. prefix is the replacement of
// that common part.
func (m *masking) maskFrom(list []string, prefix []byte, at int) {
	if len(list) == 1 {
		m.maskSingle(list[0], prefix, at)
		return
	}
	if len(list) > 0 && len(list[0]) == at {
		m.replacements[list[0]] = string(prefix)
		list = list[1:]
	}
	var branches []branch
	for len(list) > 0 {
		u := m.unit(list[0][at:])
		n := 1
		for n < len(list) && m.unit(list[n][at:]) == u {
			n++
		}
		branches = append(branches, branch{unit: u, list: list[:n], pinned: slices.ContainsFunc(list[:n], m.keep)})
		list = list[n:]
	}
	m.chooseUnits(branches)
	for _, b := range branches {
		m.maskFrom(b.list, b.appendTo(slices.Clip(prefix)), at+b.size)
	}
}

// maskSingle masks the rest of a string that has no more characters in common with others.
func (m *masking) maskSingle(text string, prefix []byte, at int) {
	pinned := m.keep(text)
	masked := slices.Grow(slices.Clip(prefix), len(text)-at)
	for at < len(text) {
		one := []branch{{unit: m.unit(text[at:]), pinned: pinned}}
		m.chooseUnits(one)
		masked = one[0].appendTo(masked)
		at += one[0].size
	}
	m.replacements[text] = string(masked)
}

// branch contains the strings that continue with the same unit.
type branch struct {
	unit
	list   []string
	pinned bool // is kept
	chosen rune
}

func (b branch) appendTo(prefix []byte) []byte {
	switch {
	case b.low == 256: // a byte that is not text
		return append(prefix, byte(b.value))
	case b.high == 255:
		return append(prefix, byte(b.chosen))
	}
	return utf8.AppendRune(prefix, b.chosen)
}

// chooseUnits chooses a replacement unit for each branch, in ascending order between the pinned
// branches.
func (m *masking) chooseUnits(branches []branch) {
	for i := 0; i < len(branches); {
		b := &branches[i]
		if b.pinned || b.low == b.high {
			b.chosen = b.value
			i++
			continue
		}
		low, high, end := b.low, b.high, i+1
		if i > 0 && branches[i-1].low == low {
			low = branches[i-1].chosen + 1
		}
		for end < len(branches) && branches[end].low == b.low && !branches[end].pinned {
			end++
		}
		if end < len(branches) && branches[end].low == b.low {
			high = branches[end].value - 1
		}
		for j, n := range ascending(uint64(high-low)+1, end-i, m.random) {
			branches[i+j].chosen = low + rune(n)
		}
		i = end
	}
}

// ascending returns k different numbers below n, in order. All sets of k numbers are equally likely.
func ascending(n uint64, k int, random *rand.Rand) []uint64 {
	list := make([]uint64, 0, k)
	if uint64(k)*4 > n { // visit all numbers
		for i := uint64(0); i < n && len(list) < k; i++ {
			if random.Uint64N(n-i) < uint64(k-len(list)) {
				list = append(list, i)
			}
		}
		return list
	}
	taken := make(map[uint64]struct{}, k)
	for len(list) < k {
		i := random.Uint64N(n)
		if _, twice := taken[i]; !twice {
			taken[i] = struct{}{}
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}
