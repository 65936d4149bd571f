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
// (rules/04-command-line-and-prompt §2.11). What goes wrong in it is shown, and the shell opens. The
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
	fmt.Fprintf(env.stdout, "Error while running ~/%s:\n%s\n", name, env.visible(secret.Redact(errorText(err))))
	return nil
}

// homeDirectory is empty where there is none.
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
