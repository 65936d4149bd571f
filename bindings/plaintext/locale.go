package plaintext

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// CompareNames orders names in locale order: punctuation, then digits, then letters. Case decides only
// between names that are otherwise equal.
func CompareNames(a, b string) int {
	x, y := []rune(a), []rune(b)
	for i := 0; i < len(x) && i < len(y); i++ {
		if d := compareRunes(x[i], y[i]); d != 0 {
			return d
		}
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	for i := range x { // lower case comes first
		if x[i] != y[i] {
			if unicode.IsLower(x[i]) {
				return -1
			}
			return 1
		}
	}
	return 0
}

func compareRunes(a, b rune) int {
	if d := runeClass(a) - runeClass(b); d != 0 {
		return d
	}
	return int(unicode.ToLower(a)) - int(unicode.ToLower(b))
}

func runeClass(r rune) int {
	switch {
	case unicode.IsLetter(r):
		return 2
	case unicode.IsDigit(r):
		return 1
	}
	return 0
}

// JSNumber formats a number as JavaScript does, for the magnitudes that occur in sizes and counts.
func JSNumber(f float64) string {
	if math.Abs(f) >= 1e21 {
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e+0", "e+", 1)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
