package complete

import "strings"

// inputContext describes the position of the cursor at the end of an input: the open brackets, the open
// string, and the word being typed.
type inputContext struct {
	text string
	// openBrackets are the unclosed brackets, outermost first.
	openBrackets []openBracket
	// quote is the quote of the unclosed string; 0 outside of strings.
	quote byte
	// wordStart is where the word being typed begins.
	wordStart int
}

// openBracket is an unclosed bracket.
type openBracket struct {
	offset  int
	bracket byte
	commas  int    // number of commas inside
	key     string // in an object: the key of the value being typed
}

// parseInput reads a line up to the cursor.
func parseInput(line string) inputContext {
	t := inputContext{text: line, wordStart: len(line)}
	key := "" // the last name or string, which a colon makes a key
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '\'', '"', '`':
			end := closingQuote(line, i)
			if end < 0 {
				t.quote, t.wordStart = c, i+1
				return t
			}
			key, i = line[i+1:end], end
		case '/':
			i = skipComment(line, i)
		case '(', '[', '{':
			t.openBrackets = append(t.openBrackets, openBracket{offset: i, bracket: c})
		case ')', ']', '}':
			t.openBrackets = t.openBrackets[:max(0, len(t.openBrackets)-1)]
		case ',':
			if in := t.innermost(); in != nil {
				in.commas++
				in.key = ""
			}
		case ':':
			if in := t.innermost(); in != nil && in.bracket == '{' {
				in.key = key
			}
		default:
			if !isWordByte(c) {
				continue
			}
			start := i
			for i+1 < len(line) && isWordByte(line[i+1]) {
				i++
			}
			key = line[start : i+1]
			if i+1 == len(line) {
				t.wordStart = start
			}
		}
	}
	return t
}

func (c *inputContext) innermost() *openBracket {
	if len(c.openBrackets) == 0 {
		return nil
	}
	return &c.openBrackets[len(c.openBrackets)-1]
}

// typed returns the word so far.
func (c *inputContext) typed() string { return c.text[c.wordStart:] }

// call returns the innermost call around the cursor: the text of the callee, the index of the argument,
// and the brackets within the argument.
func (c *inputContext) call() (callee string, argument int, within []openBracket, ok bool) {
	for i := len(c.openBrackets) - 1; i >= 0; i-- {
		if c.openBrackets[i].bracket == '(' {
			callee = expressionBefore(c.text, c.openBrackets[i].offset)
			return callee, c.openBrackets[i].commas, c.openBrackets[i+1:], callee != ""
		}
	}
	return "", 0, nil, false
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// closingQuote returns the index of the end of the string that begins at i; negative when the string is
// unclosed.
func closingQuote(line string, i int) int {
	for j := i + 1; j < len(line); j++ {
		switch line[j] {
		case '\\':
			j++
		case line[i]:
			return j
		}
	}
	return -1
}

// skipComment returns the index of the last byte of the comment at i, or i when there is no comment.
func skipComment(line string, i int) int {
	rest := line[i:]
	var end int
	switch {
	case strings.HasPrefix(rest, "//"):
		end = strings.IndexByte(rest, '\n')
	case strings.HasPrefix(rest, "/*"):
		if end = strings.Index(rest[2:], "*/"); end >= 0 {
			end += 3
		}
	default:
		return i
	}
	if end < 0 {
		return len(line)
	}
	return i + end
}

// expressionBefore returns the chain of names, calls and indexes that ends at end, such as
// db.getSiblingDB("config").chunks; empty when there is none.
func expressionBefore(line string, end int) string {
	i := skipSpaceBefore(line, end)
	end = i
	for i > 0 {
		start := i
		switch c := line[i-1]; {
		case isWordByte(c):
			for i > 0 && isWordByte(line[i-1]) {
				i--
			}
		case c == ')' || c == ']':
			i = openingOf(line, i-1)
		case c == '"' || c == '\'':
			i = strings.LastIndexByte(line[:i-1], c)
		}
		if i == start || i < 0 {
			return ""
		}
		if i > 0 && (line[i] == '(' || line[i] == '[') && (isWordByte(line[i-1]) || line[i-1] == ')' || line[i-1] == ']') {
			continue // a callee, or an indexed value
		}
		before := skipSpaceBefore(line, i)
		if before == 0 || line[before-1] != '.' {
			break
		}
		i = skipSpaceBefore(line, before-1)
	}
	return line[i:end]
}

// skipSpaceBefore steps back over white space, including line ends.
func skipSpaceBefore(line string, i int) int {
	return len(strings.TrimRight(line[:i], " \t\n"))
}

// openingOf returns the index of the bracket that the bracket at i closes; negative when there is none.
func openingOf(line string, i int) int {
	depth := 0
	for ; i >= 0; i-- {
		switch c := line[i]; c {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"', '`':
			if i = strings.LastIndexByte(line[:i], c); i < 0 {
				return -1
			}
		}
	}
	return -1
}
