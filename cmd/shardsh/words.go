package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/usage"
)

// parseFlags reads a command line (spec 04 §1.1): options in camelCase or
// with dashes, --x=y or --x y, --no-x and --x=false for what is on or off.
// It returns the words before -- that are no options, those after it, and
// warnings about old names. Values are taken as they are.
func parseFlags(groups []flagGroup, args []string) (positional, rest, warnings []string, err error) {
	w := words{flags: allFlags(groups), byFold: make(map[string]*pflag.Flag)}
	w.flags.VisitAll(func(f *pflag.Flag) { w.byFold[usage.Fold(f.Name)] = f })
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			rest, args = args, nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			positional = append(positional, word)
		default:
			taken, err := w.option(word, args)
			if err != nil {
				return nil, nil, nil, err
			}
			args = args[taken:]
		}
	}
	if host := w.flags.Lookup("host"); host != nil && host.Changed && host.Value.String() == "" {
		return nil, nil, nil, usagef("--host is empty")
	}
	return positional, rest, w.warnings, nil
}

type words struct {
	flags    *pflag.FlagSet
	byFold   map[string]*pflag.Flag
	warnings []string
}

// option sets the option that word names. next are the words after it, of
// which it takes one or none.
func (w *words) option(word string, next []string) (taken int, err error) {
	name, value, hasValue := strings.Cut(word, "=")
	flag, negated := w.lookup(name)
	if flag == nil {
		return 0, w.unknown(name)
	}
	if old, ok := deprecatedOption(name); ok {
		w.warnings = append(w.warnings,
			fmt.Sprintf("WARNING: argument --%s is deprecated and will be removed. Use --%s instead.", old, flag.Name))
	}
	switch {
	case negated && hasValue:
		return 0, usagef("%s takes no value", name)
	case negated:
		value = "false"
	case hasValue:
	default:
		if value, taken, err = w.value(flag, name, next); err != nil {
			return 0, err
		}
	}
	if err := w.flags.Set(flag.Name, value); err != nil {
		return 0, w.badValue(flag, value, err)
	}
	return taken, nil
}

// lookup finds the option of a word without its value. A negated one was
// written --no-x.
func (w *words) lookup(name string) (flag *pflag.Flag, negated bool) {
	long, isLong := strings.CutPrefix(name, "--")
	if !isLong {
		if len(name) != 2 {
			return nil, false
		}
		return w.flags.ShorthandLookup(name[1:]), false
	}
	folded := usage.Fold(long)
	if old, ok := deprecatedOptions()[folded]; ok {
		folded = usage.Fold(old.instead)
	}
	if flag := w.byFold[folded]; flag != nil {
		return flag, false
	}
	positive, ok := strings.CutPrefix(long, "no-")
	if flag := w.byFold[usage.Fold(positive)]; ok && flag != nil && flag.Value.Type() == "bool" {
		return flag, true
	}
	return nil, false
}

// value is that of an option written without =: the next word, or what the
// option means on its own.
func (w *words) value(flag *pflag.Flag, name string, next []string) (value string, taken int, err error) {
	word := ""
	if len(next) > 0 {
		word = next[0]
	}
	switch {
	case flag.NoOptDefVal != "":
		if standsAlone(flag, word) {
			return word, 1, nil
		}
		return flag.NoOptDefVal, 0, nil
	case len(next) > 0 && !w.isOption(word):
		return word, 1, nil
	case flag.Value.Type() == "password":
		return "", 0, nil // to be asked for
	case len(next) > 0:
		return "", 0, usagef("%s needs a value; write %s=VALUE for one that looks like an option", name, name)
	}
	return "", 0, usagef("%s needs a value", name)
}

// standsAlone reports whether a word is the value of an option that needs none:
// --json relaxed, --tls true, --mock 5.
func standsAlone(flag *pflag.Flag, word string) bool {
	switch {
	case flag.Value.Type() == "bool":
		return word == "true" || word == "false"
	case flag.Name == "json":
		return word == "canonical" || word == "relaxed"
	case flag.Name == "mock":
		return word != "" && strings.Trim(word, "0123456789") == "" || strings.HasSuffix(word, ".json")
	}
	return false
}

// isOption reports whether a word is an option, and not a value that begins
// with a dash.
func (w *words) isOption(word string) bool {
	if !strings.HasPrefix(word, "-") {
		return false
	}
	name, _, _ := strings.Cut(word, "=")
	flag, _ := w.lookup(name)
	return flag != nil || word == "--"
}

// unknown returns what is wrong with an option. Its value is not repeated, nor
// what may be one: -psecret.
func (w *words) unknown(name string) error {
	if long, ok := strings.CutPrefix(name, "--"); ok {
		if why, ok := refusedOptions()[usage.Fold(long)]; ok {
			return usagef("%s: %s", name, why)
		}
		var names []string
		w.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := plaintext.Nearest(long, names); near != "" {
			return usagef("unknown option %s; did you mean --%s?", name, near)
		}
		return usagef("unknown option %s", name)
	}
	if len(name) > 2 && w.flags.ShorthandLookup(name[1:2]) != nil {
		return usagef("options of one letter stand alone: write -%s and its value as two words", name[1:2])
	}
	if flag := w.byFold[usage.Fold(name[1:])]; flag != nil {
		return usagef("unknown option %s; did you mean --%s?", name, flag.Name)
	}
	return usagef("unknown option %s", name)
}

func (w *words) badValue(flag *pflag.Flag, value string, err error) error {
	var want string
	switch flag.Value.Type() {
	case "bool":
		want = "true or false"
	case "int", "uint64":
		want = "a whole number"
	case "stringToString":
		want = "NAME=VALUE"
	default:
		if cause := errors.Unwrap(err); cause != nil { // without pflag's words around it
			err = cause
		}
		return usagef("--%s: %w", flag.Name, err)
	}
	return usagef("--%s takes %s, not %s", flag.Name, want, strconv.Quote(value))
}
