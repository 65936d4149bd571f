package plaintext

import (
	"slices"
	"strings"
)

// Nearest returns the name that takes the fewest changes to become the given
// one; empty when all take too many.
func Nearest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// CorrectTypo returns the name that a word is a typo of: a letter too many,
// too few or wrong for every three, or two that changed places. Empty for other words.
func CorrectTypo(word string, names []string) string {
	for _, n := range names {
		if d := editDistance(word, n); d > 0 && d <= max(1, len(word)/3) || d == 2 && sameLetters(word, n) {
			return n
		}
	}
	return ""
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return string(x) == string(y)
}

// DidYouMean returns "; did you mean NAME?" for the nearest name, to append to an error;
// empty when none is near.
func DidYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// editDistance counts insertions, deletions and replacements.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
