package complete

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

var (
	useLine     = regexp.MustCompile(`^\s*use\s+(\S*)$`)
	showLine    = regexp.MustCompile(`^\s*show\s+(\w*)$`)
	showSubject = regexp.MustCompile(`^\s*show\s+(?:chunks|zones)\s+(\S*)$`)
)

// Shell provides what completion needs from the shell. No method runs code of scripts.
type Shell interface {
	// Current returns the current database; nil without a connection. CurrentObject returns its
	// JavaScript object.
	Current() *server.Database
	CurrentObject() *goja.Object
	// NamespaceOf returns the database of one of the shell's objects, and the collection if the object
	// is one; nil for other values.
	NamespaceOf(v goja.Value) (d *server.Database, collection string)
	// MethodResult returns the result of a method of one of the shell's objects, as far as the method's
	// name determines it: a value, or the prototype of the result. ours is false for other objects.
	MethodResult(on goja.Value, method, argument string) (v goja.Value, proto *goja.Object, ours bool)
	// CursorPrototype returns the prototype of cursors.
	CursorPrototype() *goja.Object
	// ShowWords returns the arguments of show, and SettingNames the names of the settings.
	ShowWords() []string
	SettingNames() []string
	// SamplesFields reports whether documents may be read to complete field names.
	SamplesFields() bool
}

// Completer completes an input. It caches the names from servers for a short time.
type Completer struct {
	JS      *script.Engine
	shell   Shell
	scripts fs.FS // scripts for load; nil for none
	lists   nameLists
	// getOwnPropertyDescriptor is the JavaScript function Object.getOwnPropertyDescriptor.
	getOwnPropertyDescriptor goja.Callable
}

// New returns a Completer. scripts holds the scripts that load finds; nil for none.
func New(js *script.Engine, shell Shell, scripts fs.FS) *Completer {
	return &Completer{JS: js, shell: shell, scripts: scripts}
}

// Invalidate discards the cached names, because an input may have changed anything.
func (s *Completer) Invalidate() { s.lists.invalidate() }

// Wait waits until all requests to servers have ended.
func (s *Completer) Wait() { s.lists.fetching.Wait() }

// Close cancels running requests.
func (s *Completer) Close() { s.lists.close() }

// ValueOf returns the value of a chain of names and calls, as far as it can be determined without
// running code of scripts; nil otherwise.
func (s *Completer) ValueOf(expression string) goja.Value { return s.resolve(expression).value }

// Methods returns the names of the shell's methods on the value of an expression, as far as the value
// can be determined without running code of scripts.
func (s *Completer) Methods(expression string) []string {
	k := s.resolve(expression)
	o, _ := k.value.(*goja.Object)
	if o == nil {
		o = k.proto
	}
	if o == nil {
		return nil
	}
	return slices.DeleteFunc(s.members(o), func(name string) bool {
		f, _ := s.member(k, name).value.(*goja.Object)
		_, ours := s.JS.Help.Lookup(f)
		return !ours || strings.HasPrefix(name, "_")
	})
}

// Complete completes an input: each completion is to be appended to head
// (rules/04-command-line-and-prompt §2.9). Names that start with an underscore are offered only once an
// underscore is typed. Complete runs no code of scripts, and waits only briefly for names from the
// server.
func (s *Completer) Complete(input string) (head string, completions []string) {
	defer func() {
		if p := recover(); p != nil { // for example, an object that is not what it seems
			head, completions = "", nil
		}
	}()
	typed, words, anyCase := s.candidates(input)
	head = input[:len(input)-len(typed)]
	for _, exactly := range []bool{true, false} {
		for _, w := range words {
			if matchesTyped(w, typed, exactly && !anyCase) {
				completions = append(completions, w)
			}
		}
		if len(completions) > 0 {
			break
		}
	}
	slices.SortFunc(completions, plaintext.CompareNames)
	return head, slices.Compact(completions)
}

func matchesTyped(word, typed string, exactly bool) bool {
	switch {
	case len(word) < len(typed), typed == "" && strings.HasPrefix(word, "_"):
		return false
	case exactly:
		return strings.HasPrefix(word, typed)
	}
	return strings.EqualFold(word[:len(typed)], typed)
}

// candidates returns the word being typed, and its possible completions.
func (s *Completer) candidates(input string) (typed string, words []string, anyCase bool) {
	d := s.shell.Current()
	if m := useLine.FindStringSubmatch(input); m != nil {
		if d == nil {
			return m[1], nil, true
		}
		return m[1], s.databaseNames(d.Conn), true
	}
	if m := showSubject.FindStringSubmatch(input); m != nil {
		if d == nil {
			return m[1], nil, false
		}
		return m[1], s.namespaces(d.Conn, m[1], false), false
	}
	if m := showLine.FindStringSubmatch(input); m != nil {
		return m[1], s.shell.ShowWords(), false
	}
	t := parseInput(input)
	return t.typed(), s.wordsAt(&t), false
}

func (s *Completer) wordsAt(t *inputContext) []string {
	if t.quote != 0 {
		return s.stringWords(t)
	}
	before := strings.TrimRight(t.text[:t.wordStart], " \t\n")
	if chain, ok := strings.CutSuffix(before, "."); ok {
		chain = expressionBefore(strings.TrimSuffix(chain, "?"), len(strings.TrimSuffix(chain, "?")))
		return s.memberNames(s.resolve(chain))
	}
	if names := s.keyNames(t); names != nil {
		return slices.DeleteFunc(names, func(n string) bool { return !isIdentifier(n) })
	}
	if names := s.fieldNames(t); names != nil && !strings.HasPrefix(t.typed(), "$") {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !isIdentifier(n) })
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

// stringWords returns the possible values of a string: an argument, a quoted key, or a name in brackets
// after an object.
func (s *Completer) stringWords(t *inputContext) []string {
	if in := t.innermost(); in != nil {
		if in.bracket == '{' && in.key == "" && strings.HasPrefix(t.typed(), "$") {
			return s.operatorNames(t)
		}
		if names := s.keyNames(t); names != nil {
			return names
		}
		if names := s.fieldNames(t); names != nil {
			return names
		}
		if object := expressionBefore(t.text, in.offset); in.bracket == '[' && object != "" && in.offset == t.wordStart-2 {
			k := s.resolve(object)
			if d, coll := s.shell.NamespaceOf(k.value); d != nil && coll == "" {
				return s.collectionNames(d.Conn, d.Name)
			}
			return s.memberNames(k)
		}
	}
	return s.argumentValues(t)
}
