// Package regex matches regular expressions with the server's syntax (PCRE2). It uses Go's engine if it
// supports the pattern, otherwise a backtracking engine with a time limit.
package regex

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/dlclark/regexp2/v2"

	"shardsh/balancer/mock/store/servererr"
)

// Pattern is a compiled regular expression. Patterns with lookaround or backreferences use a
// backtracking engine, all others Go's engine.
type Pattern struct {
	source       string
	instructions int // approximate number of instructions
	goPattern    *regexp.Regexp
	backtracking *regexp2.Regexp
}

// maxProgramSize is the maximum number of instructions of a pattern. A server has such a limit, too.
const maxProgramSize = 1 << 16

// Compile compiles a pattern with the server's options i, m, s, x and u.
func Compile(source, options string) (*Pattern, error) {
	if strings.ContainsRune(source, 0) {
		return nil, servererr.BadValue("Regular expression cannot contain an embedded null byte")
	}
	var flags strings.Builder
	for _, o := range options {
		switch o {
		case 'i', 'm', 's':
			if !strings.ContainsRune(flags.String(), o) {
				flags.WriteRune(o)
			}
		case 'x':
			source = stripExtendedSyntax(source)
		case 'u':
		default:
			return nil, servererr.NewCode(51108, "invalid flag in regex options: %c", o)
		}
	}
	if flags.Len() > 0 {
		source = "(?" + flags.String() + ")" + source
	}
	size := len(source)
	if tree, err := syntax.Parse(source, syntax.Perl); err == nil {
		size = programSize(tree)
	}
	if size > maxProgramSize {
		return nil, servererr.NewCode(51091, "Regular expression is invalid: regular expression is too large")
	}
	fast, err := regexp.Compile(source)
	if err == nil {
		return &Pattern{source: source, instructions: size, goPattern: fast}, nil
	}
	slow, err2 := regexp2.Compile(source, regexp2.None)
	if err2 != nil {
		return nil, servererr.NewCode(51091, "Regular expression is invalid: %s", errorReason(err))
	}
	return &Pattern{source: source, instructions: size, backtracking: slow}, nil
}

// programSize estimates the number of instructions of a pattern with its repetitions unrolled.
func programSize(tree *syntax.Regexp) int {
	n := 1 + len(tree.Rune)/2
	for _, sub := range tree.Sub {
		n += programSize(sub)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min, tree.Max, 1)
	}
	return n
}

// errorReason returns the message of a pattern error without Go's prefix.
func errorReason(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// stripExtendedSyntax removes the white space and comments that option x ignores: those outside
// character classes.
func stripExtendedSyntax(source string) string {
	var out strings.Builder
	class, comment, escaped := false, false, false
	for _, c := range source {
		switch {
		case comment:
			comment = c != '\n'
			continue
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '[':
			class = true
		case c == ']':
			class = false
		case !class && c == '#':
			comment = true
			continue
		case !class && strings.ContainsRune(" \t\n\r\v\f", c):
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}
