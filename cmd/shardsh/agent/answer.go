package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"shardsh/bindings/plaintext"
)

// Answer is the result of a tool.
type Answer struct {
	Answer    string   `json:"answer" jsonschema:"the answer, as the subcommand of shardsh prints it"`
	Sources   []string `json:"sources" jsonschema:"what the answer comes from, when that was read, and what could not be"`
	NextSteps []string `json:"next_steps" jsonschema:"tools to call, or what a person has to do"`
	Truncated bool     `json:"truncated,omitempty" jsonschema:"the answer is cut: ask for less"`
	Hash      string   `json:"hash,omitempty" jsonschema:"the hash of the plan, by which a person approves it"`
}

// The limits of an answer, in characters and entries.
const (
	maxAnswerLength = 16_000
	maxEntries      = 12
	maxEntryLength  = 400
)

// limitAnswer truncates an answer and escapes invisible characters in it.
func (s *Server) limitAnswer(a Answer) Answer {
	a.Answer = s.redact(strings.TrimRight(a.Answer, "\n"))
	whole := utf8.RuneCountInString(a.Answer)
	a.Answer = s.clean(a.Answer, maxAnswerLength)
	if whole > maxAnswerLength {
		a.Truncated = true
		a.Answer += fmt.Sprintf("\n… cut: these are the first %d of %d characters", maxAnswerLength, whole)
	}
	a.Sources, a.NextSteps = s.limitEntries(a.Sources), s.limitEntries(a.NextSteps)
	return a
}

func (s *Server) limitEntries(list []string) []string {
	bounded := []string{}
	for i, entry := range list {
		if i == maxEntries {
			return append(bounded, fmt.Sprintf("… and %d more", len(list)-maxEntries))
		}
		bounded = append(bounded, s.clean(entry, maxEntryLength))
	}
	return bounded
}

// redact hides passwords in a text.
func (s *Server) redact(text string) string {
	if s.Redact == nil {
		return text
	}
	return s.Redact(text)
}

// clean hides passwords in a text, truncates it, and escapes its invisible characters. A password that
// was already cut would not be found.
func (s *Server) clean(text string, most int) string {
	text = s.redact(text)
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	text = plaintext.EscapeText(text)
	if !strings.ContainsFunc(text, isInvisible) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isInvisible(r) {
			fmt.Fprintf(&b, `\u{%X}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isInvisible reports whether a character is invisible, such as those that can hide text from readers:
// tags, variation selectors, zero-width spaces.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// checkArguments returns an error for strings and arrays that are too long.
func checkArguments(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var arguments map[string]any
	if err := json.Unmarshal(raw, &arguments); err != nil {
		return fmt.Errorf("the arguments are not an object: %w", err)
	}
	for name, value := range arguments {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		if len(list) > maxItems {
			return fmt.Errorf("%s has %d entries: give at most %d", name, len(list), maxItems)
		}
		for _, v := range list {
			if text, ok := v.(string); ok && utf8.RuneCountInString(text) > maxText {
				return fmt.Errorf("%s is longer than %d characters", name, maxText)
			}
		}
	}
	return nil
}
