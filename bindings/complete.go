package bindings

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
)

var (
	useLine     = regexp.MustCompile(`^\s*use\s+(\S*)$`)
	showLine    = regexp.MustCompile(`^\s*show\s+(\w*)$`)
	showSubject = regexp.MustCompile(`^\s*show\s+(?:chunks|zones)\s+(\S*)$`)
)

// Complete offers ways to finish an input: each completion is to be put behind
// head (spec 04 §2.9). Names that start with an underscore are offered only once
// one is typed. It runs no code of scripts, and waits only a moment for names
// that the server has to tell.
func (s *Shell) Complete(input string) (head string, completions []string) {
	defer func() {
		if p := recover(); p != nil { // an object that is not what it seems
			head, completions = "", nil
		}
	}()
	typed, words, anyCase := s.candidates(input)
	head = input[:len(input)-len(typed)]
	for _, exactly := range []bool{true, false} {
		for _, w := range words {
			if fits(w, typed, exactly && !anyCase) {
				completions = append(completions, w)
			}
		}
		if len(completions) > 0 {
			break
		}
	}
	slices.SortFunc(completions, plaintext.Compare)
	return head, slices.Compact(completions)
}

func fits(word, typed string, exactly bool) bool {
	switch {
	case len(word) < len(typed), typed == "" && strings.HasPrefix(word, "_"):
		return false
	case exactly:
		return strings.HasPrefix(word, typed)
	}
	return strings.EqualFold(word[:len(typed)], typed)
}

// candidates says which end of the input is being typed and what it could be.
func (s *Shell) candidates(input string) (typed string, words []string, anyCase bool) {
	if m := useLine.FindStringSubmatch(input); m != nil {
		if s.db == nil {
			return m[1], nil, true
		}
		return m[1], s.databaseNames(s.db.on), true
	}
	if m := showSubject.FindStringSubmatch(input); m != nil {
		if s.db == nil {
			return m[1], nil, false
		}
		return m[1], s.namespaces(s.db.on, m[1], false), false
	}
	if m := showLine.FindStringSubmatch(input); m != nil {
		return m[1], s.showWords(), false
	}
	t := typingAt(input)
	return t.typed(), s.wordsAt(&t), false
}

func (s *Shell) wordsAt(t *typing) []string {
	if t.quote != 0 {
		return s.stringWords(t)
	}
	before := strings.TrimRight(t.text[:t.word], " \t\n⏎⇥")
	if chain, ok := strings.CutSuffix(before, "."); ok {
		chain = expressionBefore(strings.TrimSuffix(chain, "?"), len(strings.TrimSuffix(chain, "?")))
		return s.memberNames(s.know(chain))
	}
	if names := s.fieldNames(t); names != nil && !strings.HasPrefix(t.typed(), "$") {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !identifierOnly(n) })
	}
	switch typed := t.typed(); {
	case strings.HasPrefix(typed, "$"):
		if words := s.operatorNames(t); words != nil {
			return words
		}
	case typed == "" || typed[0] >= '0' && typed[0] <= '9':
		return nil
	}
	return s.members(s.JS.Runtime.GlobalObject())
}

// stringWords are what can be in a string: an argument, a quoted key, or a name
// in brackets behind an object.
func (s *Shell) stringWords(t *typing) []string {
	if in := t.innermost(); in != nil {
		if in.bracket == '{' && in.key == "" && strings.HasPrefix(t.typed(), "$") {
			return s.operatorNames(t)
		}
		if names := s.fieldNames(t); names != nil {
			return names
		}
		if object := expressionBefore(t.text, in.at); in.bracket == '[' && object != "" && in.at == t.word-2 {
			k := s.know(object)
			if d, ok := script.Receiver[*database](k.value); ok {
				return s.collectionNames(d.on, d.Name)
			}
			return s.memberNames(k)
		}
	}
	return s.argumentNames(t)
}

func (s *Shell) showWords() []string {
	words := slices.Collect(maps.Keys(s.sharding.Shows()))
	for w := range showCommands() {
		if w != "dbs" && w != "nonGenuineMongoDBCheck" && w != "automationNotices" {
			words = append(words, w)
		}
	}
	return words
}
