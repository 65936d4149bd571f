package targets

import (
	"fmt"
	"slices"
	"strings"
)

// Selector selects clusters by their labels. The zero value selects all of them.
type Selector []condition

// condition is a condition on a label.
type condition struct {
	label, value string
	negated      bool // any value except value
	exists       bool // any value
}

// ParseSelector parses conditions that all have to hold: label=value, label!=value, or label for any
// value. A text may contain several conditions, separated by commas.
func ParseSelector(texts ...string) (Selector, error) {
	var s Selector
	for _, text := range texts {
		for word := range strings.SplitSeq(text, ",") {
			c, err := parseCondition(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			s = append(s, c)
		}
	}
	return s, nil
}

func parseCondition(word string) (condition, error) {
	name, value, hasValue := strings.Cut(word, "=")
	c := condition{label: name, value: value, exists: !hasValue}
	if hasValue {
		c.label, c.negated = strings.CutSuffix(name, "!")
		c.value = strings.TrimPrefix(value, "=")
	}
	if !validLabel.MatchString(c.label) {
		return c, fmt.Errorf("%q is not label=value, label!=value or label", word)
	}
	return c, nil
}

// Matches reports whether a cluster meets all conditions.
func (s Selector) Matches(t Target) bool {
	return !slices.ContainsFunc(s, func(c condition) bool { return !c.isMet(t) })
}

// isMet reports whether a cluster meets the condition. A missing label equals no value.
func (c condition) isMet(t Target) bool {
	value, ok := t.Labels[c.label]
	switch {
	case c.exists:
		return ok
	case c.negated:
		return !ok || value != c.value
	}
	return ok && value == c.value
}

// Select returns the clusters that a Selector matches, in their order.
func Select(list []Target, s Selector) (selected []Target) {
	for _, t := range list {
		if s.Matches(t) {
			selected = append(selected, t)
		}
	}
	return selected
}
