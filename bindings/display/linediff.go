package display

import "strings"

// maxDiffLines is the maximum number of lines that are compared one by one.
const maxDiffLines = 1000

// LineDiff formats two texts as a diff, as Node does for values that should be equal: common lines
// unchanged, lines of the first text after "+", lines of the second text after "-".
func LineDiff(actual, expected string) string {
	a, b := strings.Split(actual, "\n"), strings.Split(expected, "\n")
	if len(a) > maxDiffLines || len(b) > maxDiffLines {
		return prefixLines("+ ", a) + prefixLines("- ", b)
	}
	common := commonLines(a, b)
	var text strings.Builder
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			text.WriteString(prefixLines("  ", a[i:i+1]))
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			text.WriteString(prefixLines("+ ", a[i:i+1]))
			i++
		default:
			text.WriteString(prefixLines("- ", b[j:j+1]))
			j++
		}
	}
	return text.String()
}

func prefixLines(sign string, lines []string) string {
	return sign + strings.Join(lines, "\n"+sign) + "\n"
}

// commonLines returns the table of the longest common subsequences: element [i][j] is the number of
// lines that a[i:] and b[j:] have in common, in the same order.
func commonLines(a, b []string) [][]int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}
