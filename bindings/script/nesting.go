package script

import (
	"strings"
	"unicode/utf8"
)

// maxNesting is the maximum nesting of a program's constructs. Parsers and the compiler recurse for
// each level. A Go program whose stack exceeds its limit of 1 GB is ended by the runtime and cannot
// recover. Each level takes 10 KiB.
const maxNesting = 10_000

// nestingMessage is Node's message for such programs.
const nestingMessage = "Maximum call stack size exceeded"

// errNesting returns the error for a program that is nested too deep for a parser.
func errNesting(name string) *Error {
	return &Error{Name: "RangeError", Message: nestingMessage + ": the program is nested too deep", File: name, Line: 1,
		Column: 1}
}

// nestsTooDeep reports whether a program may be nested deeper than maxNesting. It only scans tokens: it
// counts the open brackets, and the tokens of the open statements and elements. The sum is never less
// than the depth of the syntax tree, and far more only in expressions with thousands of operators.
func nestsTooDeep(text string) bool {
	if len(text) <= maxNesting { // every token has at least one byte
		return false
	}
	s := nestingScanner{text: text}
	for s.depth() <= maxNesting {
		if !s.scanToken() {
			return false
		}
	}
	return true
}

// nestingScanner scans a program token by token.
type nestingScanner struct {
	text string
	pos  int
	open []openBracket
	// tokens counts the tokens of the current statement or element; outerTokens is the sum of the
	// enclosing chains.
	tokens, outerTokens int
	endedTokens         int // the chain that the last separator ended
	last                tokenKind
	word                string // the last token, if it is a word
	newline             bool   // a line end precedes the token
}

// openBracket is a bracket around the current token.
type openBracket struct {
	kind   byte // ( [ { or $ for the ${ of a template
	tokens int
	// control marks the parentheses of for, while, if, with, switch.
	control bool
}

// tokenKind says which tokens may follow a token.
type tokenKind int

const (
	operator tokenKind = iota // or the start: an operand has to follow
	operand                   // a name, a literal, a closing ) or ]
	control                   // the ) of for (…): a statement has to follow
	brace                     // }
)

func (s *nestingScanner) depth() int { return len(s.open) + s.outerTokens + s.tokens }

// scanToken scans one token; it returns false at the end.
func (s *nestingScanner) scanToken() bool {
	s.skipSpace()
	if s.pos >= len(s.text) {
		return false
	}
	switch c := s.text[s.pos]; {
	case c == '"' || c == '\'':
		s.beginOperand(operand)
		s.scanString(c)
	case c == '`':
		s.beginOperand(operand)
		s.pos++
		s.scanTemplate()
	case c == '}' && len(s.open) > 0 && s.open[len(s.open)-1].kind == '$':
		s.close()
		s.pos++
		s.scanTemplate()
	case strings.IndexByte("([{", c) >= 0:
		s.pushBracket(c)
	case strings.IndexByte(")]}", c) >= 0:
		s.popBracket(c)
	case c == ',' || c == ';':
		s.pos++
		s.endedTokens = s.tokens
		s.tokens, s.last, s.word = 0, operator, string(c)
	case c == '/' && s.regexpMayFollow():
		s.beginOperand(operand)
		s.scanRegexp()
	case isWordByte(c):
		s.scanName()
	default:
		s.pos++
		s.countToken(operator, "")
	}
	return true
}

// skipSpace skips white space and comments, and records line ends.
func (s *nestingScanner) skipSpace() {
	s.newline = false
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch c := rest[0]; {
		case c == '\n' || c == '\r':
			s.newline = true
			s.pos++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			s.pos++
		case strings.HasPrefix(rest, "//"), s.pos == 0 && strings.HasPrefix(rest, "#!"):
			s.skipPast(strings.IndexByte(rest, '\n'), 0)
		case strings.HasPrefix(rest, "/*"):
			s.skipPast(strings.Index(rest, "*/"), 2)
		default:
			return
		}
	}
}

// skipPast moves to the end of a construct that was found, or to the end of the text.
func (s *nestingScanner) skipPast(at, width int) {
	if at < 0 {
		s.pos = len(s.text)
		return
	}
	s.pos += at + width
}

// beginOperand handles a token that starts an operand. After an operand and a line end, it starts a
// statement.
func (s *nestingScanner) beginOperand(kind tokenKind) {
	if s.newline && s.last == operand || s.last == brace {
		s.tokens = 0
	}
	s.countToken(kind, "")
}

func (s *nestingScanner) countToken(kind tokenKind, word string) {
	s.tokens++
	s.last, s.word = kind, word
}

// continuationWords continue the preceding construct; other words start a statement after a block.
// prefixWords need an operand or a statement after them.
const (
	continuationWords = " else catch finally instanceof in of as extends "
	prefixWords       = " new typeof void delete await yield return throw do case async "
)

func (s *nestingScanner) scanName() {
	start := s.pos
	for s.pos < len(s.text) && isWordByte(s.text[s.pos]) {
		s.pos++
	}
	word := s.text[start:s.pos]
	known := len(word) <= len("instanceof")
	switch {
	case known && strings.Contains(continuationWords, " "+word+" "):
		if s.word == ";" { // "if (a) b; else c"
			s.tokens = s.endedTokens
		}
		s.countToken(operator, word)
		return
	case word == "case":
		s.tokens = 0
	}
	kind := operand
	if known && strings.Contains(prefixWords, " "+word+" ") {
		kind = operator
	}
	s.beginOperand(kind)
	s.word = word
}

// isWordByte reports whether a byte may be part of a name or a number.
func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c == '\\' || c >= utf8.RuneSelf ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (s *nestingScanner) pushBracket(c byte) {
	if c == '{' && s.last == brace {
		s.tokens = 0
	}
	s.tokens++
	headed := c == '(' && strings.Contains(" for while if with switch await ", " "+s.word+" ") && s.word != ""
	s.open = append(s.open, openBracket{kind: c, tokens: s.tokens, control: headed})
	s.outerTokens += s.tokens
	s.tokens, s.last, s.word = 0, operator, ""
	s.pos++
}

func (s *nestingScanner) popBracket(c byte) {
	s.pos++
	headed := s.close()
	switch {
	case c == '}':
		s.last = brace
	case headed:
		s.last = control
	default:
		s.last = operand
	}
	s.word = ""
}

// close leaves the innermost bracket, without checking the type of the closing bracket.
func (s *nestingScanner) close() (isControl bool) {
	if len(s.open) == 0 {
		return false
	}
	top := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	s.outerTokens -= top.tokens
	s.tokens = top.tokens
	return top.control
}

func (s *nestingScanner) scanString(quote byte) {
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			s.pos++
		case quote:
			s.pos++
			return
		case '\n':
			return
		}
	}
}

// scanTemplate scans a template's text up to its end or its next ${.
func (s *nestingScanner) scanTemplate() {
	for ; s.pos < len(s.text); s.pos++ {
		switch rest := s.text[s.pos:]; {
		case rest[0] == '\\':
			s.pos++
		case rest[0] == '`':
			s.pos++
			s.last, s.word = operand, ""
			return
		case strings.HasPrefix(rest, "${"):
			s.pos++
			s.pushBracket('$')
			return
		}
	}
}

// regexpMayFollow reports whether a slash at this position starts a regular expression.
func (s *nestingScanner) regexpMayFollow() bool {
	return s.last == operator || s.last == control || s.last == brace && s.newline
}

func (s *nestingScanner) scanRegexp() {
	inClass := false
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\':
			s.pos++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '\n':
			return
		case c == '/' && !inClass:
			s.pos++
			return
		}
	}
}
