package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"shardsh/bindings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/secret"
)

// runRC runs the file of the user's own helpers before the first prompt
// (rules/04-command-line-and-prompt §2.11). Errors in it are printed, and the shell opens. The returned
// error is that of a quit() in the file.
func runRC(ctx context.Context, env environment, o *shellFlags, shell *bindings.Shell) error {
	home := homeDirectory()
	if o.norc || home == "" {
		return nil
	}
	name := ".shardshrc.js"
	if !isFile(filepath.Join(home, name)) {
		if name = ".mongoshrc.js"; !isFile(filepath.Join(home, name)) || !shell.LoadsMongoshRC() {
			return nil
		}
	}
	_, err := shell.RunFile(ctx, filepath.Join(home, name))
	var quit *script.ExitError
	if err == nil || errors.As(err, &quit) || ctx.Err() != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "Error while running ~/%s:\n%s\n", name, env.escapeText(secret.Redact(errorText(err))))
	return nil
}

// homeDirectory returns the user's home directory; empty if it is unknown.
func homeDirectory() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// dataDirectory returns the directory for data that is kept between sessions: $SHARDSH_HOME, or
// .shardsh in the user's home. It is empty, which means that nothing is kept, when the variable is
// empty or no home is known.
func dataDirectory(lookupEnv func(string) (string, bool), home string) string {
	if path, ok := lookupEnv("SHARDSH_HOME"); ok {
		return path
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".shardsh")
}

// historyPath returns the path of the history: $SHARDSH_HISTORY, or history in dataDirectory. It is
// empty, which means that no history is kept, when the variable is empty.
func historyPath(lookupEnv func(string) (string, bool), home string) string {
	if path, ok := lookupEnv("SHARDSH_HISTORY"); ok {
		return path
	}
	return joinUnlessEmpty(dataDirectory(lookupEnv, home), "history")
}

// settingsPath returns the path of the settings of config.set: config in dataDirectory.
func settingsPath(lookupEnv func(string) (string, bool), home string) string {
	return joinUnlessEmpty(dataDirectory(lookupEnv, home), "config")
}

func joinUnlessEmpty(directory, name string) string {
	if directory == "" {
		return ""
	}
	return filepath.Join(directory, name)
}
