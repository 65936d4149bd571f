package plaintext

import (
	"slices"
	"strings"
)

// Nearest returns the name with the smallest edit distance to the given one; empty when all distances
// are too large.
func Nearest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// CorrectTypo returns the name of which a word is probably a misspelling: at most one wrong, missing or
// additional letter for every three letters, or two letters swapped. It returns an empty string for
// other words.
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

// DidYouMean returns "; did you mean NAME?" for the nearest name, to append to an error; empty when no
// name is near.
func DidYouMean(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// editDistance returns the number of insertions, deletions and replacements between two words.
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
