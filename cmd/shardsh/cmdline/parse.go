package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
)

// Parse parses a command line (rules/04-command-line-and-prompt §1.1): options in camelCase or with
// dashes, --x=y or --x y, --no-x and --x=false for switches. It returns the words before -- that are
// not options, those after it, and warnings about old names. Values are not changed.
func Parse(groups []Group, args []string) (positional, rest, warnings []string, err error) {
	w := newParser(groups)
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			rest, args = args, nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			positional = append(positional, word)
		default:
			taken, err := w.setOption(word, args)
			if err != nil {
				return nil, nil, nil, err
			}
			args = args[taken:]
		}
	}
	if host := w.flags.Lookup("host"); host != nil && host.Changed && host.Value.String() == "" {
		return nil, nil, nil, Usagef("--host is empty")
	}
	return positional, rest, w.warnings, nil
}

type parser struct {
	flags    *pflag.FlagSet
	byFold   map[string]*pflag.Flag
	warnings []string
}

func newParser(groups []Group) *parser {
	p := &parser{flags: All(groups), byFold: make(map[string]*pflag.Flag)}
	p.flags.VisitAll(func(f *pflag.Flag) { p.byFold[Fold(f.Name)] = f })
	return p
}

// Fold normalizes the spelling of a name: --tlsCAFile and --tls-ca-file are equal.
func Fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// setOption sets the option with the name word. next holds the following words; setOption uses one of
// them or none, and returns their number.
func (p *parser) setOption(word string, next []string) (taken int, err error) {
	name, value, hasValue := strings.Cut(word, "=")
	flag, negated := p.lookup(name)
	if flag == nil {
		return 0, p.unknownOptionError(name)
	}
	if old, ok := deprecatedOption(name); ok {
		p.warnings = append(p.warnings,
			fmt.Sprintf("WARNING: argument --%s is deprecated and will be removed. Use --%s instead.", old, flag.Name))
	}
	switch {
	case negated && hasValue:
		return 0, Usagef("%s takes no value", name)
	case negated:
		value = "false"
	case hasValue:
	default:
		if value, taken, err = p.optionValue(flag, name, next); err != nil {
			return 0, err
		}
	}
	if err := p.flags.Set(flag.Name, value); err != nil {
		return 0, p.valueError(flag, value, err)
	}
	return taken, nil
}

// lookup finds an option by its word without the value. negated means that it was written as --no-x.
func (p *parser) lookup(name string) (flag *pflag.Flag, negated bool) {
	long, isLong := strings.CutPrefix(name, "--")
	if !isLong {
		if len(name) != 2 {
			return nil, false
		}
		return p.flags.ShorthandLookup(name[1:]), false
	}
	folded := Fold(long)
	if old, ok := deprecatedOptions()[folded]; ok {
		folded = Fold(old.instead)
	}
	if flag := p.byFold[folded]; flag != nil {
		return flag, false
	}
	positive, ok := strings.CutPrefix(long, "no-")
	if flag := p.byFold[Fold(positive)]; ok && flag != nil && flag.Value.Type() == typeBool {
		return flag, true
	}
	return nil, false
}

// optionValue returns the value of an option without =: the next word, or the option's default value.
func (p *parser) optionValue(flag *pflag.Flag, name string, next []string) (value string, taken int, err error) {
	word := ""
	if len(next) > 0 {
		word = next[0]
	}
	switch {
	case flag.NoOptDefVal != "":
		if isOptionalValue(flag, word) {
			return word, 1, nil
		}
		return flag.NoOptDefVal, 0, nil
	case len(next) > 0 && !p.isOption(word):
		return word, 1, nil
	case flag.Value.Type() == typePassword:
		return "", 0, nil // ask for it later
	case len(next) > 0:
		return "", 0, Usagef("%s needs a value; write %s=VALUE for one that looks like an option", name, name)
	}
	return "", 0, Usagef("%s needs a value", name)
}

// isOptionalValue reports whether a word is the value of an option with an optional value: --json
// relaxed, --tls true, --mock 5.
func isOptionalValue(flag *pflag.Flag, word string) bool {
	switch {
	case flag.Value.Type() == typeBool:
		return word == "true" || word == "false"
	case flag.Name == "json":
		return word == "canonical" || word == "relaxed"
	case flag.Name == "mock":
		return word != "" && strings.Trim(word, "0123456789") == "" || strings.HasSuffix(word, ".json")
	}
	return false
}

// isOption reports whether a word is an option, rather than a value that begins with a dash.
func (p *parser) isOption(word string) bool {
	if !strings.HasPrefix(word, "-") {
		return false
	}
	name, _, _ := strings.Cut(word, "=")
	flag, _ := p.lookup(name)
	return flag != nil || word == "--"
}

// unknownOptionError returns the error for an unknown option. It does not repeat the value, or
// characters that may be a value: -psecret.
func (p *parser) unknownOptionError(name string) error {
	if long, ok := strings.CutPrefix(name, "--"); ok {
		if why, ok := unsupportedOptions()[Fold(long)]; ok {
			return Usagef("%s: %s", name, why)
		}
		var names []string
		p.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := plaintext.Nearest(long, names); near != "" {
			return Usagef("unknown option %s; did you mean --%s?", name, near)
		}
		return Usagef("unknown option %s", name)
	}
	if len(name) > 2 && p.flags.ShorthandLookup(name[1:2]) != nil {
		return Usagef("options of one letter stand alone: write -%s and its value as two words", name[1:2])
	}
	if flag := p.byFold[Fold(name[1:])]; flag != nil {
		return Usagef("unknown option %s; did you mean --%s?", name, flag.Name)
	}
	return Usagef("unknown option %s", name)
}

func (p *parser) valueError(flag *pflag.Flag, value string, err error) error {
	var want string
	switch flag.Value.Type() {
	case typeBool:
		want = "true or false"
	case "int", "uint64":
		want = "a whole number"
	case "stringToString":
		want = "NAME=VALUE"
	default:
		if cause := errors.Unwrap(err); cause != nil { // without pflag's prefix
			err = cause
		}
		return Usagef("--%s: %w", flag.Name, err)
	}
	return Usagef("--%s takes %s, not %s", flag.Name, want, strconv.Quote(value))
}
