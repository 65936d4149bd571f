package cmdline

import (
	"strings"

	"github.com/spf13/pflag"
)

// ParseKnown parses the options that it knows, like Parse, and leaves everything else in
// order, for a script that has options of its own; words after -- are left as they
// are. Each word that is not an option goes to take, with what was left before it, which
// reports whether it took the word.
func ParseKnown(groups []Group, args []string, take func(word string, left []string) (bool, error)) (
	left, warnings []string, err error,
) {
	w := parser{flags: All(groups), byFold: make(map[string]*pflag.Flag)}
	w.flags.VisitAll(func(f *pflag.Flag) { w.byFold[Fold(f.Name)] = f })
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			return append(left, args...), w.warnings, nil
		case w.isOption(word):
			taken, err := w.setOption(word, args)
			if err != nil {
				return nil, nil, err
			}
			args = args[taken:]
			continue
		case !strings.HasPrefix(word, "-"):
			switch mine, err := take(word, left); {
			case err != nil:
				return nil, nil, err
			case mine:
				continue
			}
		}
		left = append(left, word)
	}
	return left, w.warnings, nil
}
