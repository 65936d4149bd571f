package complete

import (
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/values"
)

// resolved is what completion knows about an expression without evaluating it: its value, or only its
// prototype.
type resolved struct {
	value goja.Value
	proto *goja.Object
}

func (s *Completer) resolvedValue(v goja.Value) resolved {
	switch o, isObject := v.(*goja.Object); {
	case v == nil || goja.IsUndefined(v) || goja.IsNull(v):
		return resolved{}
	case isObject:
		values.Materialize(o)
		return resolved{value: v, proto: o.Prototype()}
	default:
		return resolved{value: v, proto: v.ToObject(s.JS.Runtime).Prototype()}
	}
}

func (s *Completer) builtinPrototype(class string) resolved {
	c, _ := s.JS.Runtime.GlobalObject().Get(class).(*goja.Object)
	if c == nil {
		return resolved{}
	}
	p, _ := c.Get("prototype").(*goja.Object)
	return resolved{proto: p}
}

// resolve resolves a chain of names, calls and indexes. It calls nothing
// except the methods that return databases and collections by name.
func (s *Completer) resolve(expression string) resolved {
	switch {
	case expression == "":
		return resolved{}
	case expression[0] == '\'' || expression[0] == '"':
		return s.builtinPrototype("String")
	case expression[0] == '[':
		return s.builtinPrototype("Array")
	}
	var k, on resolved // on is the receiver of a call
	name, first := "", true
	for rest := expression; rest != ""; {
		rest = strings.TrimLeft(rest, " \t\n.")
		if rest == "" {
			break
		}
		if rest[0] == '(' || rest[0] == '[' {
			end := closingBracket(rest)
			if end < 0 {
				return resolved{}
			}
			argument := rest[1:end]
			if rest[0] == '(' {
				k = s.methodResult(on, name, argument)
			} else {
				on, name = k, unquoted(argument)
				k = s.member(k, name)
			}
			rest = rest[end+1:]
			continue
		}
		n := 0
		for n < len(rest) && isWordByte(rest[n]) {
			n++
		}
		if n == 0 {
			return resolved{}
		}
		name = rest[:n]
		switch {
		case first && name == "db":
			if s.shell.Current() == nil {
				return resolved{}
			}
			k = s.resolvedValue(s.shell.CurrentObject())
		case first && (name == "sh" || name == "rs" || name == "mock") && s.shell.Current() == nil:
			return resolved{}
		case first:
			on = resolved{value: s.JS.Runtime.GlobalObject()}
			k = s.member(on, name)
		default:
			on = k
			k = s.member(k, name)
		}
		first, rest = false, rest[n:]
	}
	return k
}

// closingBracket returns the index of the bracket that closes the one at the start of text; negative when
// there is none.
func closingBracket(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		case '\'', '"', '`':
			if i = closingQuote(text, i); i < 0 {
				return -1
			}
		}
	}
	return -1
}

func unquoted(text string) string { return strings.Trim(strings.TrimSpace(text), "\"'`") }

// member reads a property without running code of scripts: it does not touch getters and proxies.
func (s *Completer) member(k resolved, name string) resolved {
	o, _ := k.value.(*goja.Object)
	if o == nil {
		o = k.proto
	}
	for ; o != nil && !values.IsProxy(o); o = o.Prototype() {
		v, found := s.readOwn(o, name)
		if found {
			return s.resolvedValue(v)
		}
	}
	return resolved{}
}

// readOwn returns an object's own property. The value is nil if reading it could have side effects.
func (s *Completer) readOwn(o *goja.Object, name string) (v goja.Value, found bool) {
	descriptor, err := s.ownDescriptor(o, name)
	if err != nil || descriptor == nil {
		return nil, err != nil
	}
	getter, _ := descriptor.Get("get").(*goja.Object)
	if getter == nil {
		return descriptor.Get("value"), true
	}
	if name == "it" || name == "shellBatchSize" || !strings.HasSuffix(getter.String(), "{ [native code] }") {
		return nil, true // reading it has side effects
	}
	return o.Get(name), true
}

// ownDescriptor calls Object.getOwnPropertyDescriptor.
func (s *Completer) ownDescriptor(o *goja.Object, name string) (*goja.Object, error) {
	if s.getOwnPropertyDescriptor == nil {
		object, _ := s.JS.Runtime.GlobalObject().Get("Object").(*goja.Object)
		s.getOwnPropertyDescriptor, _ = goja.AssertFunction(object.Get("getOwnPropertyDescriptor"))
	}
	v, err := s.getOwnPropertyDescriptor(goja.Undefined(), o, s.JS.Runtime.ToValue(name))
	d, _ := v.(*goja.Object)
	return d, err
}

// memberNames returns the names that may follow a dot.
func (s *Completer) memberNames(k resolved) []string {
	o, _ := k.value.(*goja.Object)
	if o == nil {
		o = k.proto
	}
	if o == nil {
		return nil
	}
	words := s.members(o)
	d, collection := s.shell.NamespaceOf(k.value)
	if d == nil {
		return words
	}
	names := dotReachable(s.collectionNames(d.Conn, d.Name))
	if collection == "" {
		return append(names, words...)
	}
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, collection+"."); ok {
			words = append(words, rest)
		}
	}
	return words
}

// dotReachable returns the names of collections that can be typed after a dot.
func dotReachable(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return !isIdentifier(part) })
	})
}

// members returns the names of an object's own and inherited properties, except those of every object.
func (s *Completer) members(o *goja.Object) []string {
	everything := s.JS.Runtime.NewObject().Prototype()
	var words []string
	for p := o; p != nil && p != everything && !values.IsProxy(p); p = p.Prototype() {
		for _, name := range p.GetOwnPropertyNames() {
			if name != "constructor" && isIdentifier(name) {
				words = append(words, name)
			}
		}
	}
	return words
}

func isIdentifier(name string) bool {
	for i := range len(name) {
		if !isWordByte(name[i]) || i == 0 && name[i] >= '0' && name[i] <= '9' {
			return false
		}
	}
	return name != ""
}

// methodResult returns the result of a method, as far as the method's name determines it.
func (s *Completer) methodResult(on resolved, name, argument string) resolved {
	v, proto, ours := s.shell.MethodResult(on.value, name, unquoted(argument))
	switch {
	case v != nil:
		return s.resolvedValue(v)
	case ours:
		return resolved{proto: proto}
	case name == "toArray":
		return s.builtinPrototype("Array")
	case on.proto == s.shell.CursorPrototype():
		if strings.Contains(" count explain forEach hasNext itcount length map next objsLeftInBatch size tryNext close "+
			"isClosed isExhausted ", " "+name+" ") {
			return resolved{}
		}
		return resolved{proto: on.proto}
	}
	return resolved{}
}
