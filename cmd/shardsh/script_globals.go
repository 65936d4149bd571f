package main

import (
	"regexp"
	"strings"

	"shardsh/bindings"
)

var identifier = regexp.MustCompile(`^[\p{L}_$][\p{L}\p{N}_$]*$`)

// defineGlobals defines the globals of --set and --setJSON, and scriptArgs
// (rules/04-values-and-language §4.5).
func (o *shellFlags) defineGlobals(shell *bindings.Shell) error {
	if err := shell.JS.SetGlobal("scriptArgs", o.args); err != nil {
		return err
	}
	own := make(map[string]bool) // these names may be given again
	for _, text := range o.set {
		name, value, err := parseDefinition("--set", text)
		if err == nil {
			err = checkUnused(shell, own, "--set", name)
		}
		if err != nil {
			return err
		}
		if err := shell.JS.SetGlobal(name, value); err != nil {
			return err
		}
	}
	for _, text := range o.setJSON {
		name, value, err := parseDefinition("--setJSON", text)
		if err == nil {
			err = checkUnused(shell, own, "--setJSON", name)
		}
		if err != nil {
			return err
		}
		if err := shell.JS.SetGlobalEJSON(name, value); err != nil {
			return usagef("--setJSON %s: the value is not valid extended JSON: %w", name, err)
		}
	}
	return nil
}

// checkUnused returns an error for names that the shell itself defines.
func checkUnused(shell *bindings.Shell, own map[string]bool, option, name string) error {
	if !own[name] && shell.JS.HasGlobal(name) {
		return usagef("%s: the shell itself has a %s; choose another name", option, name)
	}
	own[name] = true
	return nil
}

// parseDefinition splits NAME=VALUE.
func parseDefinition(option, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return "", "", usagef("%s takes NAME=VALUE, not %q", option, text)
	case !identifier.MatchString(name):
		return "", "", usagef("%s: %q can't be the name of a variable", option, name)
	}
	return name, value, nil
}
