package script

import "strings"

// clarifySyntaxMessage returns the usual message for a syntax error for which the parser has its own
// words. The column counts from 1.
func clarifySyntaxMessage(message, line string, column int) string {
	switch {
	case strings.HasSuffix(message, "*ast.PrivateIdentifier"):
		return "Private names are only allowed in property accesses"
	case message != "Unexpected token ILLEGAL":
		return message
	case column >= 1 && column <= len(line) && strings.ContainsRune(`"'`, rune(line[column-1])):
		return "Unterminated string constant"
	}
	return "Invalid or unexpected token"
}
