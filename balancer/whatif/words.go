package whatif

import (
	"errors"
	"strings"
	"unicode"
)

// wordScanner splits a command line into words separated by spaces. Single or double quotes, and the
// braces of a document, keep a word together.
type wordScanner struct {
	quote    rune // the open quote, 0 for none
	inString bool // inside a string of a document
	escaped  bool
	depth    int // nesting of braces
}

// processRune processes a rune. It reports whether the rune separates words, and whether it belongs to the
// word.
func (s *wordScanner) processRune(r rune) (separates, keep bool) {
	switch {
	case s.depth > 0:
		s.processDocumentRune(r)
		return false, true
	case s.quote != 0:
		if r == s.quote {
			s.quote = 0
			return false, false
		}
		return false, true
	case r == '"' || r == '\'':
		s.quote = r
		return false, false
	case r == '{':
		s.depth = 1
		return false, true
	}
	return unicode.IsSpace(r), !unicode.IsSpace(r)
}

func (s *wordScanner) processDocumentRune(r rune) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inString:
		s.escaped, s.inString = r == '\\', r != '"'
	case r == '"':
		s.inString = true
	case r == '{':
		s.depth++
	case r == '}':
		s.depth--
	}
}

func (s *wordScanner) checkEnd() error {
	switch {
	case s.depth > 0:
		return errors.New("a document is not closed: } is missing")
	case s.quote != 0:
		return errors.New("a quote is not closed")
	}
	return nil
}

// splitWords returns the words of a line.
func splitWords(line string) (words []string, err error) {
	var s wordScanner
	var word strings.Builder
	began := false
	for _, r := range line {
		between, keep := s.processRune(r)
		switch {
		case between && began:
			words = append(words, word.String())
			word.Reset()
			began = false
		case !between:
			began = true
		}
		if keep {
			word.WriteRune(r)
		}
	}
	if began {
		words = append(words, word.String())
	}
	return words, s.checkEnd()
}

// splitLine splits a line at a separator outside of quotes and documents.
func splitLine(line string, at rune) (parts []string, err error) {
	var s wordScanner
	begin := 0
	for i, r := range line {
		if r == at && s.depth == 0 && s.quote == 0 {
			parts = append(parts, line[begin:i])
			begin = i + len(string(at))
			continue
		}
		s.processRune(r)
	}
	return append(parts, line[begin:]), s.checkEnd()
}

// joinWords reverses splitWords.
func joinWords(name string, arguments []string) string {
	words := []string{name}
	for _, word := range arguments {
		if again, err := splitWords(word); err != nil || len(again) != 1 || again[0] != word || strings.Contains(word, ";") {
			word = quoteWord(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// quoteWord quotes a word, which may contain only one kind of quotes.
func quoteWord(word string) string {
	if strings.Contains(word, `"`) {
		return "'" + word + "'"
	}
	return `"` + word + `"`
}
