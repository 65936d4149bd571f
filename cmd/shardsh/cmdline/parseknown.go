package cmdline

import "strings"

// ParseKnown parses the known options, like Parse, and returns all other words in order, for a script
// with its own options. It does not parse words after --. It calls take for each word that is not an
// option, with the remaining words before it; take reports whether it has used the word.
func ParseKnown(groups []Group, args []string, take func(word string, left []string) (bool, error)) (
	left, warnings []string, err error,
) {
	w := newParser(groups)
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
